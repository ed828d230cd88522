"""Result files: one run each, NumPy archives without pickled objects, complete or absent."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._files import replacing


class DamagedFile(ValueError):
    """A result file that is incomplete or altered."""


@dataclass(frozen=True, eq=False)
class Archive:
    """The content of a result file: facts in the types of JSON, the recorded columns, and those of a watch."""

    facts: Mapping[str, Any]
    history: Mapping[str, np.ndarray[Any, Any]]
    theory: Mapping[str, np.ndarray[Any, Any]]


def write(path: Path, archive: Archive) -> None:
    """Write a result in one move, and remove what a killed process left half-written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    entries: dict[str, Any] = {f"history.{name}": column for name, column in archive.history.items()}
    entries |= {f"theory.{name}": column for name, column in archive.theory.items()}
    for name, column in entries.items():
        if np.asarray(column).dtype.hasobject:  # np.savez can refuse these only from NumPy 2.1 on
            raise ValueError(f"A result holds numbers, which are never pickled; given {name} with Python objects.")
    facts = {**archive.facts, "entries": sorted(entries)}
    with replacing(path) as file:
        np.savez_compressed(file, facts=np.array(json.dumps(facts)), **entries)


def load(path: Path) -> Archive:
    """Read a result; checksums and a list of contents reveal a damaged file."""
    try:
        # opened here: NumPy leaves a file it cannot read open
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            entries = {name: arrays[name] for name in arrays.files}
        facts = json.loads(str(entries.pop("facts")))
        complete = sorted(entries) == facts.pop("entries")
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
        raise DamagedFile(
            f"{path} is not a complete result file ({type(error).__name__}: {error}). Delete it and run again."
        ) from None
    if not complete:
        raise DamagedFile(
            f"{path} is not a complete result file: its list of contents does not match. Delete it and run again."
        )
    parts: dict[str, dict[str, Any]] = {"history": {}, "theory": {}}
    for name, column in entries.items():
        part, _, column_name = name.partition(".")
        parts[part][column_name] = column
    return Archive(facts, parts["history"], parts["theory"])


def code_of(path: Path) -> str | None:
    """The version of the code that made a result; None where there is no result that can be read."""
    try:
        return str(load(path).facts.get("code", "unknown"))
    except (FileNotFoundError, DamagedFile):
        return None
