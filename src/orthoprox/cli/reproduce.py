"""The paper's experiments in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orthoprox._fields import replace
from orthoprox.cli.errors import EXIT_CODES, UNAVAILABLE, CommandError
from orthoprox.cli.experiments import run_experiments, seed_range
from orthoprox.cli.options import COUNT, FOLDER, POSITIVE, SEEDS
from orthoprox.datasets import DataUnavailable
from orthoprox.experiments.spec import BUILTIN, builtin


@click.command(
    name="reproduce",
    short_help="Run the paper's experiments: figures, tables, report, ledger.",
    epilog="\b\nExamples:\n"
    "  orthoprox reproduce figure1 --quick\n"
    "  orthoprox reproduce figure1 figure2 --data-dir DIR --jobs 8\n"
    "  orthoprox reproduce all --data-dir DIR --out out/reproduction\n\n" + EXIT_CODES,
)
@click.argument("what", nargs=-1, required=True, type=click.Choice([*BUILTIN, "all"]))
@click.option("--quick", is_flag=True, help="On small data that come with scikit-learn, in under two minutes.")
@click.option(
    "--out",
    type=FOLDER,
    default=Path("out/reproduction"),
    show_default=True,
    help="Folder for results; existing results are not run again.",
)
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Folder of the datasets' files.  [default: ORTHOPROX_DATA]"
)
@click.option("--jobs", type=COUNT, help="Runs at once, one thread each.  [default: one for each core]")
@click.option("--seconds", type=POSITIVE, help="The time budget of a run.")
@click.option("--iterations", type=COUNT, help="A limit on iterations instead.")
@click.option("--seeds", type=SEEDS, help="Number of seeds.")
@click.option("--dataset", "datasets", multiple=True, help="Only this data set; may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress display.")
def reproduce_command(
    what: tuple[str, ...],
    quick: bool,
    out: Path,
    data_dir: Path | None,
    jobs: int | None,
    seconds: float | None,
    iterations: int | None,
    seeds: int | None,
    datasets: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Run the experiments of the paper and say whether its statements hold.

    WHAT is figure1 to figure5 (in the paper's order: weights 50, 500, 10, 100, 1000), theory (the statements of its
    analysis), settings (which settings decide the ranking), several of these, or all. Writes into OUT a table,
    figures like the paper's, a report to open in a browser, and a ledger with a verdict for every statement. Can be
    stopped at any moment: repeat the command to continue.
    """
    names = BUILTIN if "all" in what else tuple(dict.fromkeys(what))
    changes: dict[str, Any] = {}
    if seeds is not None:
        changes["seeds"] = seed_range(seeds)
    if datasets:
        changes["datasets"] = datasets
    experiments = []
    for name in names:
        experiment = replace(builtin(name, quick=quick), **changes)
        if iterations is not None:
            experiment = replace(experiment, iterations=iterations, seconds=seconds)
        elif seconds is not None and experiment.seconds is not None:  # a limit on iterations stays one
            experiment = replace(experiment, seconds=seconds)
        experiments.append(experiment)
    try:
        run_experiments(
            experiments,
            out,
            processes=jobs,
            data_dir=data_dir,
            title="orthoprox: the paper's experiments",
            claims=True,
            as_json=as_json,
            quiet=quiet,
        )
    except DataUnavailable as error:
        raise CommandError(f"{error} With --quick no files are needed.", UNAVAILABLE) from None
