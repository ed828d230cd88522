"""The figure of one run: its convergence and its solution."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from orthoprox import Result
from orthoprox.plotting import convergence
from orthoprox.plotting._canvas import figure
from orthoprox.plotting._style import signed_image
from orthoprox.plotting._text import short_names

MOST_NAMES = 40
"""Features beyond which there is no room for their names."""
MOST_COMPONENTS = 20


def draw_run(result: Result[Any], model: str, features: Sequence[Any]) -> bytes:
    """The figure of a run as a PNG file."""
    picture = io.BytesIO()
    figure_of(result, model, features).savefig(picture, format="png", dpi=150)
    return picture.getvalue()


def figure_of(result: Result[Any], model: str, features: Sequence[Any]) -> Any:
    """Objective and criticality along the run, and the entries of the solution beside the names of features."""
    canvas = figure(figsize=(9, 6), layout="constrained")
    left, right = canvas.subfigures(1, 2, width_ratios=(3, 2))
    convergence(result, against=["iteration"], figure=left)
    X = result.y if result.y.shape == result.X.shape else result.X
    panel = right.subplots()
    image = signed_image(panel, X, aspect="auto", interpolation="nearest")
    _name(panel, X.shape, [str(name) for name in features])
    right.colorbar(image, ax=panel)
    canvas.suptitle(f"{model}, {result.solver.name}: {result.iterations} iterations", fontsize=11)
    return canvas


def _name(panel: Any, shape: tuple[int, int], features: Sequence[str]) -> None:
    n, r = shape
    panel.set_xlabel("component")
    panel.set_ylabel("" if n <= MOST_NAMES else "feature")
    if n <= MOST_NAMES:
        panel.set_yticks(range(n), short_names(features, 110, 7), fontsize=7, parse_math=False)
    if r <= MOST_COMPONENTS:
        panel.set_xticks(range(r), [str(j + 1) for j in range(r)], fontsize=7)
