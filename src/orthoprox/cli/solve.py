"""Solve a model on a dataset or on a file of the user's."""

from __future__ import annotations

import ast
import contextlib
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from orthoprox import (
    Checkpoint,
    Critical,
    Iterations,
    Progress,
    Recorder,
    Rule,
    RunFailed,
    Seconds,
    Status,
    named,
    solve,
)
from orthoprox._extras import extra
from orthoprox.backends.devices import LIBRARIES, mover
from orthoprox.blocks import DataLost
from orthoprox.cli import INTERRUPTED, complete
from orthoprox.cli.errors import EXIT_CODES, FAILED
from orthoprox.cli.models import MODELS, NamedProblem, SolveRequest
from orthoprox.cli.options import COUNT, FOLDER, NOT_NEGATIVE, check_writable
from orthoprox.cli.outcome import describe, summary_of, to_json, write_files
from orthoprox.cli.source import PREPARE, Where
from orthoprox.driver.solve import DEFAULT_SOLVER

CODES = {Status.NOT_FINITE: FAILED, Status.FAILED: FAILED, Status.INTERRUPTED: INTERRUPTED}
"""The exit code after a run that ended so; 0 after the others."""
ITERATIONS = 1000
DASHBOARD = "127.0.0.1:0"
"""Any free port, and for this machine alone: the usual one may be taken, and then Dask complains."""
SAVED = "checkpoint.npz"
CHECKPOINT = 50
"""Iterations between two checkpoints of a run on data in blocks."""


