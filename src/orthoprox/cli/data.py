"""Fetch and check the datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from orthoprox.cli import INTERRUPTED, complete
from orthoprox.cli.errors import EXIT_CODES, UNAVAILABLE, CommandError, report_errors
from orthoprox.cli.list import table
from orthoprox.datasets import DATASETS, DataDamaged, Dataset, load
from orthoprox.datasets._base import LibraryOrigin
from orthoprox.datasets._load import parse_name, resolve_folder
from orthoprox.datasets._stored import FileOrigin

FOLDER = click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the files.  [default: ORTHOPROX_DATA, else a cache]",
)


@click.group(
    name="data",
    epilog="\b\nExamples:\n  orthoprox data list\n  orthoprox data fetch mnist tdt2\n"
    "  orthoprox data check --data-dir DIR\n\n" + EXIT_CODES,
)
def data_command() -> None:
    """The datasets: what there is, fetch it, check it.

    Files are looked for in the folder given by --data-dir or ORTHOPROX_DATA and nowhere else; without a folder they
    are downloaded from their public home into a cache. Every file is checked against its sha256.
    """


@data_command.command(name="list", epilog="Example: orthoprox data list --data-dir DIR")
@FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_data(data_dir: Path | None, as_json: bool) -> None:
    """Every dataset, its size, and whether it is here."""
    folder = resolve_folder(data_dir)
    rows = [
        {"dataset": name, "size": dataset.size, "here": availability(dataset, folder), "what": dataset.summary}
        for name, dataset in DATASETS.items()
    ]
    click.echo(json.dumps(rows, indent=2) if as_json else table(rows))


@data_command.command(short_help="Download datasets.", epilog="Example: orthoprox data fetch mnist tdt2")
@click.argument("names", nargs=-1, required=True, shell_complete=complete.datasets)
@FOLDER
def fetch(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Download datasets into the cache, or into --data-dir, unless they are there."""
    failed = []
    folder = resolve_folder(data_dir)
    wanted = [parse_name(name, DATASETS)[0] for name in names]
    for dataset in wanted:
        try:
            with report_errors():
                if not isinstance(dataset.origin, FileOrigin):
                    click.echo(f"{dataset.name}: nothing to fetch")
                    continue
                present = dataset.origin.find(folder) if folder is not None else []
                complete = present and all(state == "ok" for _, state in dataset.origin.states(folder))
                for path in present if complete else dataset.origin.fetch(folder):
                    click.echo(f"{dataset.name}: {path}")
        except CommandError as error:
            if error.exit_code == INTERRUPTED:
                raise
            error.show()
            failed.append(error.exit_code)
    if failed:
        raise SystemExit(max(failed))


@data_command.command(
    short_help="Compare files with their checksums.", epilog="Example: orthoprox data check mnist --data-dir DIR"
)
@click.argument("names", nargs=-1, shell_complete=complete.datasets)
@FOLDER
def check(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Compare files with their checksums: those of NAMES, or of every dataset.

    A damaged file is an error, and so is a missing file of a dataset in NAMES.
    """
    folder = resolve_folder(data_dir)
    wanted = [parse_name(name, DATASETS)[0] for name in names] or list(DATASETS.values())
    rows = [
        {"dataset": dataset.name, "state": state, "file": file}
        for dataset in wanted
        for file, state in files_of(dataset, folder)
    ]
    click.echo(table(rows))
    if any(row["state"] == "damaged" or (names and row["state"] == "missing") for row in rows):
        raise SystemExit(UNAVAILABLE)


def files_of(dataset: Dataset, folder: Path | None) -> list[tuple[str, str]]:
    """The files of a dataset with their states; bundled data are read and compared."""
    if isinstance(dataset.origin, FileOrigin):
        return [(str(path), state) for path, state in dataset.origin.states(folder)]
    try:
        if isinstance(dataset.origin, LibraryOrigin):
            load(dataset.name)
    except DataDamaged:
        return [("(in another library)", "damaged")]
    return [("(no file)", "ok")]


def availability(dataset: Dataset, folder: Path | None) -> str:
    """Whether a dataset is here, in a word."""
    if not isinstance(dataset.origin, FileOrigin):
        return "always"
    states: Any = {state for _, state in dataset.origin.states(folder)}
    if states == {"ok"}:
        return "yes"
    return "damaged" if "damaged" in states else "no" if folder is not None else "to download"
