"""Small tables for notebooks: escaped, in the colours of the page they stand on, and without computing anything."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

LINE = "1px solid rgba(128, 128, 128, 0.4)"
"""Grey that is seen on light and on dark pages; letters have the colour of the page."""
CELL = "padding: 0.15em 0.8em 0.15em 0; vertical-align: top; background: none; color: inherit"
LONGEST = 240  # characters of a description
MEMBERS = 4  # of a tuple, that are described


def card(
    title: str, rows: Iterable[Sequence[str]], *, head: Sequence[str] = (), notes: Iterable[str] = (), words: int = 0
) -> str:
    """A title, a table and remarks. With a head all columns but the last ``words`` are numbers; without, none is.

    Examples
    --------
    >>> print(card("a & b", [("one", "<1>")]))  # doctest: +ELLIPSIS
    <div ...>a &amp; b</div><table ...><tr><td ...>one</td><td ...>&lt;1&gt;</td></tr></table></div>
    """
    numbers = len(head) - words if head else 0
    top = _row("th", head, numbers, f"; border-bottom: {LINE}") if head else ""
    body = "".join(_row("td", row, numbers) for row in rows)
    below = "".join(f'<div style="opacity: 0.75; max-width: 60em">{escape(note)}</div>' for note in notes)
    return (
        f'<div style="color: inherit; overflow-x: auto"><div style="font-weight: bold">{escape(title)}</div>'
        f'<table style="border-collapse: collapse; border: none; margin: 0.3em 0; font-variant-numeric: tabular-nums">'
        f"{top}{body}</table>{below}</div>"
    )


def _row(name: str, cells: Iterable[str], numbers: int, style: str = "") -> str:
    sides = ((cell, "right" if j < numbers else "left") for j, cell in enumerate(cells))
    parts = (f'<{name} style="{CELL}; text-align: {side}{style}">{escape(cell)}</{name}>' for cell, side in sides)
    return f"<tr>{''.join(parts)}</tr>"


def brief(part: Any) -> str:
    """An object in a few words: what it is made of, arrays by their shapes.

    Examples
    --------
    >>> import numpy as np
    >>> brief(np.ones((30, 8))), brief((1.0, "a", print))
    ('array of 30 by 8', "(1, 'a', print)")
    """
    text = _brief(part)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "\u2026"


def _brief(part: Any) -> str:
    if isinstance(part, (bool, str)) or part is None:
        return repr(part)
    if isinstance(part, (int, float)):
        return f"{part:.6g}"
    if isinstance(part, (tuple, list)):
        more = ["\u2026"] if len(part) > MEMBERS else []
        return "(" + ", ".join([*map(_brief, part[:MEMBERS]), *more]) + ")"
    if isinstance(getattr(part, "shape", None), tuple):
        return "array of " + " by ".join(map(str, part.shape))
    kind = type(part)
    if dataclasses.is_dataclass(part) and hasattr(kind.__repr__, "__wrapped__"):  # made by dataclass: it shows arrays
        return f"{kind.__name__}({', '.join(_fields(part))})"
    if dataclasses.is_dataclass(part):
        return repr(part)
    return str(getattr(part, "__name__", kind.__name__))


def _fields(part: Any) -> Iterable[str]:
    """The fields that were given and are not as by default."""
    derived = getattr(part, "_derived", ())
    for field in dataclasses.fields(part):
        value = vars(part).get(field.name, field.default)
        usual = isinstance(value, (int, float, str)) and field.name != "weight" and value == field.default
        if field.repr and not usual and field.name not in derived:
            yield f"{field.name}={_brief(value)}"
