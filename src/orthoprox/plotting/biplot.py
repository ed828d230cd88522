"""Samples and features in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.plotting._canvas import axes
from orthoprox.plotting._components import checked_count, components_of, matrix, names_of, shares_of
from orthoprox.plotting._style import FAINT, colour_on, ink, paper, style
from orthoprox.plotting._text import legend

ARROWS = 0.9  # the longest arrow, relative to the farthest sample
LETTERS = {"fontsize": 8, "ha": "left", "va": "bottom"}


def biplot(
    components: Any,
    scores: Any,
    names: Sequence[str] | None = None,
    *,
    pair: tuple[int, int] = (0, 1),
    classes: Any = None,
    top: int = 10,
    ax: Any = None,
) -> Any:
    """Samples as points at their scores, features as arrows along their loadings, for two components.

    Arrows have a scale of their own: the longest is nearly as long as the farthest sample is away. A feature that
    has no loading on either component has no arrow. Names move apart when the figure is drawn; long ones are shortened,
    and one for which there is no room is left out.

    Parameters
    ----------
    components : estimator or array
        A fitted estimator, or components as rows.
    scores : array
        What ``transform`` gives: samples in rows, a column for each component.
    names : sequence of str, optional
        Of the features; those of the data frame the estimator was fitted on, by default.
    pair : tuple of two ints
        Two components, counted from 0.
    classes : array, optional
        A class for each sample, shown by colour and marker.
    top : int
        The largest number of arrows.
    ax : Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    Axes

    References
    ----------
    K. R. Gabriel, "The biplot graphic display of matrices with application to principal component analysis",
    Biometrika 58, 1971.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from orthoprox.plotting import biplot
    >>> ax = biplot(np.eye(2, 3), np.eye(2), ["a", "b", "c"], ax=Figure().gca())
    >>> [text.get_text() for text in ax.texts if text.get_text()]
    ['a', 'b']
    """
    V = components_of(components)
    r, n = V.shape
    S = matrix(scores, "scores", "a row for each sample, a column for each component")
    if S.shape[1] != r:
        raise ValueError(f"scores must have a column for each of the {r} components; given shape {S.shape}.")
    if len(pair) != 2 or not all(0 <= i < r for i in pair) or pair[0] == pair[1]:
        raise ValueError(f"pair must be two different components from 0 to {r - 1}; given {pair!r}.")
    names, top, shares = names_of(components, names, n), checked_count(top, "top"), shares_of(components, r)
    points, arrows = S[:, list(pair)], V[list(pair)].T
    ax = axes(ax, 5.5, 5.0)
    _scatter(ax, points, classes)
    lengths = np.hypot(*arrows.T)
    shown = [int(j) for j in np.argsort(-lengths, kind="stable")[:top] if lengths[j] > 0]
    farthest = float(np.hypot(*points.T).max())  # without squares, which may be beyond the range
    scale = ARROWS * (farthest or 1.0) / (float(lengths.max()) or 1.0)
    ax.update_datalim(1.15 * scale * arrows[shown] if shown else [(0, 0)])
    ax.autoscale_view()
    _arrows(ax, scale * arrows[shown], [names[j] for j in shown])
    for line in (ax.axhline, ax.axvline):
        line(0, color=FAINT, alpha=0.5, lw=0.8, zorder=0)
    for i, label in zip(pair, (ax.set_xlabel, ax.set_ylabel), strict=True):
        label(f"component {i + 1}" + (f" ({shares[i]})" if shares[i] else ""))
    return ax


def _arrows(ax: Any, tips: Any, names: Sequence[str]) -> None:
    """Arrows from the origin, and names with a margin in the colour of the paper, which points do not shine through."""
    from matplotlib.patheffects import withStroke

    from orthoprox.plotting._drawing import NamesOfArrows

    for tip in tips:
        ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": ink(ax), "lw": 1.0})
    margin = [withStroke(linewidth=2.5, foreground=paper(ax))]
    leader = {"arrowstyle": "-", "color": FAINT, "lw": 0.6, "shrinkA": 0, "shrinkB": 0}
    texts = [
        ax.annotate(name, tip, (0, 0), textcoords="offset points", arrowprops=leader, parse_math=False, **LETTERS)
        for name, tip in zip(names, tips, strict=True)
    ]
    for text in texts:
        text.set(path_effects=margin, color=ink(ax), in_layout=False)
    NamesOfArrows(ax, texts)


def _scatter(ax: Any, points: Any, classes: Any) -> None:
    if classes is None:
        ax.scatter(points[:, 0], points[:, 1], s=12, color=FAINT, alpha=0.7, linewidths=0)
        return
    kinds = np.asarray(classes)
    if kinds.shape != (len(points),):
        raise ValueError(f"classes must have one class for each of the {len(points)} samples; given {kinds.shape}.")
    for i, kind in enumerate(np.unique(kinds)):
        here = points[kinds == kind]
        colour, _, marker = style(i)
        name = str(kind).replace("_", "\u2009_", 1) if str(kind).startswith("_") else str(kind)  # which no legend shows
        options = {"color": colour_on(ax, colour), "marker": marker, "alpha": 0.6, "label": name}
        ax.scatter(here[:, 0], here[:, 1], s=14, **options)
    legend(ax)
