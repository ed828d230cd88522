"""Figures and axes: the user's, else new ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from orthoprox._extras import extra
from orthoprox._files import replacing


def figure(*args: Any, **kwargs: Any) -> Any:
    """A new figure for files, without a window and unknown to pyplot."""
    extra("matplotlib", "plots", "A figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    new = Figure(*args, **kwargs)
    FigureCanvasAgg(new)
    return new


def save(canvas: Any, path: Path, *, dpi: int = 150) -> Path:
    """Write a figure in one move; the ending of the name says in which format."""
    kind = path.suffix[1:]
    with replacing(path) as file:
        # without a date the file is the same every time
        canvas.savefig(file, format=kind, dpi=dpi, metadata={"CreationDate": None} if kind == "pdf" else None)
    return path


def inches(figure: Any) -> tuple[float, float]:
    """Width and height of a figure or a part of one."""
    return figure.bbox.width / figure.dpi, figure.bbox.height / figure.dpi


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
    if not figure.axes and hasattr(figure, "set_layout_engine") and figure.get_layout_engine() is None:
        figure.set_layout_engine("constrained")  # names need room beside the axes
    return figure.subplots(rows, columns, squeeze=False)
