"""Results -> figures like the paper's: objective against time and iterations, a panel per data set."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.experiments.gather import RunRecord
from orthoprox.experiments.spec import Experiment, Kept, in_words
from orthoprox.plotting._canvas import figure, save
from orthoprox.plotting._style import curve, style
from orthoprox.plotting._text import shorten, wrap

AXES = {"seconds": "seconds in the method", "work": "iterations"}
COLUMNS = 4


def draw(
    experiment: Experiment,
    runs: Sequence[RunRecord],
    folder: Path,
    *,
    dpi: int = 110,
    endings: Sequence[str] = ("png", "pdf"),
) -> list[Path]:
    """Every figure of an experiment: one for each weight, k and axis. Returns the files.

    The curves are those of the first seed, for which all methods have one start.
    """
    paths = []
    for weight in experiment.weights:
        for kept in experiment.kept:
            shown = [r for r in runs if (r.job.weight, r.job.kept, r.job.seed) == (weight, kept, experiment.seeds[0])]
            for axis in AXES:
                if shown:
                    name = _name(experiment, weight, kept, axis)
                    canvas = _figure(experiment, shown, axis, _title(experiment, weight, kept))
                    folder.mkdir(parents=True, exist_ok=True)
                    for ending in endings:
                        paths.append(save(canvas, folder / f"{name}.{ending}", dpi=dpi))
    return paths


def _name(experiment: Experiment, weight: float, kept: Kept, axis: str) -> str:
    several = f"-w{weight:g}" if len(experiment.weights) > 1 else ""
    return f"{experiment.name}{several}-{'l1' if kept is None else f'k{kept:g}'}-{axis}"


def _title(experiment: Experiment, weight: float, kept: Kept) -> str:
    penalty = "no k" if kept is None else f"k = {in_words(kept)}"
    return f"{experiment.title}: weight {weight:g}, r = {experiment.components}, {penalty}, seed {experiment.seeds[0]}"


def _figure(experiment: Experiment, runs: Sequence[RunRecord], axis: str, title: str) -> Any:
    columns = min(COLUMNS, len(experiment.datasets))
    lines = math.ceil(len(experiment.datasets) / columns)
    width = max(3.4 * columns, 5.0)
    canvas = figure(figsize=(width, 2.7 * lines + 1.1), layout="constrained")
    panels = canvas.subplots(lines, columns, squeeze=False).ravel()
    styles = {method.label: style(i) for i, method in enumerate(experiment.methods)}
    handles: dict[str, Any] = {}
    for dataset, panel in zip(experiment.datasets, panels, strict=False):
        here = [run for run in runs if run.job.dataset == dataset]
        for run in here:
            history = run.archive.history
            handles[run.label] = curve(panel, history[axis], history["objective"], styles[run.label])
        if all(np.all(run.archive.history["objective"] > 0) for run in here):
            panel.set_yscale("log")
        panel.set_title(shorten(Path(dataset).name, 72 * 2.8, 9), fontsize=9, parse_math=False)
        panel.grid(alpha=0.3)
        panel.tick_params(labelsize=7, which="both")
        panel.set_xlabel(AXES[axis], fontsize=8)
    for panel in panels[len(experiment.datasets) :]:
        panel.set_axis_off()
    canvas.supylabel("objective", fontsize=9)
    canvas.suptitle(wrap(title, 72 * 0.95 * width, 10), fontsize=10, parse_math=False)
    ordered = [label for label in styles if label in handles]
    canvas.legend(
        [handles[label] for label in ordered], ordered, loc="outside lower center", ncols=2 * columns, fontsize=8
    )
    return canvas
