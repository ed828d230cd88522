"""The figure of one run: how it went, and what it found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from orthoprox import Result
from orthoprox.cli.figures import figure


def draw_run(path: Path, result: Result[Any], model: str) -> None:
    """Objective and criticality along the run, and the entries of the solution."""
    canvas = figure(figsize=(11, 3.6), layout="constrained")
    left, middle, right = canvas.subplots(1, 3)
    history = result.history
    for panel, values, label in (
        (left, history.objective, "objective"),
        (middle, history.criticality, "criticality"),
    ):
        panel.plot(history.iteration, values, color="#1b4f72")
        panel.set_xlabel("iterations")
        panel.set_ylabel(label)
        panel.grid(alpha=0.3)
    if np.any(history.criticality > 0):
        middle.set_yscale("log")
    X = result.y if result.y.shape == result.X.shape else result.X
    top = float(np.max(np.abs(X))) or 1.0
    image = right.imshow(X, cmap="RdBu_r", vmin=-top, vmax=top, aspect="auto", interpolation="nearest")
    right.set_xlabel("component")
    right.set_ylabel("feature")
    canvas.colorbar(image, ax=right)
    canvas.suptitle(f"{model}, {result.solver.name}: {result.iterations} iterations", fontsize=11)
    canvas.savefig(path, dpi=150)
