"""Cells, rows and columns as a spreadsheet names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orthoprox.datasets._places import letters

SHOWN = 8
"""How many of a long list are named."""


def cell(row: int, column: int, name: str) -> str:
    """Where a cell is; the name of its column too, unless it is the letters.

    Examples
    --------
    >>> cell(7, 3, "weight")
    "row 7, column C ('weight')"
    """
    where = f"row {row}, column {letters(column)}"
    return where if name == letters(column) else f"{where} ({name!r})"


def sentence(words: str) -> str:
    """The words with a capital at their beginning, and nothing else changed."""
    return words[:1].upper() + words[1:]


def listed(words: Iterable[str], shown: int = SHOWN) -> str:
    """The first of many words, and how many more there are."""
    words = list(words)
    if len(words) <= shown + 1:  # "and 1 more" takes as much room as the one
        return ", ".join(words)
    return f"{', '.join(words[:shown])} and {len(words) - shown:,} more"


def ranges(numbers: Sequence[int]) -> str:
    """Whole numbers in rising order, runs of them as first to last.

    Examples
    --------
    >>> ranges([2, 3, 4, 9])
    '2 to 4, 9'
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1] = [parts[-1][0], number]
        else:
            parts.append([number])
    return listed(" to ".join(map(str, part)) for part in parts)


def count(number: int, word: str) -> str:
    """A number of things, as in "1 row" and "2,000 rows"."""
    return f"{number:,} {word}" + ("" if number == 1 else "s")


__all__ = ["SHOWN", "cell", "count", "letters", "listed", "ranges", "sentence"]
