"""What reading a file gives: first the columns as they are there, then numbers with names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from orthoprox.cli.tables.places import cell, letters, listed


@dataclass(frozen=True)
class Reading:
    """How the user wants a file to be read; None where the file decides."""

    separator: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | None = None
    missing_words: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Raw:
    """A table as it is in its file."""

    columns: dict[str, Any]
    """A pandas series for each column, by names that differ; or nothing, where there is a ``matrix``."""

    rows: Any
    """The number of each row in a spreadsheet."""

    numbers: dict[str, int]
    """The number of each column in a spreadsheet, from 1."""

    facts: dict[str, Any] = field(default_factory=dict)
    """How the file was read, for the summary."""

    notes: tuple[str, ...] = ()
    decimal: str = "."
    index: str | None = None
    """The column that names the rows, where the file says so."""

    is_array: bool = False
    """Whether the file holds one array, and no columns of their own."""

    labels: tuple[str, ...] = ()
    """Names of the rows that stand in no column."""

    labels_name: str = "observation"
    """What such a name is one of."""

    matrix: Any = None
    """A sparse matrix, in place of columns."""

    transposed: bool = False
    """Whether features stand in rows by the form of the file, so that nobody need say so."""


@dataclass(frozen=True)
class LeftOut:
    """A column, or a row, that takes no part, and why."""

    name: str
    why: str
    place: str = ""


@dataclass(frozen=True, eq=False)
class Table:
    """Samples in rows, features in columns, and what became of the rest."""

    X: Any
    """Floats: an array, or a sparse matrix by rows."""

    names: tuple[str, ...]
    index: tuple[str, ...]
    index_name: str
    rows: Any
    """The number of each sample in the file: that of its row, or of its column where the file is transposed."""

    columns: Any
    """The number of each feature in the file."""

    transposed: bool = False
    names_from: str = ""
    """The column that names the features of a transposed file."""

    left_out: tuple[LeftOut, ...] = ()
    notes: tuple[str, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    is_covariance: bool = False
    """Whether these are covariances of the features rather than samples."""

    def place(self, i: int, j: int) -> str:
        """Where the entry of a sample and a feature is in the file."""
        if self.transposed:
            return cell(int(self.columns[j]), int(self.rows[i]), self.index[i])
        return cell(int(self.rows[i]), int(self.columns[j]), self.names[j])

    def feature_place(self, j: int) -> str:
        """Where a feature is: a column, or a row where the file is transposed."""
        return f"row {self.columns[j]}" if self.transposed else f"column {letters(int(self.columns[j]))}"

    def left_out_words(self) -> str:
        """A sentence on the columns that take no part, or an empty text."""
        words = listed(f"{one.name!r} ({one.why})" for one in self.left_out)
        return f"Left out: {words}." if words else ""
