"""Samples and features in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.plotting._canvas import axes
from orthoprox.plotting._components import checked_count, components_of, matrix, names_of
from orthoprox.plotting._style import style

ARROWS = 0.9  # the longest arrow, relative to the farthest sample


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
    has no loading on either component has no arrow.

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
    names, top = names_of(components, names, n), checked_count(top, "top")
    points, arrows = S[:, list(pair)], V[list(pair)].T
    ax = axes(ax, 5.5, 5.0)
    _scatter(ax, points, classes)
    lengths = np.linalg.norm(arrows, axis=1)
    shown = [int(j) for j in np.argsort(-lengths, kind="stable")[:top] if lengths[j] > 0]
    farthest = float(np.linalg.norm(points, axis=1).max())
    scale = ARROWS * (farthest or 1.0) / (float(lengths.max()) or 1.0)
    for i, j in enumerate(shown):
        tip = scale * arrows[j]
        ax.annotate("", tip, (0, 0), arrowprops={"arrowstyle": "->", "color": "black", "lw": 1.0})
        ax.annotate(names[j], tip, textcoords="offset points", fontsize=8, rotation_mode="anchor", **_beside(tip, i))
    ax.update_datalim(1.15 * scale * arrows[shown] if shown else [(0, 0)])
    ax.autoscale_view()
    ax.axhline(0, color="0.8", lw=0.8, zorder=0)
    ax.axvline(0, color="0.8", lw=0.8, zorder=0)
    ax.set_xlabel(f"component {pair[0] + 1}")
    ax.set_ylabel(f"component {pair[1] + 1}")
    return ax


def _beside(tip: Any, i: int) -> dict[str, Any]:
    """Where a name stands: across its arrow, on alternate sides, because sparse loadings share few directions."""
    right = i % 2 == 0
    steep = abs(tip[0]) < abs(tip[1])
    return {
        "xytext": (3 if right else -3, 0),
        "ha": "left" if right else "right",
        "va": "center",
        "rotation": 0 if steep else 60,
    }


def _scatter(ax: Any, points: Any, classes: Any) -> None:
    if classes is None:
        ax.scatter(points[:, 0], points[:, 1], s=12, color="0.55", alpha=0.7, linewidths=0)
        return
    kinds = np.asarray(classes)
    if kinds.shape != (len(points),):
        raise ValueError(f"classes must have one class for each of the {len(points)} samples; given {kinds.shape}.")
    for i, kind in enumerate(np.unique(kinds)):
        here = points[kinds == kind]
        colour, _, marker = style(i)
        ax.scatter(here[:, 0], here[:, 1], s=14, color=colour, marker=marker, alpha=0.6, label=str(kind))
    ax.legend(fontsize=8)
