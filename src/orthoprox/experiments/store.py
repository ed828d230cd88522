"""Result files: one run each, NumPy archives without pickled objects, written at once or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import time
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LEFT_AFTER = 60.0
"""Writing takes a moment: a side file older than so many seconds is one that nobody writes any more."""


class DamagedFile(ValueError):
    """A result file that is not whole."""


@dataclass(frozen=True, eq=False)
class Stored:
    """What a run left: facts as JSON has them, the recorded columns, and those of an instrument that watched."""

    facts: Mapping[str, Any]
    history: Mapping[str, np.ndarray[Any, Any]]
    theory: Mapping[str, np.ndarray[Any, Any]]


def write(path: Path, stored: Stored) -> None:
    """Put a result where it belongs in one move; what a killed attempt left half-written is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    for leftover in path.parent.glob(f"{path.name}.*.part"):
        _remove_if_left(leftover)
    entries = {f"history.{name}": column for name, column in stored.history.items()}
    entries |= {f"theory.{name}": column for name, column in stored.theory.items()}
    facts = {**stored.facts, "entries": sorted(entries)}
    side = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with side.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, facts=np.array(json.dumps(facts)), **entries)
            file.flush()
            os.fsync(file.fileno())
        os.replace(side, path)
    except BaseException:
        side.unlink(missing_ok=True)
        raise


def _remove_if_left(side: Path) -> None:
    """Remove what a process that was killed has left; a fresh one may still be written by another."""
    with contextlib.suppress(FileNotFoundError):
        if time.time() - side.stat().st_mtime > LEFT_AFTER:
            side.unlink()


def load(path: Path) -> Stored:
    """A result; a damaged file is told from a whole one by its checksums and its list of contents."""
    try:
        # opened here: NumPy leaves a file it cannot read open
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            entries = {name: archive[name] for name in archive.files}
        facts = json.loads(str(entries.pop("facts")))
        whole = sorted(entries) == facts.pop("entries")
    except FileNotFoundError:
        raise
    except (
        OSError,
        ValueError,
        KeyError,
        TypeError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        AttributeError,
    ) as error:
        raise DamagedFile(f"{path} is not a whole result file ({type(error).__name__}: {error}).") from None
    if not whole:
        raise DamagedFile(f"{path} is not a whole result file: its list of contents does not fit.")
    parts: dict[str, dict[str, Any]] = {"history": {}, "theory": {}}
    for name, column in entries.items():
        part, _, column_name = name.partition(".")
        parts[part][column_name] = column
    return Stored(facts, parts["history"], parts["theory"])
