"""Loadings of named features, as bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from orthoprox.plotting._canvas import panels
from orthoprox.plotting._components import checked_count, components_of, names_of, strongest, titles_of
from orthoprox.plotting._style import NEGATIVE, POSITIVE


def loadings_bars(
    components: Any,
    names: Sequence[str] | None = None,
    *,
    top: int = 10,
    titles: Sequence[str] | None = None,
    columns: int = 4,
    figure: Any = None,
) -> Any:
    """The largest loadings of each component as horizontal bars, the largest on top; zeros are left out.

    Parameters
    ----------
    components : estimator or array
        A fitted estimator, or components as rows.
    names : sequence of str, optional
        Of the features; those of the data frame the estimator was fitted on, by default.
    top : int
        The largest number of bars of a component.
    titles : sequence of str, optional
        One for each component.
    columns : int
        Number of panels side by side.
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
    columns = min(checked_count(columns, "columns"), r)
    titles = titles_of(titles, [f"component {i + 1}" for i in range(r)])
    rows, shown = math.ceil(r / columns), [strongest(v, top) for v in V]
    longest = max(1, *map(len, shown))
    grid = panels(figure, rows, columns, 3.0 * columns, rows * (0.22 * longest + 0.8)).ravel()
    for ax, v, places, title in zip(grid, V, shown, titles, strict=False):
        values = [float(v[j]) for j in places]
        ax.barh(range(len(places)), values, color=[POSITIVE if value > 0 else NEGATIVE for value in values])
        ax.set_yticks(range(len(places)), [names[j] for j in places], fontsize=8)
        ax.set_ylim(longest - 0.4, -0.6)  # bars of one thickness in all panels, the first on top
        ax.axvline(0.0, color="black", lw=0.8)
        ax.tick_params(axis="x", labelsize=7)
        ax.set_title(title, fontsize=9)
    for ax in grid[r:]:
        ax.set_axis_off()
    return grid[:r]
