"""Styles that can be told apart without colour."""

from __future__ import annotations

from typing import Any

import numpy as np

STYLES = (  # colour, dashes, marker; the last two tell curves apart in grey
    ("#1b4f72", "-", "o"),
    ("#c0392b", "--", "s"),
    ("#239b56", "-.", "^"),
    ("#8e44ad", ":", "v"),
    ("#d68910", "-", "D"),
    ("#148f77", "--", "x"),
    ("#7f8c8d", "-.", "+"),
    ("#000000", "-", "*"),
    ("#af601a", ":", "p"),
    ("#2e86c1", "--", "h"),
)
POSITIVE, NEGATIVE = "#12304f", "#e67e22"
"""Colours of the signs: blue and orange, dark and light in grey."""
MARKERS = 8


def style(i: int) -> tuple[str, str, str]:
    """The i-th style, starting over after the last."""
    return STYLES[i % len(STYLES)]


def curve(ax: Any, x: Any, y: Any, look: tuple[str, str, str], label: str | None = None) -> Any:
    """Draw a line with markers at even distances along the axis, however dense the records."""
    colour, dashes, marker = look
    marks = np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], MARKERS)).clip(0, len(x) - 1)).tolist()
    (line,) = ax.plot(x, y, dashes, color=colour, marker=marker, markevery=marks, ms=4, lw=1.2, mfc="none", label=label)
    return line


def signed_image(ax: Any, image: Any, **kwargs: Any) -> Any:
    """Draw numbers of both signs as an image without ticks; zero is white."""
    from matplotlib.colors import LinearSegmentedColormap

    top = float(np.max(np.abs(image))) or 1.0
    colours = LinearSegmentedColormap.from_list("signed", [NEGATIVE, "white", POSITIVE])
    artist = ax.imshow(image, cmap=colours, vmin=-top, vmax=top, **kwargs)
    ax.set_xticks([])
    ax.set_yticks([])
    return artist
