"""What the shell offers after Tab: names of ours, and files beside them.

In bash: ``eval "$(_ORTHOPROX_COMPLETE=bash_source orthoprox)"``; for zsh and fish with their names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

import click
from click.shell_completion import CompletionItem

from orthoprox import SOLVERS
from orthoprox.blocks._open import is_chunked_path
from orthoprox.datasets import DATASETS
from orthoprox.datasets.files import file_ending

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def datasets(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the datasets."""
    return _beginning(DATASETS, incomplete)


def solvers(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The names of the solvers."""
    return _beginning(SOLVERS, incomplete)


def data(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Datasets and files of data."""
    return _with_files(DATASETS, incomplete, lambda path: bool(file_ending(path)) or is_chunked_path(path))


def methods(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Solvers, and files with solvers of the user's."""
    return _with_files(SOLVERS, incomplete, lambda path: path.endswith(".py"))


def _beginning(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _with_files(names: Iterable[str], incomplete: str, fits: Callable[[str], bool]) -> list[CompletionItem]:
    """Names and files that begin so; without a name the shell completes paths by itself, folders included."""
    found = _beginning(names, incomplete)
    if not found:  # a shell that is told to complete files forgets what else it was offered
        return [CompletionItem(incomplete, type="file")]
    folder, _, start = incomplete.rpartition("/")
    try:
        here = sorted(os.listdir(folder or "."))
    except OSError:
        here = []
    paths = [f"{folder}/{name}" if folder else name for name in here if name.startswith(start)]
    return found + [CompletionItem(path) for path in paths if not path.startswith(".") and fits(path)]
