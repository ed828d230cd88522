"""Where a table begins in its file, and whether its first row is one of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox.cli.tables.numbers import BLANK, parse
from orthoprox.cli.tables.places import count, letters, ranges

Records = Sequence[Sequence[str]]
YEARS = (1000, 2999)


@dataclass(frozen=True)
class Layout:
    """The place of a table in the records of a file."""

    first: int
    """The first record of data, from 0."""

    names: tuple[str, ...]
    """All different, one for each column."""

    header: bool
    notes: tuple[str, ...]


def find_layout(records: Records, header: bool | None) -> Layout:
    """Find the names and the first row of data.

    Parameters
    ----------
    records : sequence of sequences of str
        The first rows of the file, blank ones too.
    header : bool, optional
        Whether the first row holds names; None to find out.
    """
    width = usual_width(records)
    start = _start(records, width)
    notes = []
    before = [i + 1 for i in range(start) if any(word.strip() for word in records[i])]
    if before:
        what = "they have" if len(before) > 1 else "it has"
        notes.append(
            f"Row{'s' if len(before) > 1 else ''} {ranges(before)} stand{'' if len(before) > 1 else 's'} above the "
            f"table and {'are' if len(before) > 1 else 'is'} left out: {what} fewer cells."
        )
    head = [word.strip() for word in records[start]] if start < len(records) else []
    has = is_header(head, records[start + 1 :]) if header is None else header
    if not has:
        if header is None:
            notes.append(
                f"Row {start + 1} was taken for data, so columns have letters for names (--header: for names)."
            )
        return Layout(start, tuple(letters(j + 1) for j in range(width)), False, tuple(notes))
    if header is None and head and all(_number(word) is not None for word in head if word):
        notes.append(f"Row {start + 1}, {head[0] or head[1]} and so on, was taken for names (--no-header: for data).")
    if len(head) == width - 1 and not _ends_blank(records[start + 1 :], width):
        head = ["", *head]  # as R writes row names, which have no name
    names, more = distinct_names([*head, *[""] * (width - len(head))])
    return Layout(start + 1, names, True, (*notes, *more))


def _ends_blank(below: Records, width: int) -> bool:
    """Whether the last cell is blank in every row, as where rows end with a separator and the names do not."""
    return not any(record[-1].strip() for record in below if len(record) == width)


def empty_rows(rows: Any, kept: Any) -> list[str]:
    """A note on empty rows between others, which are left out: one may be a sample of which nothing is known."""
    where = np.flatnonzero(kept)
    inside = [int(rows[i]) for i in np.flatnonzero(~kept) if len(where) and where[0] < i < where[-1]]
    if not inside:
        return []
    return [
        f"Row{'s' if len(inside) > 1 else ''} {ranges(inside)} {'are' if len(inside) > 1 else 'is'} empty and left out."
    ]


def usual_width(records: Records) -> int:
    """The number of cells that most rows have; the larger one where two are as frequent."""
    counts = Counter(len(record) for record in records if any(word.strip() for word in record))
    if not counts:
        return 0
    most = max(counts.values())
    return max(width for width, times in counts.items() if times == most)


def distinct_names(words: Sequence[str]) -> tuple[tuple[str, ...], list[str]]:
    """Names that differ, from words that may be blank or the same; and a note on those that were the same.

    Examples
    --------
    >>> distinct_names(["a", "", "a"])
    (('a', 'column B', 'a (2)'), ["2 columns have the name 'a'; the others are 'a (2)' and so on here."])
    """
    plain = [" ".join(word.split()) or f"column {letters(j + 1)}" for j, word in enumerate(words)]
    times = Counter(plain)
    taken, names = set(plain), []
    seen: Counter[str] = Counter()
    for name in plain:
        seen[name] += 1
        new = name
        while seen[name] > 1 and (new == name or new in taken):
            new = f"{name} ({seen[name]})"
            seen[name] += new in taken
        taken.add(new)
        names.append(new)
    same = [name for name, number in times.items() if number > 1]
    notes = []
    if same:
        more = f" Another {count(len(same) - 1, 'name')} {'occurs' if len(same) == 2 else 'occur'} more than once."
        notes.append(
            f"{times[same[0]]} columns have the name {same[0]!r}; the others are '{same[0]} (2)' and so on here."
            + (more if len(same) > 1 else "")
        )
    return tuple(names), notes


def is_header(head: Sequence[str], below: Records) -> bool:
    """Whether a row holds names: it has a word where there are numbers below, or years, or numbers from 0 or 1 on."""
    columns = [j for j in range(len(head)) if _mostly_numbers(below, j)]
    if not columns:
        return True
    found = [_number(head[j]) for j in columns]
    if any(number is None for number in found):
        return True
    numbers = [number for number in found if number is not None]
    whole = all(number.is_integer() for number in numbers) and len(set(numbers)) == len(numbers)
    if not whole or len(numbers) < 2:
        return False
    rising = numbers == sorted(numbers)
    if rising and all(YEARS[0] <= number <= YEARS[1] for number in numbers):
        rows = [[_number(row[j]) for j in columns] for row in below[:5] if len(row) >= len(head)]
        return not all(map(_are_years, rows)) or (_are_even(numbers) and not any(map(_are_even, rows)))
    return len(numbers) > 2 and any(numbers == [k + i for i in range(len(numbers))] for k in (0, 1))


def _are_years(numbers: Sequence[float | None]) -> bool:
    return all(number is not None and YEARS[0] <= number <= YEARS[1] and number.is_integer() for number in numbers)


def _are_even(numbers: Sequence[Any]) -> bool:
    """Whether years follow one another at one distance, as they do in names and hardly ever in a row of data."""
    return len(numbers) > 2 and len(set(np.diff(numbers))) == 1


def _mostly_numbers(below: Records, j: int) -> bool:
    words = [record[j].strip() for record in below if j < len(record)]
    words = [word for word in words if word and word not in BLANK]
    return bool(words) and 2 * sum(_number(word) is not None for word in words) > len(words)


def _number(word: str) -> float | None:
    value = parse(word)
    return parse(word, ",") if value is None else value


def _start(records: Records, width: int) -> int:
    """The first record of the table: what stands above it fills fewer cells, at most half of them if it has as many."""
    for i, record in enumerate(records):
        filled = max((j + 1 for j, word in enumerate(record) if word.strip()), default=0)
        if filled and (width < 3 or filled >= width - 1 or (len(record) == width and 2 * filled > width)):
            return i
    return 0
