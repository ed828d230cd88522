"""The outcome of a run: a summary, files, and a description."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

import orthoprox
from orthoprox import Result
from orthoprox.cli.models import NamedProblem
from orthoprox.cli.run_figure import draw_run
from orthoprox.problem import nonzeros


def summary_of(result: Result[Any], problem: NamedProblem) -> dict[str, Any]:
    """The numbers of a run."""
    solver: Any = result.solver
    return {
        "orthoprox": orthoprox.__version__,
        "solver": solver.name,
        "settings": {field.name: getattr(solver, field.name) for field in dataclasses.fields(solver)},
        "status": result.status.name.lower(),
        "message": result.message,
        "objective": result.objective,
        "criticality": result.criticality,
        **result.criticality_parts._asdict(),
        "infeasibility": result.infeasibility,
        "entries": int(result.X.size),
        "nonzeros": nonzeros(_partner(result)),
        **{name: measure(result.X) for name, measure in problem.measures.items()},
        "iterations": result.iterations,
        "seconds": result.seconds,
        "notes": list(result.notes),
    }


def write_files(out: Path, result: Result[Any], problem: NamedProblem, summary: dict[str, Any]) -> list[Path]:
    """Write everything, the summary last, and return the files."""
    names = []
    for name, X in (("loadings", result.X), ("loadings_sparse", _partner(result))):
        np.save(out / f"{name}.npy", X)
        _table(out / f"{name}.csv", X, problem.rows)
        names += [f"{name}.npy", f"{name}.csv"]
    try:
        draw_run(out / "run.png", result, summary["model"])
        names.append("run.png")
    except ModuleNotFoundError as error:  # the numbers are written without the figure
        summary["notes"].append(f"No figure was drawn. {error}")
    names.append("summary.json")
    summary["files"] = names
    (out / "summary.json").write_text(json.dumps(to_json(summary), indent=2) + "\n", encoding="utf-8")
    return [out / name for name in names]


def _partner(result: Result[Any]) -> Any:
    """The matrix with exact zeros: y where h acts on X itself, X where h acts on a product with the data."""
    return result.y if result.y.shape == result.X.shape else result.X


def _table(path: Path, X: Any, rows: list[str]) -> None:
    """One line for each feature, numbers with all their digits."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["feature", *(f"component_{j + 1}" for j in range(X.shape[1]))])
        table.writerows([row, *line] for row, line in zip(rows, X.tolist(), strict=True))


def to_json(value: Any) -> Any:
    """Convert to the types of JSON; numbers that are not finite become null."""
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, (str, int)) else str(value)


def describe(result: Result[Any], summary: dict[str, Any], files: list[Path]) -> str:
    """The summary as text."""
    lines = [repr(result), f"  nonzeros       {summary['nonzeros']} of {summary['entries']}"]
    if "variance_explained" in summary:
        lines.append(f"  variance       {100 * summary['variance_explained']:.1f} % of the total")
    return "\n".join([*lines, *(f"wrote {file}" for file in files)])
