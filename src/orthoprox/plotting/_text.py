"""Names that fit: how wide they are, and how to shorten them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

ELLIPSIS = "\u2026"
HINTING = 1.06  # what a renderer that moves outlines to pixels adds to their width, at most


def width_of(text: str, size: float) -> float:
    """How wide a line of text is, in points, in the font of the current style."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)
    return HINTING * float(width)


def shorten(name: str, most: float, size: float) -> str:
    """The name in one line, without its middle if it is wider than ``most`` points: ends tell names apart too."""
    name = " ".join(name.split())
    if width_of(name, size) <= most:
        return name
    low, high = 0, len(name)  # characters that fit, and that do not
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if width_of(_without_middle(name, middle), size) <= most else (low, middle)
    return _without_middle(name, low)


def _without_middle(name: str, kept: int) -> str:
    head = math.ceil(0.6 * kept)
    return name[:head].rstrip() + ELLIPSIS + name[len(name) - (kept - head) :].lstrip()


def short_names(names: Sequence[str], most: float, size: float) -> list[str]:
    """The names shortened; those that would read alike are followed by their places, counted from 1."""
    short = [shorten(name, most, size) for name in names]
    seen: dict[str, set[str]] = {}
    for name, text in zip(names, short, strict=True):
        seen.setdefault(text, set()).add(name)
    for i, (name, text) in enumerate(zip(names, short, strict=True)):
        if len(seen[text]) > 1:
            place = f" [{i + 1}]"
            short[i] = shorten(name, most - width_of(place, size), size) + place
    return short


def wrap(text: str, most: float, size: float) -> str:
    """The text in lines of at most ``most`` points: its own, or two, the second shortened."""
    lines = text.split("\n")
    if len(lines) > 1 or width_of(text, size) <= most:
        return "\n".join(shorten(line, most, size) for line in lines)
    words, first = text.split(" "), ""
    while words and width_of(f"{first} {words[0]}".strip(), size) <= most:
        first = f"{first} {words.pop(0)}".strip()
    rest = " ".join(words)
    return shorten(text, most, size) if not first or not rest else f"{first}\n{shorten(rest, most, size)}"


def legend(ax: Any, size: float = 8, most: float = 150) -> Any:
    """A legend whose labels are shortened and otherwise as they are written, dollars included."""
    made = ax.legend(fontsize=size)
    texts = made.get_texts()
    for text, label in zip(texts, short_names([text.get_text() for text in texts], most, size), strict=True):
        text.set_text(label)
        text.set_parse_math(False)
    return made
