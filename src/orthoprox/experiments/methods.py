"""Solvers by name, by module, or by file."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import inspect
import os
import sys
from pathlib import Path
from typing import Any

from orthoprox.solvers import SOLVERS, Solver, named


def make_solver(reference: str, settings: dict[str, Any]) -> Solver[Any]:
    """Make the solver that a reference names.

    Parameters
    ----------
    reference : str
        A name in ``SOLVERS``, ``"module:Class"``, or ``"folder/file.py:Class"``.
    settings : dict
        Arguments of the class.

    Examples
    --------
    >>> make_solver("orthoprox.solvers:OADMMEP", {"beta0": 5.0}).beta0
    5.0
    """
    if reference.endswith(".py"):
        there = ", ".join(_solvers_in(_imported(reference, reference))) or "no solver"
        raise ValueError(f"A solver of your own is file.py:Class; given {reference}, which has {there}.")
    if reference in SOLVERS or ":" not in reference:
        return named(reference, **settings)
    kind = import_solver(reference)
    missing = ", ".join(sorted(getattr(kind, "__abstractmethods__", ())))
    if missing:
        raise TypeError(f"{reference} lacks what every solver has: {missing}.")
    try:
        return kind(**settings)
    except (KeyboardInterrupt, ValueError):
        raise
    except TypeError as error:
        known = ", ".join(inspect.signature(kind).parameters)
        raise TypeError(f"{reference} does not take these settings ({error}); it takes {known}.") from None
    except BaseException as error:  # also SystemExit, which would end the command without a word
        raise _unusable(reference, "made", error) from error


def _unusable(reference: str, what: str, error: BaseException) -> ValueError:
    return ValueError(
        f"The solver {reference!r} could not be {what} ({type(error).__name__}: {error}). Mend it, or name another."
    )


def import_solver(reference: str) -> type[Solver[Any]]:
    """Import the class named by ``"module:Class"`` or ``"file.py:Class"``."""
    place, _, name = reference.rpartition(":")
    module = _imported(place, reference)
    kind = getattr(module, name, None)
    if not (inspect.isclass(kind) and issubclass(kind, Solver)):
        raise ValueError(
            f"{place} has no solver class named {name!r}; it has {', '.join(_solvers_in(module)) or 'none'}. "
            "A solver is a subclass of orthoprox.Solver."
        )
    return kind


def _imported(place: str, reference: str) -> Any:
    try:
        return _from_file(Path(place)) if place.endswith(".py") else _from_module(place)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit
        raise _unusable(reference, "imported", error) from error


def _solvers_in(module: Any) -> list[str]:
    """The names of the solvers that a module defines or imports."""
    kinds = {name: kind for name, kind in vars(module).items() if inspect.isclass(kind) and issubclass(kind, Solver)}
    return [name for name, kind in kinds.items() if kind is not Solver]


def fingerprint(name: str) -> str:
    """A digest of a user's file, with a solver or with data; empty for everything else."""
    place, _, _ = name.rpartition(":")
    file = Path(place if place.endswith(".py") else name)
    if name in SOLVERS or not os.path.isfile(file):
        return ""
    stat = file.stat()
    return _digest(file, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=64)
def _digest(file: Path, changed: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:12]


def _from_module(name: str) -> Any:
    here = os.getcwd()
    if here not in sys.path:  # an installed command does not search the current folder
        sys.path.insert(0, here)
    return importlib.import_module(name)


def _from_file(path: Path) -> Any:
    path = Path(os.path.realpath(path))
    if not os.path.isfile(path):
        raise FileNotFoundError(f"there is no file {path}")
    name = f"_orthoprox_user_{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # dataclasses look their module up there
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
    return sys.modules[name]