@click.command(
    name="solve",
    short_help="For research: solve a model with a method of your choice.",
    epilog="\b\nExamples:\n"
    "  orthoprox solve sparse-pca digits --components 6\n"
    "  orthoprox solve sparse-pca mnist-1500-500 --data-dir DIR --components 20 --weight 10 --nonzeros 1000\n"
    "  orthoprox solve sparse-pca my.csv --solver oadmm-rr --set length=bb-long --seconds 10 --json\n"
    "  orthoprox solve sparse-pca my.npy --device cuda\n"
    "  orthoprox solve compressed-modes 128 --components 5\n\n" + EXIT_CODES,
)
@click.argument("model", type=click.Choice(list(MODELS)))
@click.argument("data", shell_complete=complete.data)
@click.option("--components", "-r", type=COUNT, default=5, show_default=True, help="Columns of X.")
@click.option(
    "--weight", "-w", type=NOT_NEGATIVE, help="Factor of the penalty.  [default: a tenth of the largest variance]"
)
@click.option("--nonzeros", "-k", type=COUNT, help="Unpenalised entries of X (sparse-pca).  [default: none]")
@click.option(
    "--prepare",
    type=click.Choice(PREPARE),
    help="paper: unit columns, then center.  [default: center, or the dataset's own preparation]",
)
@click.option(
    "--solver",
    "-s",
    default=DEFAULT_SOLVER,
    show_default=True,
    shell_complete=complete.solvers,
    help="See orthoprox list solvers.",
)
@click.option(
    "--set", "settings", multiple=True, metavar="NAME=VALUE", help="A setting of the solver; may be repeated."
)
@click.option(
    "--iterations",
    type=COUNT,
    help=f"The largest number of iterations.  [default: {ITERATIONS}, or no limit with --seconds]",
)
@click.option("--seconds", type=NOT_NEGATIVE, help="At most so long in the method.")
@click.option(
    "--tol", type=NOT_NEGATIVE, default=1e-6, show_default=True, help="Stop when Crit is at most this; 0: never."
)
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
    type=FOLDER,
    default=Path("out"),
    show_default=True,
    help="Folder for the results.",
)
@click.option(
    "--device", metavar="DEVICE", help="cpu, cuda, cuda:0, ... or auto: a GPU if there is one.  [default: cpu]"
)
@click.option(
    "--library",
    type=click.Choice(LIBRARIES),
    help="Whose arrays are used.  [default: torch on a GPU, else numpy]",
)
@click.option(
    "--memory", help="Read a file in blocks within this budget, as in 4GB.  [default: a quarter of the memory]"
)
@click.option("--cluster", metavar="ADDRESS", help="Hold the rows on a Dask cluster, as in tcp://host:8786.")
@click.option("--local-workers", type=COUNT, help="Hold the rows in so many processes of this machine.")
@click.option("--resume", type=click.Path(path_type=Path), help="Go on from the checkpoint of a run in blocks.")
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
    device: str | None,
    library: str | None,
    memory: str | None,
    cluster: str | None,
    local_workers: int | None,
    resume: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Solve MODEL on DATA: the name of a dataset, or your own .npy, .npz, .csv, .mtx or .svmlight file.

    This is the command for research on methods: it runs one solver on one penalised problem and shows how it went.
    For the components of a table of yours, `orthoprox fit` is the command: it gives what the estimators give.

    Files that memory cannot hold are read in blocks, and so are .zarr, .parquet, .h5 and .h5ad; such a run keeps
    OUT/checkpoint.npz to go on from with --resume.

    Samples are rows. Writes into OUT the loadings (loadings.npy and .csv, orthonormal columns; loadings_sparse.npy
    and .csv, their partner with exact zeros), summary.json and run.png. Sparse files stay sparse.
    """
    method = named(solver, **dict(map(parse_setting, settings)))
    stop = stop_rule(iterations, seconds, tol)
    check_writable(out)
    move = None if device is None and library is None else mover(device, library)
    where = Where(memory, start_cluster(cluster, local_workers), not quiet and sys.stderr.isatty())
    request = SolveRequest(data, components, weight, nonzeros, seed, data_dir, prepare, where, move)
    instance = MODELS[model].build(request)
    every = max(1, (iterations or ITERATIONS) // 500)
    with naming(out / SAVED):
        result = solve(
            instance.problem,
            method,
            seed=seed,
            stop=stop,
            record=Recorder(every=every),
            observers=observers(instance, out, quiet=quiet),
            resume=resume,
        )
    summary = {"model": model, "seed": seed, **instance.about, **summary_of(result, instance)}
    files = write_files(out, result, instance, summary)
    click.echo(json.dumps(to_json(summary), indent=2) if as_json else describe(result, summary, files))
    if result.status in CODES:
        raise SystemExit(CODES[result.status])


def start_cluster(address: str | None, workers: int | None) -> Any:
    """The address of a cluster, or a client of one that is started here and ends with the command."""
    if address is None and workers is None:
        return None
    if workers is None:
        return address
    if address is not None:
        raise ValueError("--cluster names a cluster and --local-workers starts one; give one of them.")
    distributed = extra("distributed", "cluster", "--local-workers")
    context = click.get_current_context()
    settings = {"dashboard_address": DASHBOARD, "silence_logs": logging.ERROR}  # a slow end is nobody's concern
    local = distributed.LocalCluster(n_workers=workers, processes=True, **settings)
    context.call_on_close(local.close)
    client = distributed.Client(local)
    context.call_on_close(client.close)  # the last is the first to be closed
    return client


@contextlib.contextmanager
def naming(saved: Path) -> Iterator[None]:
    """Let the sentence of a run that failed name the checkpoint, and the option that goes on from it."""
    try:
        yield
    except RunFailed as failure:
        if not isinstance(failure.__cause__, DataLost) or not saved.exists():
            raise
        words = str(failure).partition(" The attribute")[0].partition(" Start a cluster again")[0]
        raise RunFailed(f"{words} Once the data are there again, go on with --resume {saved}.") from failure.__cause__


def observers(instance: NamedProblem, out: Path, *, quiet: bool) -> list[Any]:
    """A bar, with the traffic of data in blocks; and for those a checkpoint, since machines may go away."""
    rows = instance.blocks
    bar = Progress() if rows is None else Progress(note=lambda: str(rows.traffic))
    watching: list[Any] = [] if quiet or not sys.stderr.isatty() else [bar]
    return watching if rows is None else [*watching, Checkpoint(out / SAVED, every=CHECKPOINT)]


def parse_setting(text: str) -> tuple[str, Any]:
    """Name and value of ``name=value``: a number, true, false, none, or else a word."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip().isidentifier():
        raise ValueError(f"--set takes NAME=VALUE, as in beta0=10; given {text!r}.")
    value = {"true": "True", "false": "False", "none": "None"}.get(value.lower(), value)
    try:
        return name.strip(), ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # the last two for thousands of brackets
        return name.strip(), value


def stop_rule(iterations: int | None, seconds: float | None, tol: float) -> Rule:
    """The given limits, and the tolerance on the criticality."""
    most = ITERATIONS if iterations is None and seconds is None else iterations
    rules: list[Rule] = [] if most is None else [Iterations(most)]
    rules += [] if seconds is None else [Seconds(seconds)]
    rules += [Critical(tol)] if tol > 0 else []
    rule = rules[0]
    for other in rules[1:]:
        rule = rule | other
    return rule
