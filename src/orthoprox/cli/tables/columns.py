"""What a column holds: numbers, texts, dates, numbers of rows, or nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.cli.tables.numbers import parse, split_sign
from orthoprox.cli.tables.places import cell, count, letters, listed, sentence

DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?")
ID = re.compile(
    r"(?:^|[^a-z])(?:ids?|uuid|guid|key|row|nr|no)\.?$|^(?:index|idx|unnamed.*)$|"
    r"(?:user|customer|client|patient|subject|sample|person|case|order|product|item|student|respondent|participant|"
    r"member|record|account|visit)id$",
    re.IGNORECASE,
)
"""Not every word that ends in id: paid, acid and covid are numbers of something."""
CAMEL = re.compile(r"[a-z](?:Id|ID|Nr|No)$")
UNITS = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s*[A-Za-zµ°/²³]{1,8}")
EXACT = 2**53
"""Whole numbers beyond this are not told apart as floats: they are the numbers of accounts and the like."""
SHORT = 20
"""Letters of an answer: longer texts are remarks."""


@dataclass(frozen=True, eq=False)
class Column:
    """A column as numbers, NaN where a cell is empty; or why it has none."""

    values: Any = None
    why: str = ""
    note: str = ""


def read_column(series: Any, name: str, number: int, rows: Any, decimal: str) -> Column:
    """Find out what a column holds.

    Raises
    ------
    ValueError
        If most cells are numbers and some are not: such a column is not left out, because it was meant to take part.
    """
    pandas = extra("pandas", "fit", "Reading a table")
    if not series.notna().any():
        return Column(why="empty")
    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        series = series.astype(object)
    if pandas.api.types.is_bool_dtype(series.dtype):
        return Column(_floats(series), note=f"{name!r} holds true and false: 1 and 0 here.")
    if pandas.api.types.is_complex_dtype(series.dtype):
        return Column(why="complex numbers")
    if pandas.api.types.is_numeric_dtype(series.dtype):
        return _without_row_numbers(Column(_floats(series)), series, name)
    if pandas.api.types.is_datetime64_any_dtype(series.dtype) or series.dtype.kind == "m":
        return Column(why="dates")
    return _without_row_numbers(_read_words(series.astype(object), name, number, rows, decimal), series, name)


def _floats(series: Any) -> Any:
    """Numbers of any type of pandas as floats; single precision stays such."""
    kind = np.float32 if str(series.dtype) == "float32" else np.float64
    return series.to_numpy(dtype=kind, na_value=np.nan)


def _read_words(series: Any, name: str, number: int, rows: Any, decimal: str) -> Column:
    given = series.notna().to_numpy()
    cells = series.to_numpy()[given]
    values = [_value(item, decimal) for item in cells]
    bad = [i for i, value in enumerate(values) if value is None]
    if 2 * len(bad) >= len(cells):
        _refuse_other_mark(cells, name, number, decimal)
        return Column(why=_describe(cells))
    if bad:
        places = rows[given][bad]
        others = f", and {count(len(bad) - 1, 'more such cell')} ({_rows(places[1:])})" if len(bad) > 1 else ""
        raise ValueError(
            f"{sentence(cell(int(places[0]), number, name))} is {str(cells[bad[0]])!r}{others}, where the other "
            f"cells of the column are numbers. Mend the file, leave the column out (--drop {_quoted(name)}), or take "
            f"it for an empty cell (--missing-word {_quoted(str(cells[bad[0]]))})."
        )
    found = np.full(len(series), np.nan)
    found[given] = values
    signs = {split_sign(item)[1] if isinstance(item, str) else "" for item in cells}
    if all(isinstance(item, (bool, np.bool_)) for item in cells):
        return Column(found, note=f"{name!r} holds true and false: 1 and 0 here.")
    if signs == {""}:
        return Column(found)
    note = f"{name!r} was read without {listed(sorted(signs - {''}))}"
    note += "; not all its cells have the same sign, so see whether they are alike." if len(signs) > 1 else "."
    return Column(found, note=note)


def _refuse_other_mark(cells: Any, name: str, number: int, decimal: str) -> None:
    """Refuse a column that is read with one decimal mark and written with the other: it was meant to take part."""
    other = "." if decimal == "," else ","
    alike = [item for item in cells if isinstance(item, str) and parse(item, other) is not None]
    if 2 * len(alike) > len(cells):
        words = {",": "commas", ".": "points"}
        place = f"Column {letters(number)}" + ("" if name == letters(number) else f" ({name!r})")
        raise ValueError(
            f"{place} has decimal {words[other]}, such as {alike[0]!r}, and the table is read with {words[decimal]}. "
            f"Write all columns alike, give --decimal {other}, or leave the column out (--drop {_quoted(name)})."
        )


def _value(item: Any, decimal: str) -> float | None:
    if isinstance(item, str):
        return parse(item, decimal)
    try:
        return float(item)
    except (TypeError, ValueError, OverflowError):
        return None


def _rows(places: Any) -> str:
    words = listed((str(place) for place in places), 4)
    return f"row {words}" if len(places) == 1 else f"rows {words}"


def _quoted(word: str) -> str:
    """A word for a shell."""
    return (
        word if re.fullmatch(r"[\w.-]+", word) and not word.startswith("-") else "'" + word.replace("'", "'\\''") + "'"
    )


def _describe(cells: Any) -> str:
    """What is in a column that has no numbers."""
    words = [str(item).strip() for item in cells]
    if all(DATE.fullmatch(word) for word in words) or not any(isinstance(item, str) for item in cells):
        return "dates" if all(hasattr(item, "year") or isinstance(item, str) for item in cells) else "no numbers"
    distinct = sorted(set(words))
    if len(distinct) == 2 and len(words) > 2 and max(map(len, distinct)) <= SHORT:
        return f"text: {distinct[0]!r} or {distinct[1]!r}; written as 0 and 1 it could take part"
    if 2 * sum(UNITS.fullmatch(word) is not None for word in words) > len(words):
        example = next(filter(UNITS.fullmatch, words))
        return f"text: numbers with units, such as {example!r}; without them it could take part"
    return "text"


def _without_row_numbers(column: Column, series: Any, name: str) -> Column:
    """Leave out numbers that only name rows: 0, 1, 2, ..., or whole ones that all differ under a name such as id."""
    values = column.values
    if values is None or len(values) < 2 or not np.all(np.isfinite(values)) or np.any(values != np.round(values)):
        return column
    steps = np.diff(values)
    if np.all(steps == 1) and values[0] in (0, 1) and len(values) > 2:
        return Column(why=f"counts the rows, from {values[0]:.0f} to {values[-1]:.0f}")
    if (ID.search(name) or CAMEL.search(name)) and series.nunique() == len(values):
        return Column(why="an id: whole numbers, all different")
    if np.max(np.abs(values)) > EXACT and series.nunique() == len(values) and _are_digits(series):
        return Column(why="an id: whole numbers of many digits, all different")
    return column


def _are_digits(series: Any) -> bool:
    """Whether numbers are written as digits alone, as those of accounts are; 1e20 is not."""
    return series.dtype.kind in "iu" or all(str(item).strip().isdigit() for item in series)
