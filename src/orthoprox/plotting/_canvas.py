"""Figures and axes: the user's, else new ones."""

from __future__ import annotations

from typing import Any

from orthoprox._extras import extra


def figure(*args: Any, **kwargs: Any) -> Any:
    """A new figure for files, without a window and unknown to pyplot."""
    extra("matplotlib", "plots", "A figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    new = Figure(*args, **kwargs)
    FigureCanvasAgg(new)
    return new


def axes(ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new pyplot figure, which notebooks show."""
    if ax is None:
        return panels(None, 1, 1, width, height)[0, 0]
    if not hasattr(ax, "plot"):
        raise TypeError(f"ax must be the axes of a matplotlib figure, as in figure.gca(); given {type(ax).__name__}.")
    return ax


def panels(figure: Any, rows: int, columns: int, width: float, height: float) -> Any:
    """An array of axes, rows by columns, on the given figure or on a new one."""
    if figure is None:
        pyplot = extra("matplotlib.pyplot", "plots", "A picture")
        figure = pyplot.figure(figsize=(width, height), layout="constrained")
    if not hasattr(figure, "subplots"):
        raise TypeError(f"figure must be a matplotlib Figure or SubFigure; given {type(figure).__name__}.")
    return figure.subplots(rows, columns, squeeze=False)
