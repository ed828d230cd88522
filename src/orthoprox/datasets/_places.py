"""Columns as a spreadsheet names them."""

from __future__ import annotations


def letters(column: int) -> str:
    """The letters of a column, counted from 1.

    Examples
    --------
    >>> letters(1), letters(26), letters(27), letters(703)
    ('A', 'Z', 'AA', 'AAA')
    """
    word = ""
    while column > 0:
        column, rest = divmod(column - 1, 26)
        word = chr(ord("A") + rest) + word
    return word
