"""Results -> one HTML file that opens offline: curves to explore, a table to sort, the settings behind them."""

from __future__ import annotations

import html
import importlib.resources
import json
from collections import Counter
from typing import Any

import numpy as np

from orthoprox.experiments.gather import Gathered, Run
from orthoprox.experiments.table import COLUMNS, row
from orthoprox.plotting._style import style

POINTS = 100
"""At most so many of each curve: a report of all figures stays below three megabytes."""
DASHES = {"-": "", "--": "7 4", "-.": "8 3 2 3", ":": "2 3"}
CURVES = ("seconds", "steps", "objective", "criticality")


def report(gathered: Gathered, *, title: str = "orthoprox: experiments", points: int = POINTS) -> str:
    """The whole page as text.

    Parameters
    ----------
    gathered : Gathered
    title : str
    points : int
        Points of a curve, at most.
    """
    page, script, style = (_part(name) for name in ("report.html", "report.js", "report.css"))
    data = json.dumps(_data(gathered, points), separators=(",", ":"), allow_nan=False)
    filled = {
        "TITLE": html.escape(title),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": data.replace("<", "\\u003c"),  # nothing in the data can end the element it stands in
    }
    for name, text in filled.items():
        page = page.replace(f"@@{name}@@", text)
    return page


def _part(name: str) -> str:
    return (importlib.resources.files("orthoprox.experiments") / "page" / name).read_text("utf-8")


def _data(gathered: Gathered, points: int) -> dict[str, Any]:
    labels = list(dict.fromkeys(method.label for e in gathered.experiments for method in e.methods))
    return {
        "columns": COLUMNS,
        "styles": {label: _style(i) for i, label in enumerate(labels)},
        "experiments": [
            {
                "name": e.name,
                "title": e.title,
                "datasets": e.datasets,
                "weights": e.weights,
                "kept": e.kept,
                "seed": e.seeds[0],
                "settings": e.described(),
            }
            for e in gathered.experiments
        ],
        "curves": [_curve(run, points) for run in gathered.runs if _drawn(gathered, run)],
        "rows": [[_rounded(value, 7) for value in row(run).values()] for run in gathered.runs],
        "made": _made(gathered),
        "missing": len(gathered.missing),
    }


def _style(i: int) -> dict[str, str]:
    colour, dashes, marker = style(i)
    return {"colour": colour, "dash": DASHES[dashes], "marker": marker}


def _drawn(gathered: Gathered, run: Run) -> bool:
    """The first seed of each experiment, for which all methods have one start."""
    return any(e.name == run.experiment and e.seeds[0] == run.job.seed for e in gathered.experiments)


def _curve(run: Run, points: int) -> dict[str, Any]:
    history = run.stored.history
    kept = thinned(len(history["objective"]), points)
    return {
        "e": run.experiment,
        "d": run.job.dataset,
        "w": run.job.weight,
        "k": run.job.kept,
        "m": run.label,
        **{name: [_rounded(value, 5) for value in history[name][kept].tolist()] for name in CURVES},
    }


def thinned(count: int, most: int) -> Any:
    """Which of so many records to keep: evenly spread, the first and the last among them.

    Examples
    --------
    >>> thinned(5, 10).tolist(), thinned(100, 4).tolist()
    ([0, 1, 2, 3, 4], [0, 33, 66, 99])
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _rounded(value: Any, digits: int) -> Any:
    """A number with few digits; JSON has no infinities and no NaN."""
    if not isinstance(value, float):
        return value
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _made(gathered: Gathered) -> dict[str, Any]:
    """What computed the results; several entries where it was not the same throughout."""
    counts: dict[str, Counter[str]] = {"versions": Counter(), "machine": Counter(), "code": Counter()}
    for run in gathered.runs:
        for name, counter in counts.items():
            counter[json.dumps(run.facts[name])] += 1
    return {name: [[json.loads(what), n] for what, n in counter.items()] for name, counter in counts.items()}
