"""The figures of the demonstration."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._extras import extra

SIDE = 8
STYLES = {"oadmm": ("#111111", "-"), "oadmm-ep": ("#1b4f72", "-."), "oadmm-rr": ("#c0392b", "--")}


def figure(*args: Any, **kwargs: Any) -> Any:
    """A figure that needs no window."""
    extra("matplotlib", "plots", "A figure")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(*args, **kwargs)
    FigureCanvasAgg(made)
    return made


def draw_loadings(path: Path, axes: Any, found: Mapping[str, Any], pixels: Any) -> Path:
    """Every method's loadings as images, one row each, principal components first."""
    rows = {"PCA": axes, **found}
    r = axes.shape[1]
    canvas = figure(figsize=(0.9 * r + 1.2, 1.15 * len(rows) + 0.5), layout="constrained")
    panels = canvas.subplots(len(rows), r, squeeze=False)
    for (name, X), line in zip(rows.items(), panels, strict=True):
        for j, panel in enumerate(line):
            image = np.zeros(SIDE * SIDE)
            image[pixels] = X[:, j]
            top = np.max(np.abs(image)) or 1.0
            panel.imshow(image.reshape(SIDE, SIDE), cmap="RdBu_r", vmin=-top, vmax=top)
            panel.set_xticks([])
            panel.set_yticks([])
            panel.set_xlabel(f"{np.count_nonzero(image)}", fontsize=8, labelpad=2)
        line[0].set_ylabel(name, fontsize=10)
    canvas.suptitle("Loadings of the digits, with their nonzeros; components by variance", fontsize=11)
    canvas.savefig(path, dpi=150)
    return path


def draw_curves(path: Path, histories: Mapping[str, Any]) -> Path:
    """Objective and criticality against iterations and time."""
    canvas = figure(figsize=(9, 6), layout="constrained")
    panels = canvas.subplots(2, 2, sharey="row")
    for name, history in histories.items():
        colour, dashes = STYLES.get(name, ("#444444", ":"))
        rows = ((history.objective, "objective"), (history.criticality, "criticality"))
        for line, (values, label) in zip(panels, rows, strict=True):
            for panel, x in zip(line, (history.iteration, history.seconds), strict=True):
                panel.plot(x[1:], values[1:], dashes, color=colour, label=name)
            line[0].set_ylabel(label)
    for panel in panels.flat:
        panel.set_yscale("log")
        panel.grid(alpha=0.3)
    for panel, label in zip(panels[1], ("iterations", "seconds in the method"), strict=True):
        panel.set_xlabel(label)
    panels[0, 0].legend()
    canvas.savefig(path, dpi=150)
    return path
