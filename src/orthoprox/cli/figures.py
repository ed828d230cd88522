"""The figures of the demonstration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from orthoprox.plotting import convergence, loadings_images
from orthoprox.plotting._canvas import figure, save

SIDE = 8


def draw_loadings(path: Path, axes: Any, loadings: Mapping[str, Any], pixels: Any) -> Path:
    """Every method's loadings as images, one row each, principal components first."""
    rows = {"PCA": axes, **loadings}
    r = axes.shape[1]
    canvas = figure(figsize=(0.9 * r + 0.5, 1.25 * len(rows) + 0.5), layout="constrained")
    titles = ["" for _ in range(r)]
    for (name, X), part in zip(rows.items(), canvas.subfigures(len(rows), 1, squeeze=False)[:, 0], strict=True):
        panels = loadings_images(X.T, (SIDE, SIDE), pixels=pixels, titles=titles, columns=r, figure=part)
        for panel, count in zip(panels, (X != 0).sum(axis=0), strict=True):
            panel.set_xlabel(f"{count}", fontsize=8, labelpad=2)
        panels[0].set_ylabel(name, fontsize=10)
    canvas.suptitle("Loadings of the digits, with their nonzeros; components by variance", fontsize=11)
    return save(canvas, path)


def draw_curves(path: Path, histories: Mapping[str, Any]) -> Path:
    """Objective and criticality against iterations and time."""
    canvas = figure(figsize=(9, 6), layout="constrained")
    convergence(histories, figure=canvas)
    return save(canvas, path)
