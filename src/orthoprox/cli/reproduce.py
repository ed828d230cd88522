"""The paper's experiments in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from orthoprox._fields import replace
from orthoprox.cli import complete
from orthoprox.cli.errors import EXIT_CODES, UNAVAILABLE, CommandError
from orthoprox.cli.experiments import run_experiments, seed_range
from orthoprox.cli.options import COUNT, FOLDER, POSITIVE, SEEDS
from orthoprox.datasets import DataUnavailable
from orthoprox.experiments.spec import BUILTIN, Experiment, builtin


class Reproduce(click.Command):
    """A command whose help lists the experiments that come with the package; they are read only for that."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_help_text(ctx, formatter)
        with formatter.section("Experiments"):
            formatter.write_dl([(name, _summary(builtin(name))) for name in BUILTIN])


def _summary(experiment: Experiment) -> str:
    what = f"{experiment.title}: {experiment.about}" if experiment.about else experiment.title
    word = "weight" if len(experiment.weights) == 1 else "weights"
    weights = ", ".join(f"{weight:g}" for weight in experiment.weights)
    size = f"{len(experiment.datasets)} data sets, {len(list(experiment.jobs()))} runs"
    return f"{what}; {word} {weights}; {size}"


@click.command(
    cls=Reproduce,
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
    help="Folder for results; existing results of this version of the code are not run again.",
)
@click.option("--keep-old", is_flag=True, help="Keep results of other versions of the code; the ledger counts them.")
@click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Folder of the datasets' files.  [default: ORTHOPROX_DATA]"
)
@click.option("--jobs", type=COUNT, help="Runs at once, one thread each.  [default: one for each core]")
@click.option("--seconds", type=POSITIVE, help="The time budget of a run.")
@click.option("--iterations", type=COUNT, help="A limit on iterations instead.")
@click.option("--seeds", type=SEEDS, help="Number of seeds.")
@click.option(
    "--dataset",
    "datasets",
    multiple=True,
    shell_complete=complete.datasets,
    help="Only this data set; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress display.")
def reproduce_command(
    what: tuple[str, ...],
    quick: bool,
    out: Path,
    keep_old: bool,
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

    Name one of the experiments below, several of them, or all. Writes into OUT a table, figures like the paper's, a
    report to open in a browser, and a ledger with a verdict for every statement. Can be stopped at any moment:
    repeat the command to continue. Results that another version of the code has made are made again.
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
            keep_old=keep_old,
            as_json=as_json,
            quiet=quiet,
        )
    except DataUnavailable as error:
        raise CommandError(f"{error} With --quick no files are needed.", UNAVAILABLE) from None
