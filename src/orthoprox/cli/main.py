"""The command and its subcommands."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import click

import orthoprox
from orthoprox.cli.compare import compare_command
from orthoprox.cli.data import data_command
from orthoprox.cli.errors import EXIT_CODES, Commands
from orthoprox.cli.fit import fit_command
from orthoprox.cli.list import list_command
from orthoprox.cli.options import COUNT, FOLDER
from orthoprox.cli.reproduce import reproduce_command
from orthoprox.cli.solve import solve_command

COMPLETION = """\b
Tab completes commands, datasets, solvers and files after, in bash,
  eval "$(_ORTHOPROX_COMPLETE=bash_source orthoprox)"
and likewise with zsh_source in zsh and fish_source in fish."""


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"]}, epilog=f"{COMPLETION}\n\n{EXIT_CODES}"
)
@click.version_option(orthoprox.__version__, prog_name="orthoprox")
def command() -> None:
    """Sparse, nonnegative or robust factors that stay exactly orthonormal.

    For the components of a table: orthoprox fit sparse-pca TABLE. For nonsmooth composite optimisation over matrices
    with orthonormal columns: solve and compare.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a file name that the terminal cannot show is no error
            stream.reconfigure(errors="backslashreplace")


command.add_command(compare_command)
command.add_command(data_command)
command.add_command(fit_command)
command.add_command(list_command)
command.add_command(reproduce_command)
command.add_command(solve_command)


@command.command(short_help="Sparse components of handwritten digits, three methods.")
@click.option("--out", type=FOLDER, default=Path("out"), show_default=True, help="Folder for the figures.")
@click.option("--components", type=COUNT, default=12, show_default=True, help="How many sparse components.")
@click.option("--iterations", type=COUNT, default=4000, show_default=True, help="Iterations of each method, at most.")
@click.option("--quiet", is_flag=True, help="No progress bar.")
def demo(out: Path, components: int, iterations: int, quiet: bool) -> None:
    """Sparse principal components of handwritten digits, with oadmm and the paper's OADMM-EP and OADMM-RR.

    Uses the 1797 images that ship inside scikit-learn; prints a table and draws two figures into OUT.
    """
    from orthoprox.cli.demo import run

    run(out, components=components, iterations=iterations, progress=not quiet)
