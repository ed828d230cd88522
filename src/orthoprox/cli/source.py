"""The data of a command: a dataset by name, or a file of the user's."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from orthoprox._memory import memory
from orthoprox.blocks import Rows, open_rows
from orthoprox.blocks._open import is_chunked_path
from orthoprox.datasets import load, read_matrix
from orthoprox.datasets._prepare import prepare_matrix
from orthoprox.datasets.files import file_ending, looks_like_file
from orthoprox.driver import Reading
from orthoprox.maps import Blocked

PREPARE = ("paper", "center", "raw")


@dataclass(frozen=True)
class Source:
    """Data for a model: an array or a map, the names of its columns, and their origin."""

    D: Any
    shape: tuple[int, int]
    features: Sequence[Any]
    about: dict[str, Any]
    divisor: float
    """What the numbers were divided by, because their squares would have been lost."""

    rows: Rows | None = None
    """The rows of data in blocks."""


@dataclass(frozen=True)
class Where:
    """How data in blocks are held: in this process within a budget, or by a cluster."""

    memory: str | None = None
    client: Any = None
    shows: bool = False
    """Whether a bar tells of what is read."""

    @property
    def asked(self) -> bool:
        return self.memory is not None or self.client is not None

    def open(self, path: str | Path) -> Rows:
        """The rows of a file, which a cluster forgets when the command ends."""
        rows = open_rows(path, memory=self.memory, client=self.client)
        click.get_current_context().call_on_close(rows.close)
        return rows


def find_source(
    text: str, *, seed: int, folder: Path | None, prepare: str | None, where: Where | None = None
) -> Source:
    """Load a file, if the text looks like one, else a dataset; a large one, or one asked for so, is read in blocks."""
    where = Where() if where is None else where
    if _is_in_blocks(text, where):
        return _blocks(text, prepare or "center", where)
    if where.asked:
        raise ValueError(
            f"--memory, --cluster and --local-workers are for files that are read in blocks; given {text}."
        )
    if looks_like_file(text):
        A, names = read_matrix(text)
        how = prepare or "center"
        D, divisor = prepare_matrix(A, how)
        about: dict[str, Any] = {"name": Path(text).name, "source": os.path.realpath(text)}
        about |= {"prepare": how, "divided_by": divisor, "shape": list(A.shape)}
        return Source(D, A.shape, names or range(A.shape[1]), about, divisor)
    data = load(text, seed=seed, folder=folder, raw=prepare is not None)
    about = {"name": data.name, "source": data.source, "licence": data.licence, "checksum": data.checksum}
    about |= {"prepare": prepare or "the dataset's own", "shape": list(data.X.shape), "notes": list(data.notes)}
    D, divisor = (data.X, 1.0) if prepare is None else prepare_matrix(data.X, prepare)
    return Source(D, data.X.shape, data.columns, about, divisor)


def _is_in_blocks(text: str, where: Where) -> bool:
    """Whether a file is read in blocks: asked for, or of a format that is read in no other way, or too large."""
    if not is_chunked_path(text):
        return False
    if where.asked or not file_ending(text) or os.path.isdir(text):
        return True
    return os.path.isfile(text) and os.path.getsize(text) > memory() // 4


def _blocks(text: str, how: str, where: Where) -> Source:
    rows = where.open(text)
    with contextlib.closing(Reading(rows)) if where.shows else contextlib.nullcontext():
        D = Blocked(rows, center=how != "raw", scale="unit" if how == "paper" else None)  # means, and a norm
    about: dict[str, Any] = {"name": Path(text).name, "source": os.path.realpath(text), "prepare": how}
    about |= {"divided_by": 1.0, "shape": list(rows.shape), "blocks": rows.source.count}
    return Source(D, rows.shape, rows.source.names or range(rows.shape[1]), about, 1.0, rows)
