"""Results -> one HTML file that opens offline: curves to explore, a table to sort, the settings behind them."""

from __future__ import annotations

import html
import importlib.resources
import json
from collections import Counter
from typing import Any

import numpy as np

from orthoprox.experiments.claims import CLAIMS, verdicts
from orthoprox.experiments.gather import Results, RunRecord
from orthoprox.experiments.spec import in_words
from orthoprox.experiments.table import COLUMNS, row
from orthoprox.experiments.theory_claims import statements
from orthoprox.plotting._style import INK, style

POINTS = 100
"""The most points of a curve: with these a report of all figures stays below three megabytes."""
DASHES = {"-": "", "--": "7 4", "-.": "8 3 2 3", ":": "2 3"}
CURVES = ("seconds", "work", "objective", "criticality")


def report(
    results: Results, *, title: str = "orthoprox: experiments", points: int = POINTS, claims: bool = False
) -> str:
    """The whole page as text.

    Parameters
    ----------
    results : Results
    title : str
    points : int
        Points of a curve, at most.
    claims : bool
        Whether to add the verdicts on what the paper states.
    """
    page, script, style = (_part(name) for name in ("report.html", "report.js", "report.css"))
    data = json.dumps(_data(results, points, claims), separators=(",", ":"), allow_nan=False)
    filled = {
        "TITLE": html.escape(title),
        "STYLE": style,
        "SCRIPT": script,
        "DATA": data.replace("<", "\\u003c"),  # nothing in the data can end its script element
    }
    for name, text in filled.items():
        page = page.replace(f"@@{name}@@", text)
    return page


def _part(name: str) -> str:
    return (importlib.resources.files("orthoprox.experiments") / "page" / name).read_text("utf-8")


def _data(results: Results, points: int, claims: bool) -> dict[str, Any]:
    labels = list(dict.fromkeys(method.label for e in results.experiments for method in e.methods))
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
                "spoken": [in_words(kept) for kept in e.kept],
                "seed": e.seeds[0],
                "settings": e.to_mapping(),
            }
            for e in results.experiments
            if e.curves
        ],
        "curves": [_curve(run, points) for run in results.runs if _is_drawn(results, run)],
        "rows": [[_round(value, 7) for value in row(run).values()] for run in results.runs],
        # what a row is chosen by, with all digits: rounded numbers are not those of the experiment
        "keys": [[run.experiment, run.job.dataset, run.job.weight, run.job.kept] for run in results.runs],
        "verdicts": _verdicts(results) if claims else [],
        "analysis": statements(results.runs) if claims else [],
        "provenance": _provenance(results),
        "missing": len(results.missing),
    }


def _style(i: int) -> dict[str, str]:
    colour, dashes, marker = style(i)
    return {"colour": "currentColor" if colour == INK else colour, "dash": DASHES[dashes], "marker": marker}


def _verdicts(results: Results) -> list[dict[str, Any]]:
    """Every claim of the paper on its figures, with the verdicts by experiment, weight and k."""
    found = verdicts([run for run in results.runs if run.experiment.startswith("figure")])
    return [
        {
            "statement": claim.statement,
            "test": claim.test,
            "groups": [[*group, verdict.word, verdict.holds, verdict.panels] for group, verdict in groups.items()],
        }
        for claim, groups in zip(CLAIMS, found.values(), strict=True)
    ]


def _is_drawn(results: Results, run: RunRecord) -> bool:
    """The first seed of each experiment with curves, for which all methods have one start."""
    return any(e.curves and e.name == run.experiment and e.seeds[0] == run.job.seed for e in results.experiments)


def _curve(run: RunRecord, points: int) -> dict[str, Any]:
    history = run.archive.history
    kept = thin(len(history["objective"]), points)
    return {
        "e": run.experiment,
        "d": run.job.dataset,
        "w": run.job.weight,
        "k": run.job.kept,
        "m": run.label,
        **{name: [_round(value, 5) for value in history[name][kept].tolist()] for name in CURVES},
    }


def thin(count: int, most: int) -> Any:
    """The records to keep: evenly spread, with the first and the last.

    Examples
    --------
    >>> thin(5, 10).tolist(), thin(100, 4).tolist()
    ([0, 1, 2, 3, 4], [0, 33, 66, 99])
    """
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int))


def _round(value: Any, digits: int) -> Any:
    """A number with few digits; JSON has no infinities and no NaN."""
    if not isinstance(value, float):
        return value
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def _provenance(results: Results) -> dict[str, Any]:
    """The versions, machines and code behind the results, each with its number of runs."""
    counts: dict[str, Counter[str]] = {"versions": Counter(), "machine": Counter(), "code": Counter()}
    for run in results.runs:
        for name, counter in counts.items():
            counter[json.dumps(run.facts[name])] += 1
    return {name: [[json.loads(what), n] for what, n in counter.items()] for name, counter in counts.items()}
