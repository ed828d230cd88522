"""Fonts for names in any script."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator

from orthoprox._extras import extra

BOXES = "Last Resort"
"""How the names of fonts begin that have a box for every letter."""


@contextlib.contextmanager
def fonts_for(words: Iterable[str]) -> Iterator[str]:
    """Draw with further fonts where the usual one lacks letters of the words; the letters that no font here has."""
    letters = {letter for word in words for letter in word if letter.isprintable() and not letter.isascii()}
    if not letters:
        yield ""
        return
    extra("matplotlib", "plots", "A picture")
    from matplotlib import rc_context, rcParams
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    letters -= _letters_of(findfont(FontProperties()))
    further = []
    for font in fontManager.ttflist:
        if not letters:
            break
        if font.style == "normal" and font.weight in (400, "normal", "regular") and not font.name.startswith(BOXES):
            has = letters & _letters_of(font.fname)
            further += [font.name] if has else []
            letters -= has
    with rc_context({"font.family": [*rcParams["font.family"], *further]}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        yield "".join(sorted(letters))


def _letters_of(file: str) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
        return set(map(chr, get_font(file).get_charmap()))
    except (OSError, RuntimeError):  # one that cannot be read
        return set()
