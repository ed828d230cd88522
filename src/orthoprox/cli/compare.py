"""Several solvers, the user's own among them, on one problem."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from orthoprox.cli import complete
from orthoprox.cli.errors import EXIT_CODES
from orthoprox.cli.experiments import run_experiments, seed_range
from orthoprox.cli.models import check_components, check_run, divided_weight
from orthoprox.cli.options import COUNT, FOLDER, NOT_NEGATIVE, POSITIVE, SEEDS
from orthoprox.cli.solve import parse_setting
from orthoprox.datasets.files import looks_like_file
from orthoprox.experiments import Experiment, Method
from orthoprox.experiments.data import load_data
from orthoprox.experiments.methods import make_solver


@click.command(
    name="compare",
    short_help="Several solvers, also your own, on one problem.",
    epilog="\b\nExamples:\n"
    "  orthoprox compare digits oadmm oadmm-ep radmm --components 5 --nonzeros 60\n"
    "  orthoprox compare my.csv oadmm oadmm-rr --set oadmm-rr.length=bb-long --seconds 10\n"
    "  orthoprox compare digits oadmm mysolver.py:MySolver\n\n" + EXIT_CODES,
)
@click.argument("data", shell_complete=complete.data)
@click.argument("solvers", nargs=-1, required=True, shell_complete=complete.methods)
@click.option("--components", "-r", type=COUNT, default=5, show_default=True, help="Columns of X.")
@click.option(
    "--weight", "-w", type=POSITIVE, help="Factor of the penalty.  [default: a tenth of the largest variance]"
)
@click.option("--nonzeros", "-k", type=COUNT, help="Unpenalised entries of X.  [default: none]")
@click.option(
    "--set", "settings", multiple=True, metavar="SOLVER.NAME=VALUE", help="A setting of a solver; may be repeated."
)
@click.option("--seconds", type=POSITIVE, help="For each run.  [default: 3]")
@click.option("--iterations", type=COUNT, help="A limit on iterations, instead of or besides time.")
@click.option("--tol", type=NOT_NEGATIVE, default=1e-8, show_default=True, help="A run ends when Crit is at most this.")
@click.option("--seeds", type=SEEDS, default=1, show_default=True, help="Number of starts and samples.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Folder of the datasets' files.  [default: ORTHOPROX_DATA]"
)
@click.option("--jobs", type=COUNT, help="Runs at once, one thread each.  [default: one for each core]")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("out/compare"),
    show_default=True,
    help="Folder for results; existing results of this version of the code are not run again.",
)
@click.option("--keep-old", is_flag=True, help="Keep results of other versions of the code.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress display.")
def compare_command(
    data: str,
    solvers: tuple[str, ...],
    components: int,
    weight: float | None,
    nonzeros: int | None,
    settings: tuple[str, ...],
    seconds: float | None,
    iterations: int | None,
    tol: float,
    seeds: int,
    data_dir: Path | None,
    jobs: int | None,
    out: Path,
    keep_old: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Sparse principal components of DATA with each of the SOLVERS, from one start.

    DATA is a dataset such as digits-1000-50, or a file (.npy, .npz, .csv, .mtx, .svmlight), which is centred. A
    solver is a name from `orthoprox list solvers`, module:Class, or file.py:Class. Prints a table; writes it into
    OUT with figures and a report to open in a browser.
    """
    if looks_like_file(data):
        data = os.path.realpath(data)
    methods = tuple(_method(solver, _settings_for(solver, settings, solvers)) for solver in dict.fromkeys(solvers))
    folder = None if data_dir is None else str(data_dir)
    loaded = load_data(data, 0, folder)
    check_run(max(loaded.m, loaded.n), components)
    if weight is None:
        largest = loaded.D.norm**2 if loaded.eigenvalues is None else float(loaded.eigenvalues[0])
        weight = 0.1 * largest / loaded.m
    else:
        weight = divided_weight(weight, loaded.divisor)
    _check(components, nonzeros, loaded.n)
    experiment = Experiment(
        name="compare",
        title=f"Comparison on {Path(data).name}",
        datasets=(data,),
        weights=(float(f"{weight:.6g}"),),
        kept=(nonzeros,),
        components=components,
        methods=methods,
        seeds=seed_range(seeds),
        seconds=3.0 if seconds is None and iterations is None else seconds,
        iterations=iterations,
        tolerance=tol,
    )
    run_experiments(
        [experiment],
        out,
        processes=jobs,
        data_dir=data_dir,
        title=experiment.title,
        claims=False,
        keep_old=keep_old,
        as_json=as_json,
        quiet=quiet,
    )


def _check(components: int, nonzeros: int | None, n: int) -> None:
    check_components(n, components)
    if nonzeros is not None and not 1 <= nonzeros <= n * components:
        raise ValueError(
            f"X has {n * components} entries: --nonzeros must lie in 1..{n * components}; given {nonzeros}."
        )


def _method(solver: str, settings: dict[str, Any]) -> Method:
    """A method whose solver takes these settings; a file gets its full path, because runs happen elsewhere."""
    place, _, name = solver.rpartition(":")
    label = f"{place.rpartition('.')[2]}:{name}" if place else solver
    if place.endswith(".py"):
        label, solver = f"{Path(place).stem}:{name}", f"{os.path.realpath(place)}:{name}"
    make_solver(solver, settings)
    return Method(label, solver, settings)


def _settings_for(solver: str, settings: tuple[str, ...], solvers: tuple[str, ...]) -> dict[str, Any]:
    """The settings meant for this solver."""
    options: dict[str, Any] = {}
    for text in settings:
        left, equals, value = text.partition("=")
        owner, dot, name = left.rpartition(".")
        if not (equals and dot and owner in solvers):
            raise ValueError(
                f"--set takes SOLVER.NAME=VALUE, as in {solvers[0]}.beta0=5, "
                f"for one of {', '.join(solvers)}; given {text!r}."
            )
        if owner == solver:
            options |= [parse_setting(f"{name}={value}")]
    return options
