"""Lists of estimators, solvers, models, datasets and terms."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import click

from orthoprox import SOLVERS, terms
from orthoprox.cli.fit.kinds import KINDS as ESTIMATORS
from orthoprox.cli.models import MODELS
from orthoprox.datasets import DATASETS

Rows = list[dict[str, Any]]
SIGNS = {r"\|": "|", r"\langle ": "<", r" \rangle": ">", r"\ge": ">=", r"\,": " "}
"""Signs of LaTeX that are not words."""
KINDS = {"smooth": "smooth", "concave": "convex, to subtract", "prox": "with a proximal map"}


def estimator_rows() -> Rows:
    """Name in the command, name in Python, what it finds."""
    return [
        {"estimator": name, "in Python": kind.name, "what it finds": kind.summary} for name, kind in ESTIMATORS.items()
    ]


def solver_rows() -> Rows:
    """Name, what it does, what it takes, its complexity."""
    return [
        {
            "solver": name,
            "what it does": solver.summary,
            "takes (* without theory)": str(solver.scope),
            "complexity": solver.complexity,
        }
        for name, solver in SOLVERS.items()
    ]


def model_rows() -> Rows:
    """Name, what it is, what it takes as DATA."""
    return [{"model": name, "what it is": model.summary, "DATA": model.data} for name, model in MODELS.items()]


def dataset_rows() -> Rows:
    """Name, size, what it is."""
    return [{"dataset": name, "size": one.size, "what it is": one.summary} for name, one in DATASETS.items()]


def term_rows() -> Rows:
    """Name, kind, the first line of its description."""
    rows = []
    for name in terms.__all__:
        thing = getattr(terms, name)
        folder = thing.__module__.split(".")[-2]
        if inspect.isclass(thing) and folder in KINDS:
            line = (inspect.getdoc(thing) or "").partition("\n")[0]
            formulas = re.sub(r":math:`([^`]*)`", lambda found: plain(found[1]), line)
            rows.append({"term": name, "kind": KINDS[folder], "what it is": formulas.replace("`", "")})
    return rows


def plain(formula: str) -> str:
    r"""A formula as it is typed: ``\tfrac{w}{2}\|X\|_F^2`` becomes ``w/2 |X|_F^2``."""
    text = re.sub(r"\\tfrac\{(\w+)\}\{(\w+)\}\s*", r"\1/\2 ", formula)
    for written, typed in SIGNS.items():
        text = text.replace(written, typed)
    text = re.sub(r"(?<=\w)\\(?=[a-z])", r" \\", text)  # a word keeps away from what is beside it
    text = re.sub(r"\\([a-z]+)(?=[\d|\\])", r"\1 ", text)
    return re.sub(r"[\\{}]", "", text).strip()


LISTS: dict[str, Callable[[], Rows]] = {
    "estimators": estimator_rows,
    "solvers": solver_rows,
    "models": model_rows,
    "datasets": dataset_rows,
    "terms": term_rows,
}


@click.command(
    name="list",
    short_help="List estimators, solvers, models, datasets or terms.",
    epilog="Example: orthoprox list solvers",
)
@click.argument("what", type=click.Choice(list(LISTS)))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_command(what: str, as_json: bool) -> None:
    """List estimators, solvers with their scope and complexity, models, datasets, or terms."""
    rows = LISTS[what]()
    click.echo(json.dumps(rows, indent=2) if as_json else table(rows))


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Rows below their titles, in columns."""
    lines = [tuple(rows[0]), *(tuple(map(str, row.values())) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)).rstrip() for line in lines)
