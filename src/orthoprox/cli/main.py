"""The command and its subcommands."""

from __future__ import annotations

from pathlib import Path

import click

import orthoprox
from orthoprox.cli.compare import compare_command
from orthoprox.cli.data import data_command
from orthoprox.cli.list import list_command
from orthoprox.cli.reproduce import reproduce_command
from orthoprox.cli.solve import solve_command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(orthoprox.__version__, prog_name="orthoprox")
def command() -> None:
    """Nonsmooth composite optimisation over matrices with orthonormal columns."""


command.add_command(compare_command)
command.add_command(data_command)
command.add_command(list_command)
command.add_command(reproduce_command)
command.add_command(solve_command)


@command.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option("--components", default=12, show_default=True, help="How many sparse components.")
@click.option("--iterations", default=4000, show_default=True, help="Iterations of each method, at most.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def demo(out: Path, components: int, iterations: int, quiet: bool) -> None:
    """Sparse principal components of handwritten digits, with oadmm and the paper's OADMM-EP and OADMM-RR.

    Uses the 1797 images that ship inside scikit-learn; prints a table and draws two figures into OUT.
    """
    from orthoprox.cli.demo import run

    try:
        run(out, components=components, iterations=iterations, progress=not quiet)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        raise click.ClickException(str(error)) from None
