"""Tables of people: read, understood and cleaned, with a word on everything that is left out."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable
from pathlib import Path

from orthoprox._memory import SHARE, memory
from orthoprox.cli.tables.clean import Choice, clean
from orthoprox.cli.tables.files import ENGINES, read_annotated, read_array, read_arrow, read_sheet
from orthoprox.cli.tables.table import LeftOut, Raw, Reading, Table
from orthoprox.cli.tables.text import BROKEN, OPENERS, read_text
from orthoprox.datasets import DataDamaged, DataUnavailable

READERS: dict[str, Callable[[Path, Reading], Raw]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".tab", ".dat"), read_text),
    **dict.fromkeys(ENGINES, read_sheet),
    **dict.fromkeys((".parquet", ".pq", ".feather", ".arrow", ".ipc"), read_arrow),
    **dict.fromkeys((".h5ad",), read_annotated),
    **dict.fromkeys((".npy", ".npz", ".mtx", ".svmlight", ".libsvm"), read_array),
}
"""How to read a table, by the ending of its name."""
ADDRESS = re.compile(r"(https?|ftp|s3|gs):[/\\]", re.IGNORECASE)
PACKED: dict[Callable[[Path, Reading], Raw], tuple[str, ...]] = {read_text: tuple(OPENERS), read_array: (".gz",)}
"""The endings of packed files that a reader unpacks."""
OPTIONS: dict[Callable[[Path, Reading], Raw], tuple[str, ...]] = {
    read_text: ("separator", "decimal", "encoding", "header"),
    read_sheet: ("decimal", "header", "sheet"),
    read_arrow: ("decimal",),
}
"""Which parts of a ``Reading`` a reader heeds, beside words for empty cells."""


def read_table(path: Path, reading: Reading, choice: Choice) -> Table:
    """Read a file and clean it.

    Raises
    ------
    DataUnavailable
        If it is not there or cannot be read.
    ValueError
        If its content cannot be used as it is; the sentence says where and what to do.
    """
    try:
        return clean(read_raw(path, reading), choice, reading.missing_words)
    except (DataUnavailable, MemoryError):
        raise
    except BROKEN as error:
        raise DataUnavailable(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from error


def read_raw(path: Path, reading: Reading) -> Raw:
    """The columns of a file as they are."""
    ending = table_ending(path)
    if not os.path.lexists(path):
        if ADDRESS.match(str(path)):
            raise DataUnavailable(f"{path} is an address, and no file. Download it first.")
        folder = path.parent if path.parent.is_dir() else None
        near = _near(path) if folder is not None else ""
        raise DataUnavailable(f"There is no file {path}.{near}")
    if path.is_dir():
        raise DataUnavailable(f"{path} is a folder. Name the file of the table in it.")
    if not path.is_file():
        raise DataUnavailable(f"{path} is not a regular file. Save the data in one of their own.")
    if not ending:
        packed = path.suffix if path.suffix.lower() in OPENERS else ""
        raise ValueError(
            f"{path} is not a table we can read: its name must end in {', '.join(READERS)}. A table of "
            f"text could be called {path.name.removesuffix(packed)}.csv{packed}."
        )
    if path.stat().st_size == 0:
        raise DataDamaged(f"{path} is empty: it has no rows. Export the table again.")
    if path.stat().st_size > SHARE * memory():
        raise ValueError(
            f"{path} has {path.stat().st_size / 1e9:.3g} GB, and {SHARE * memory() / 1e9:.3g} GB can be used here. "
            "sparse-pca and nonnegative-pca read .npy, .parquet and .h5ad in blocks, with --memory."
        )
    if path.suffix.lower() in OPENERS and path.suffix.lower() not in PACKED.get(READERS[ending], ()):
        raise ValueError(f"{path} is packed, and {ending} files are read as they are. Unpack it, and name the table.")
    _refuse_others(path, reading, ending)
    return READERS[ending](path, reading)


def _refuse_others(path: Path, reading: Reading, ending: str) -> None:
    """Refuse options for another kind of file: who gives them may have named the wrong one."""
    for name in ("separator", "decimal", "encoding", "header", "sheet"):
        if getattr(reading, name) is not None and name not in OPTIONS.get(READERS[ending], ()):
            kinds = [known for known, reader in READERS.items() if name in OPTIONS.get(reader, ())]
            raise ValueError(
                f"--{name} is for {', '.join(kinds)}, and has no meaning for {path.name}. Leave it out, or name "
                "another file."
            )


def table_ending(path: Path) -> str:
    """The known ending of the name of a table, without that of its packing; or an empty text."""
    name = path.name.lower()
    for packed in OPENERS:
        name = name.removesuffix(packed)
    return next((ending for ending in READERS if name.endswith(ending)), "")


def _near(path: Path) -> str:
    names = [entry.name for entry in path.parent.iterdir() if table_ending(entry)]
    near = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
    return f" Did you mean {near[0]!r}?" if near else ""


__all__ = ["Choice", "LeftOut", "Raw", "Reading", "Table", "READERS", "read_raw", "read_table", "table_ending"]
