"""The outcome of a run: a summary, files, and a description."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import functools
import io
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from array_api_compat import device

import orthoprox
from orthoprox import Result
from orthoprox._fields import replace
from orthoprox._files import replacing
from orthoprox.backends import backend_of
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
        "entries": math.prod(result.X.shape),
        "nonzeros": nonzeros(_partner(result)),
        **{name: measure(result.X) for name, measure in problem.measures.items()},
        "iterations": result.iterations,
        "seconds": result.seconds,
        "arrays": f"{backend_of(result.X).name} on {device(result.X)}",
        "notes": [*problem.notes, *result.notes],
    }


def write_files(out: Path, result: Result[Any], problem: NamedProblem, summary: dict[str, Any]) -> list[Path]:
    """Write everything and return the files; where one cannot be written, all of an earlier run stay as they were."""
    parts: dict[str, Callable[[IO[bytes]], object]] = {}
    result = replace(result, **{name: _to_numpy(getattr(result, name)) for name in ("X", "y", "z")})
    for name, X in (("loadings", result.X), ("loadings_sparse", _partner(result))):
        parts[f"{name}.npy"] = functools.partial(_array, X=X)
        parts[f"{name}.csv"] = functools.partial(_table, X=X, rows=problem.rows)
    try:
        parts["run.png"] = functools.partial(_bytes, content=draw_run(result, summary["model"], problem.rows))
    except (
        Exception
    ) as error:  # without its library or with numbers it cannot draw: the numbers are written all the same
        summary["notes"].append(f"No figure was drawn. {error}")
    summary["files"] = [*parts, "summary.json"]
    parts["summary.json"] = functools.partial(_json, value=summary)
    with contextlib.ExitStack() as stack:
        for name, write in parts.items():
            file = stack.enter_context(replacing(out / name))
            write(file)
            file.flush()
    return [out / name for name in parts]


def _to_numpy(a: Any) -> Any:
    return None if a is None else backend_of(a).to_numpy(a)


def _bytes(file: IO[bytes], content: bytes) -> None:
    file.write(content)


def _array(file: IO[bytes], X: Any) -> None:
    np.save(file, X, allow_pickle=False)


def _json(file: IO[bytes], value: Any) -> None:
    file.write(json.dumps(to_json(value), indent=2).encode() + b"\n")


def _partner(result: Result[Any]) -> Any:
    """The matrix with exact zeros: y where h acts on X itself, X where h acts on a product with the data."""
    return result.y if result.y.shape == result.X.shape else result.X


def _table(file: IO[bytes], X: Any, rows: Sequence[Any]) -> None:
    """One line for each feature, numbers with all their digits."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    table = csv.writer(text)
    table.writerow(["feature", *(f"component_{j + 1}" for j in range(X.shape[1]))])
    table.writerows([row, *line.tolist()] for row, line in zip(rows, X, strict=True))
    text.detach()  # writes the rest, and leaves the file open


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
