"""The options of ``orthoprox fit`` that all estimators share."""

from __future__ import annotations

from typing import Any

import click

from orthoprox.backends.devices import LIBRARIES
from orthoprox.cli.options import COUNT, FOLDER
from orthoprox.cli.tables import Choice, Reading
from orthoprox.cli.tables.gaps import WAYS

SCALES = ("standard", "none")
SEPARATORS = {"tab": "\t", r"\t": "\t", "comma": ",", "semicolon": ";", "space": r"\s+", " ": r"\s+"}


def table_options() -> list[click.Option]:
    """Which part of the file takes part, and how it is read."""
    return [
        click.Option(["--index"], metavar="NAME", help="The column that names the rows.  [default: found]"),
        click.Option(["--drop"], multiple=True, metavar="NAME", help="Leave a column out; may be repeated, q1_* too."),
        click.Option(["--only"], multiple=True, metavar="NAME", help="Take this column only; may be repeated."),
        click.Option(["--transpose"], is_flag=True, help="Features are in rows, samples in columns: tables of genes."),
        click.Option(["--missing"], type=click.Choice(WAYS), help="What becomes of empty cells.  [default: refused]"),
        click.Option(["--missing-word"], multiple=True, metavar="TEXT", help="A word for an empty cell, such as 999."),
        click.Option(
            ["--scale"],
            type=click.Choice(SCALES),
            help="Divide every feature by its standard deviation, or keep units.  [default: standard]",
        ),
        click.Option(["--separator"], metavar="SIGN", help="Between columns: , ; | tab space.  [default: found]"),
        click.Option(["--decimal"], type=click.Choice((".", ",")), help="The decimal mark.  [default: found]"),
        click.Option(["--encoding"], metavar="NAME", help="Of a file of text, such as latin-1.  [default: found]"),
        click.Option(["--header/--no-header"], default=None, help="Whether the first row has names.  [default: found]"),
        click.Option(["--sheet"], metavar="NAME", help="Of a workbook: its name or number.  [default: the first]"),
    ]


def covariance_options() -> list[click.Option]:
    """What else a table may hold."""
    return [
        click.Option(["--covariance"], is_flag=True, help="The table has covariances or correlations, not samples.")
    ]


def path_options() -> list[click.Option]:
    """What every number of nonzeros keeps."""
    return [
        click.Option(
            ["--path/--no-path"],
            default=None,
            help="What each number of nonzeros keeps, with a bound.  [default: if the fit takes less than 1 s]",
        ),
        click.Option(
            ["--cv"],
            type=click.IntRange(min=2),
            metavar="FOLDS",
            help="Cross-validate the path, with folds of samples at random (--seed).",
        ),
    ]


def device_options() -> list[click.Option]:
    """Where arrays are."""
    return [
        click.Option(["--device"], metavar="DEVICE", help="cpu, cuda, cuda:0, ... or auto.  [default: cpu]"),
        click.Option(["--library"], type=click.Choice(LIBRARIES), help="Whose arrays.  [default: torch on a GPU]"),
    ]


def block_options() -> list[click.Option]:
    """How samples that memory cannot hold are read."""
    return [
        click.Option(
            ["--memory"], metavar="SIZE", help="Read .npy, .npz, .parquet, .zarr or .h5ad in blocks within, as in 4GB."
        ),
        click.Option(["--cluster"], metavar="ADDRESS", help="Hold the rows on a Dask cluster, as in tcp://host:8786."),
        click.Option(["--local-workers"], type=COUNT, help="Hold the rows in so many processes of this machine."),
    ]


def result_options() -> list[click.Option]:
    """Where results go, and what is said."""
    return [
        click.Option(
            ["--out"],
            type=FOLDER,
            help="A folder of their own, complete or not there.  [default: TABLE-ESTIMATOR]",
        ),
        click.Option(["--overwrite"], is_flag=True, help="Replace the results of an earlier fit in that folder."),
        click.Option(["--json", "as_json"], is_flag=True, help="Print the summary as JSON and nothing else."),
        click.Option(["--quiet"], is_flag=True, help="No progress bar."),
    ]


def reading_of(values: dict[str, Any]) -> Reading:
    """How the file is to be read."""
    given = values["separator"]
    separator = SEPARATORS.get(given, given)
    if separator is not None and len(separator) != 1 and separator not in SEPARATORS.values():
        raise ValueError(f"--separator must be one sign, or tab or space; given {given!r}.")
    words = tuple(values["missing_word"])
    return Reading(separator, values["decimal"], values["encoding"], values["header"], values["sheet"], words)


def choice_of(values: dict[str, Any]) -> Choice:
    """Which part of the table takes part."""
    names = {name: tuple(values[name]) for name in ("only", "drop")}
    return Choice(
        **names,
        index=values["index"],
        transpose=values["transpose"],
        missing=values["missing"],
        covariance=values.get("covariance", False),
    )
