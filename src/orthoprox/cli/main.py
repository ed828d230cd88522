"""The command and its subcommands."""

from __future__ import annotations

from pathlib import Path

import click

import orthoprox


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(orthoprox.__version__, prog_name="orthoprox")
def command() -> None:
    """Nonsmooth composite optimisation over matrices with orthonormal columns."""


@command.command()
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), default=Path("out"), show_default=True)
@click.option("--components", default=12, show_default=True, help="How many sparse components.")
@click.option("--iterations", default=4000, show_default=True, help="Iterations of each method.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def demo(out: Path, components: int, iterations: int, quiet: bool) -> None:
    """Sparse principal components of handwritten digits, with OADMM-EP and OADMM-RR.

    Uses the 1797 images that ship inside scikit-learn; prints a table and draws two figures into OUT.
    """
    from orthoprox.cli.demo import run

    try:
        run(out, components=components, iterations=iterations, progress=not quiet)
    except (ValueError, OSError, ModuleNotFoundError) as error:
        raise click.ClickException(str(error)) from None


@command.command(name="list")
@click.argument("what", type=click.Choice(["solvers"]))
def list_command(what: str) -> None:
    """What there is: the solvers with their scope and complexity."""
    from orthoprox.cli.list import solvers

    click.echo(solvers())
