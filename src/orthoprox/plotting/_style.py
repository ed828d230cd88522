"""Styles that can be told apart without colour, by every kind of eye, on light and on dark paper."""

from __future__ import annotations

from typing import Any

import numpy as np

INK = "ink"
"""The colour of writing: black on light paper, white on dark."""
STYLES = (  # colour, dashes, marker; the last two tell curves apart in grey
    ("#0072b2", "-", "o"),
    ("#d55e00", "--", "s"),
    ("#009e73", "-.", "^"),
    ("#cc79a7", ":", "v"),
    ("#e69f00", "-", "D"),
    ("#56b4e9", "--", "x"),
    ("#808080", "-.", "+"),
    (INK, "-", "*"),
    ("#999933", ":", "p"),
    ("#8c510a", "--", "h"),
)
"""The colours of Okabe and Ito, which are told apart without red or green, less a yellow that is too pale for white
paper; then olive and brown for those who need ten.

References: M. Okabe, K. Ito, "Color universal design: how to make figures and presentations that are friendly to
colorblind people", 2008.
"""
DASHES = ("-", "--", "-.", ":")
POSITIVE, NEGATIVE = "#0072b2", "#e69f00"
"""Colours of the signs: blue and orange, dark and light in grey, both far from black and from white."""
FAINT = "#808080"
"""For what stands back: lines through zero, samples without a class."""
MARKERS = 8
DARK = 0.5  # relative luminance, below which writing is white


def style(i: int) -> tuple[str, str, str]:
    """The i-th style. After the last, markers come again with other dashes and colours."""
    turn, place = divmod(i, len(STYLES))
    if turn == 0:
        return STYLES[place]
    _, dashes, marker = STYLES[place]
    return STYLES[(place + turn) % len(STYLES)][0], DASHES[(DASHES.index(dashes) + turn) % len(DASHES)], marker


def paper(ax: Any) -> tuple[float, float, float]:
    """The colour behind what is drawn: that of the axes, or of the figure where the axes have none."""
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(ax.get_facecolor())
    if alpha < 0.5 or not ax.axison:
        red, green, blue, alpha = to_rgba(ax.figure.get_facecolor())
    return (1.0, 1.0, 1.0) if alpha < 0.5 else (red, green, blue)


def ink(ax: Any) -> str:
    """Black or white, whichever can be read on these axes: pictures follow the style that the figure was made in."""
    return "black" if np.dot(paper(ax), (0.2126, 0.7152, 0.0722)) >= DARK else "white"


def colour_on(ax: Any, colour: str) -> str:
    """The colour of a style on these axes."""
    return ink(ax) if colour == INK else colour


def curve(ax: Any, x: Any, y: Any, look: tuple[str, str, str], label: str | None = None, *, every: bool = False) -> Any:
    """Draw a line with markers at every point, or at even distances along the axis, however dense the records."""
    colour, dashes, marker = look
    marks = (
        None if every else np.unique(np.searchsorted(x, np.linspace(x[0], x[-1], MARKERS)).clip(0, len(x) - 1)).tolist()
    )
    options = {"marker": marker, "markevery": marks, "ms": 4, "lw": 1.2, "mfc": "none", "label": label}
    (line,) = ax.plot(x, y, dashes, color=colour_on(ax, colour), **options)
    return line


def signed_image(ax: Any, image: Any, **kwargs: Any) -> Any:
    """Draw numbers of both signs as an image without ticks; zero is white, on dark paper black."""
    from matplotlib.colors import LinearSegmentedColormap

    top = float(np.max(np.abs(image))) or 1.0
    zero = "white" if ink(ax) == "black" else "black"
    colours = LinearSegmentedColormap.from_list("signed", [NEGATIVE, zero, POSITIVE])
    artist = ax.imshow(image, cmap=colours, vmin=-top, vmax=top, **kwargs)
    ax.set_xticks([])
    ax.set_yticks([])
    return artist
