"""The figure of one run: its convergence and its solution."""

from __future__ import annotations

import io
from typing import Any

from orthoprox import Result
from orthoprox.plotting import convergence
from orthoprox.plotting._canvas import figure
from orthoprox.plotting._style import signed_image


def draw_run(result: Result[Any], model: str) -> bytes:
    """Draw objective and criticality along the run, and the entries of the solution."""
    canvas = figure(figsize=(9, 6), layout="constrained")
    left, right = canvas.subfigures(1, 2, width_ratios=(3, 2))
    convergence(result, against=["iteration"], figure=left)
    X = result.y if result.y.shape == result.X.shape else result.X
    panel = right.subplots()
    image = signed_image(panel, X, aspect="auto", interpolation="nearest")
    panel.set_xlabel("component")
    panel.set_ylabel("feature")
    right.colorbar(image, ax=panel)
    canvas.suptitle(f"{model}, {result.solver.name}: {result.iterations} iterations", fontsize=11)
    picture = io.BytesIO()
    canvas.savefig(picture, format="png", dpi=150)
    return picture.getvalue()
