"""Loadings of named features, as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from orthoprox._extras import extra
from orthoprox.plotting._canvas import inches, panels
from orthoprox.plotting._components import checked_count, components_of, names_of, shares_of, strongest, titles_of
from orthoprox.plotting._style import NEGATIVE, POSITIVE, ink
from orthoprox.plotting._text import short_names, width_of, wrap

INCH = 72.0  # points
LETTERS = 8.0  # the size of names, in points
NAME, BARS = 2.5, 1.9  # inches of a panel: for names at most, for bars
SHARE = 0.5  # of a panel, for names, where the figure is given
PAGE, COLUMNS = 13.0, 4  # the widest figure, in inches; the most panels side by side


def loadings_bars(
    components: Any,
    names: Sequence[str] | None = None,
    *,
    top: int = 10,
    titles: Sequence[str] | None = None,
    columns: int | None = None,
    figure: Any = None,
) -> Any:
    """The largest loadings of each component as horizontal bars, the largest on top; zeros are left out.

    Names that are too long for their panel are shortened in the middle.

    Parameters
    ----------
    components : estimator or array
        A fitted estimator, or components as rows.
    names : sequence of str, optional
        Of the features; those of the data frame the estimator was fitted on, by default.
    top : int
        The largest number of bars of a component.
    titles : sequence of str, optional
        One for each component; its number and its share of the variance by default.
    columns : int, optional
        Number of panels side by side; as many as a page has room for, at most four, by default.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    array of Axes
        One for each component.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from orthoprox.plotting import loadings_bars
    >>> (ax,) = loadings_bars([[0.6, 0.0, -0.8]], ["age", "height", "income"], figure=Figure())
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['income', 'age']
    """
    V = components_of(components)
    r, n = V.shape
    names, top = names_of(components, names, n), checked_count(top, "top")
    shares = shares_of(components, r)
    titles = titles_of(titles, [f"component {i + 1}\n{share}".strip() for i, share in enumerate(shares)])
    columns = None if columns is None else min(checked_count(columns, "columns"), r)
    shown = [strongest(v, top) for v in V]
    longest = max(1, *map(len, shown))
    most, columns = _room({names[j] for places in shown for j in places}, columns, r, figure)
    rows = math.ceil(r / columns)
    height = 0.22 * longest + 0.65 + 0.15 * (1 + max(title.count("\n") for title in titles))
    grid = panels(figure, rows, columns, columns * (most / INCH + BARS), rows * height).ravel()
    short = short_names(names, most, LETTERS)
    wide = 0.9 * (inches(grid[0].figure)[0] / columns * INCH - most)
    for ax, v, places, title in zip(grid, V, shown, titles, strict=False):
        _draw(ax, [float(v[j]) for j in places], [short[j] for j in places], longest)
        ax.set_title(wrap(title, wide, 9), fontsize=9, parse_math=False)
    for ax in grid[r:]:
        ax.set_axis_off()
    return grid[:r]


def _room(shown: set[str], columns: int | None, r: int, figure: Any) -> tuple[float, int]:
    """The points that names may take, and the number of panels side by side."""
    extra("matplotlib", "plots", "A picture")
    widest = max((width_of(" ".join(name.split()), LETTERS) for name in shown), default=0.0)
    if hasattr(figure, "subplots"):
        columns = min(COLUMNS, r) if columns is None else columns
        return min(widest, SHARE * inches(figure)[0] / columns * INCH), columns
    most = min(widest, NAME * INCH)
    return most, min(COLUMNS, r, max(1, int(PAGE / (most / INCH + BARS)))) if columns is None else columns


def _draw(ax: Any, values: Sequence[float], names: Sequence[str], longest: int) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.barh(range(len(values)), values, color=[POSITIVE if value > 0 else NEGATIVE for value in values])
    ax.set_yticks(range(len(values)), names, fontsize=LETTERS, parse_math=False)
    ax.set_ylim(longest - 0.4, -0.6)  # bars of one thickness in all panels, the first on top
    ax.axvline(0.0, color=ink(ax), lw=0.8)
    ax.tick_params(axis="x", labelsize=7)
    ax.xaxis.set_major_locator(MaxNLocator(3, steps=[1, 2, 2.5, 5, 10]))
