"""Where a table begins in its file, and whether its first row is one of names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox.cli.tables.numbers import BLANK, parse
from orthoprox.cli.tables.places import count, letters, listed, ranges

Records = Sequence[Sequence[str]]
YEARS = (1000, 2999)
REMARKS = ("#", "!", "%")
"""How lines begin that programs write above a table."""


@dataclass(frozen=True)
class Layout:
    """The place of a table in the records of a file."""

    first: int
    """The first record of data, from 0."""

    names: tuple[str, ...]
    """All different, one for each column."""

    header: bool
    notes: tuple[str, ...]


def find_layout(records: Records, header: bool | None, blank: Sequence[str] = ()) -> Layout:
    """Find the names and the first row of data.

    Parameters
    ----------
    records : sequence of sequences of str
        The first rows of the file, blank ones too.
    header : bool, optional
        Whether the first row holds names; None to find out.
    blank : sequence of str
        Words that stand for empty cells.
    """
    width = usual_width(beyond_remarks(records))
    top = len(records) - len(beyond_remarks(records))
    marked = None if header is False else _marked_names(records, top, width)
    start, head = marked or (_start(records, top, width), None)
    notes = _above(records[:start])
    if head is None:
        head = [word.strip() for word in records[start]] if start < len(records) else []
    has = is_header(head, records[start + 1 :]) if header is None else header
    if not has:
        if header is None:
            notes.append(
                f"Row {start + 1} was taken for data, so columns have letters for names (--header: for names)."
            )
        return Layout(start, tuple(letters(j + 1) for j in range(width)), False, tuple(notes))
    given = [word for word in head if word]
    if header is None and given and all(_number(word) is not None for word in given):
        notes.append(f"Row {start + 1}, {given[0]} and so on, was taken for names (--no-header: for data).")
    if len(head) == width - 1 and not _ends_blank(records[start + 1 :], width):
        head = ["", *head]  # as R writes row names, which have no name
    first, head = _join_names(records, start + 1, [*head, *[""] * (width - len(head))], blank)
    if first > start + 1:
        example = head[max(range(len(head)), key=lambda j: " " in head[j])]
        notes.append(f"Rows {start + 1} to {first} were taken for names, such as {example!r}.")
    names, more = distinct_names(head)
    return Layout(first, names, True, (*notes, *more))


def beyond_remarks(records: Records) -> Records:
    """The records from the first that is neither blank nor a remark; all where all look like remarks."""
    for i, record in enumerate(records):
        if any(word.strip() for word in record) and not _is_remark(record):
            return records[i:]
    return records


def _is_remark(record: Sequence[str]) -> bool:
    return bool(record) and record[0].lstrip().startswith(REMARKS)


def _marked_names(records: Records, top: int, width: int) -> tuple[int, list[str]] | None:
    """The last remark above the table as names, where the table begins with data and it has as many cells."""
    place = next((i for i in reversed(range(top)) if _is_remark(records[i])), None)
    if place is None or top >= len(records) or is_header(records[top], records[top + 1 :], counts=False):
        return None
    words = [word.strip() for word in records[place]]
    if len(words) == width + 1 and words[0] in REMARKS:
        words = words[1:]  # as NumPy writes names between spaces
    return (place, words) if len(words) == width > 1 else None


def _above(records: Records) -> list[str]:
    """A note on what stands above a table."""
    rows = [i + 1 for i, record in enumerate(records) if any(word.strip() for word in record)]
    if not rows:
        return []
    one, remarks = len(rows) == 1, [records[row - 1] for row in rows if _is_remark(records[row - 1])]
    signs = listed(dict.fromkeys(record[0].lstrip()[0] for record in remarks))
    why = ["has fewer cells" if one else "have fewer cells"] if len(remarks) < len(rows) else []
    why += [f"begin{'s' if one else ''} with {signs}"] if remarks else []
    subject, verb = (f"Row {rows[0]} stands", "is") if one else (f"Rows {ranges(rows)} stand", "are")
    return [f"{subject} above the table and {verb} left out: {'it' if one else 'they'} {' or '.join(why)}."]


def _join_names(records: Records, first: int, head: list[str], blank: Sequence[str]) -> tuple[int, list[str]]:
    """Names in more rows than one: units, or names of groups above those of columns.

    Such a row has words in two columns of numbers or more, which do not stand for empty cells, and a number in none.
    A name of a group stands above its first column only, as a merged cell does.
    """
    while first < len(records):
        row = [word.strip() for word in records[first][: len(head)]]
        row += [""] * (len(head) - len(row))
        below = records[first + 1 :]
        if any(_number(word) is not None and _mostly_numbers(below, j) for j, word in enumerate(row)):
            break
        words = [j for j, word in enumerate(row) if word not in BLANK and word not in blank]
        if sum(_mostly_numbers(below, j) for j in words) < 2:
            break
        group, names = "", []
        for above, word in zip(head, row, strict=True):
            named = any(letter.isalpha() for letter in word) or word not in BLANK  # Na is sodium here
            group = (above or group) if named else ""
            names.append(f"{above or group} {word if named else ''}".strip())
        first, head = first + 1, names
    return first, head


def _ends_blank(below: Records, width: int) -> bool:
    """Whether the last cell is blank in every row, as where rows end with a separator and the names do not."""
    return not any(record[-1].strip() for record in below if len(record) == width)


def empty_rows(rows: Any, kept: Any) -> list[str]:
    """A note on empty rows above others, which are left out: one may be a sample of which nothing is known."""
    where = np.flatnonzero(kept)
    inside = [int(rows[i]) for i in np.flatnonzero(~kept) if len(where) and i < where[-1]]
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


def is_header(head: Sequence[str], below: Records, *, counts: bool = True) -> bool:
    """Whether a row holds names: a word where there are numbers below, or years, or ``counts`` from 0 or 1 on."""
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
    return counts and len(numbers) > 2 and any(numbers == [k + i for i in range(len(numbers))] for k in (0, 1))


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


def _start(records: Records, top: int, width: int) -> int:
    """The first record of the table: what stands above it fills fewer cells, at most half of them if it has as many."""
    for i, record in enumerate(records[top:], start=top):
        filled = max((j + 1 for j, word in enumerate(record) if word.strip()), default=0)
        if filled and (width < 3 or filled >= width - 1 or (len(record) == width and 2 * filled > width)):
            return i
    return top
