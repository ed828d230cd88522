"""Convergence of runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from orthoprox.driver import History, Result
from orthoprox.plotting._canvas import inches, panels
from orthoprox.plotting._style import curve, ink, style
from orthoprox.plotting._text import legend, wrap

AXES = {"iteration": "iterations", "seconds": "seconds in the method"}
DECADE = 10.0
MEASURES = {"objective": "objective", "criticality": "criticality"}


def convergence(
    results: Any,
    *,
    against: Sequence[str] = ("iteration", "seconds"),
    labels: Sequence[str] | None = None,
    figure: Any = None,
) -> Any:
    """Objective and criticality along one run or several.

    A measure that is positive throughout and falls by more than a factor of ten has a logarithmic axis. The start is
    left out where two records follow: a random point says nothing about a method, and its criticality would set the
    scale.
    Of runs that have one record each there is no curve; a sentence says so in place of the panels.

    Parameters
    ----------
    results : Result, History, fitted estimator, or a sequence or mapping of such
        The runs; the keys of a mapping are their labels.
    against : sequence of str
        "iteration", "seconds" or both: one column of panels each.
    labels : sequence of str, optional
        One for each run; the names of the estimators or methods by default.
    figure : Figure or SubFigure, optional
        Where to draw; a new figure by default.

    Returns
    -------
    array of Axes
        Two rows, objective and criticality; a column for each entry of ``against``. Empty where nothing is drawn but
        a sentence.

    Examples
    --------
    >>> import numpy as np
    >>> from matplotlib.figure import Figure
    >>> from orthoprox import solve
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.plotting import convergence
    >>> D = np.random.default_rng(1).standard_normal((50, 10))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1))
    >>> convergence(result, figure=Figure()).shape
    (2, 2)
    """
    runs = _runs(results, labels)
    unknown = [axis for axis in against if axis not in AXES]
    if isinstance(against, str) or unknown or not against:
        raise ValueError(f"against must be a sequence of {' and '.join(map(repr, AXES))}; given {against!r}.")
    if all(len(history["iteration"]) == 1 for _, history in runs):
        return _sentence(runs, figure)
    grid = panels(figure, len(MEASURES), len(against), 4.5 * len(against), 6.0)
    for line, measure in zip(grid, MEASURES, strict=True):
        shown = [history[measure][_first(history) :] for _, history in runs]
        for ax, axis in zip(line, against, strict=True):
            for i, ((label, history), values) in enumerate(zip(runs, shown, strict=True)):
                curve(ax, history[axis][_first(history) :], values, style(i), label)
            if _spans_decades(shown):
                ax.set_yscale("log")
            ax.ticklabel_format(axis="x", scilimits=(-3, 5))
            ax.locator_params(axis="x", nbins=6, integer=axis == "iteration")
            ax.grid(alpha=0.3)
        line[0].set_ylabel(MEASURES[measure])
    for ax, axis in zip(grid[-1], against, strict=True):
        ax.set_xlabel(AXES[axis])
    if len(runs) > 1 or runs[0][0]:
        legend(grid[0, 0])
    return grid


def _spans_decades(shown: Sequence[Any]) -> bool:
    """Whether all values are positive and some are more than ten times as large as others."""
    values = np.concatenate(shown)
    values = values[np.isfinite(values)]
    return bool(len(values) and np.all(values > 0) and values.max() > DECADE * values.min())


def _sentence(runs: Sequence[tuple[str, History]], figure: Any) -> Any:
    """What there is to say of runs without curves, on axes that are not shown."""
    ax = panels(figure, 1, 1, 6.0, 0.6 + 0.25 * len(runs))[0, 0]
    ax.set_axis_off()
    lines = [
        f"{label or 'The run'} has {'taken no steps' if history['iteration'][0] == 0 else 'one record only'}, "
        f"so there is no curve to draw; its objective is {history['objective'][0]:.6g}."
        for label, history in runs
    ]
    most = 0.95 * 72 * inches(ax.figure)[0]
    text = "\n".join(wrap(line, most, 9) for line in lines)
    options = {"ha": "center", "va": "center", "fontsize": 9, "parse_math": False, "color": ink(ax)}
    ax.text(0.5, 0.5, text, transform=ax.transAxes, **options)
    return np.empty((0, 0), dtype=object)


def _first(history: History) -> int:
    """The first record that is shown: the start only where one alone would be left without it."""
    return 1 if len(history["iteration"]) > 2 else 0


def _runs(results: Any, labels: Sequence[str] | None) -> list[tuple[str, History]]:
    """The histories with their labels."""
    if isinstance(results, Mapping) and not isinstance(results, History):
        given, names = list(results.values()), list(map(str, results))
    else:
        given = list(results) if isinstance(results, (list, tuple)) else [results]
        names = [_name(one) for one in given]
    if labels is not None:
        names = list(labels)
    if not given or len(names) != len(given):
        raise ValueError(
            f"There must be at least one run, and a label for each; given {len(given)} runs and {len(names)} labels."
        )
    return [(label, _history(one)) for label, one in zip(names, given, strict=True)]


def _name(given: Any) -> str:
    """What a run is called: the estimator that made it, else its method."""
    if hasattr(given, "result_"):
        return type(given).__name__
    return given.solver.name if isinstance(given, Result) else ""


def _result(given: Any) -> Any:
    """The result of a fitted estimator; anything else as it is."""
    return getattr(given, "result_", given)


def _history(given: Any) -> History:
    run = _result(given)
    history = run.history if isinstance(run, Result) else run
    wanted = {*AXES, *MEASURES}
    if not isinstance(history, History) or not wanted <= set(history) or len(history["iteration"]) == 0:
        raise TypeError(
            f"A run is a Result, its History with {', '.join(sorted(wanted))}, or a fitted estimator of this library; "
            f"given {history if isinstance(history, History) else type(given).__name__}."
        )
    return history
