"""Solve a model on a dataset or on a file of the user's."""

from __future__ import annotations

import ast
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from orthoprox import Critical, Iterations, Progress, Recorder, Rule, Seconds, Status, named, solve
from orthoprox.cli.errors import EXIT_CODES, FAILED, report_errors
from orthoprox.cli.models import MODELS, SolveRequest
from orthoprox.cli.outcome import describe, summary_of, to_json, write_files
from orthoprox.cli.source import PREPARE
from orthoprox.driver.solve import DEFAULT_SOLVER

BAD = (Status.NOT_FINITE, Status.FAILED, Status.INTERRUPTED)
ITERATIONS = 1000


@click.command(
    name="solve",
    short_help="Solve a model on a dataset or on your own file.",
    epilog="\b\nExamples:\n"
    "  orthoprox solve sparse-pca digits --components 6\n"
    "  orthoprox solve sparse-pca mnist-1500-500 --data-dir DIR --components 20 --weight 10 --nonzeros 1000\n"
    "  orthoprox solve sparse-pca my.csv --solver oadmm-rr --set length=bb-long --seconds 10 --json\n"
    "  orthoprox solve compressed-modes 128 --components 5\n\n" + EXIT_CODES,
)
@click.argument("model", type=click.Choice(list(MODELS)))
@click.argument("data")
@click.option("--components", "-r", default=5, show_default=True, help="Columns of X.")
@click.option("--weight", "-w", type=float, help="Factor of the penalty.  [default: a tenth of the largest variance]")
@click.option("--nonzeros", "-k", type=int, help="Unpenalised entries of X (sparse-pca).  [default: none]")
@click.option(
    "--prepare",
    type=click.Choice(PREPARE),
    help="paper: unit columns, then centre.  [default: centre, or the dataset's own preparation]",
)
@click.option("--solver", "-s", default=DEFAULT_SOLVER, show_default=True, help="See orthoprox list solvers.")
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the solver; may be repeated."
)
@click.option(
    "--iterations",
    type=click.IntRange(min=1),
    help=f"The largest number of iterations.  [default: {ITERATIONS}, or no limit with --seconds]",
)
@click.option("--seconds", type=click.FloatRange(min=0), help="At most so long in the method.")
@click.option("--tol", default=1e-6, show_default=True, help="Stop when the criticality is at most this; 0: never.")
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="For the start, and for the choice from a dataset.",
)
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Folder of the datasets' files.  [default: ORTHOPROX_DATA]"
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("out"),
    show_default=True,
    help="Folder for the results.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def solve_command(
    model: str,
    data: str,
    components: int,
    weight: float | None,
    nonzeros: int | None,
    prepare: str | None,
    solver: str,
    settings: tuple[str, ...],
    iterations: int | None,
    seconds: float | None,
    tol: float,
    seed: int,
    data_dir: Path | None,
    out: Path,
    as_json: bool,
    quiet: bool,
) -> None:
    """Solve MODEL on DATA: the name of a dataset, or your own .npy, .npz, .csv, .mtx or .svmlight file.

    Samples are rows. Writes into OUT the loadings (loadings.npy and .csv, orthonormal columns; loadings_sparse.npy
    and .csv, their partner with exact zeros), summary.json and run.png. Sparse files stay sparse.
    """
    with report_errors():
        method = named(solver, **dict(map(parse_setting, settings)))
        stop = stop_rule(iterations, seconds, tol)
        check_writable(out)
        instance = MODELS[model].build(SolveRequest(data, components, weight, nonzeros, seed, data_dir, prepare))
        watching = [] if quiet or not sys.stderr.isatty() else [Progress()]
        every = max(1, (iterations or ITERATIONS) // 500)
        result = solve(instance.problem, method, seed=seed, stop=stop, record=Recorder(every=every), observers=watching)
        summary = {"model": model, "seed": seed, **instance.about, **summary_of(result, instance)}
        files = write_files(out, result, instance, summary)
    click.echo(json.dumps(to_json(summary), indent=2) if as_json else describe(result, summary, files))
    if result.status in BAD:
        raise SystemExit(FAILED)


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of ``name=value``: a number, true, false, none, or else a word."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise ValueError(f"--set takes NAME=VALUE, as in beta0=10; given {text!r}.")
    value = {"true": "True", "false": "False", "none": "None"}.get(value.lower(), value)
    try:
        return name.strip(), ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name.strip(), value


def stop_rule(iterations: int | None, seconds: float | None, tol: float) -> Rule:
    """The given limits, and the tolerance on the criticality."""
    if not tol >= 0:
        raise ValueError(f"--tol must not be negative; given {tol}. Use 0 for no tolerance.")
    most = ITERATIONS if iterations is None and seconds is None else iterations
    rules: list[Rule] = [] if most is None else [Iterations(most)]
    rules += [] if seconds is None else [Seconds(seconds)]
    rules += [Critical(tol)] if tol > 0 else []
    rule = rules[0]
    for other in rules[1:]:
        rule = rule | other
    return rule


def check_writable(out: Path) -> None:
    """Create the folder, and check before a long run that it can be written to."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / f".probe-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(
            f"The folder {out} cannot be written to ({error.strerror or error}). Name another folder with --out."
        ) from None
