"""Fetch and check the datasets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from orthoprox.cli.errors import UNAVAILABLE, Told, told
from orthoprox.cli.list import table
from orthoprox.datasets import DATASETS, DataDamaged, Dataset, load
from orthoprox.datasets._base import Bundled
from orthoprox.datasets._load import named_folder, parsed
from orthoprox.datasets._stored import Stored

FOLDER = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Folder of the files.  [default: ORTHOPROX_DATA, else a cache]"
)


@click.group(
    name="data",
    epilog="\b\nExamples:\n  orthoprox data list\n  orthoprox data fetch mnist tdt2\n"
    "  orthoprox data check --data-dir DIR\n\n"
    "Exit codes: 0 all is well, 2 a mistake in the call, 3 data not available or damaged.",
)
def data_command() -> None:
    """The datasets: what there is, fetch it, check it.

    Files are looked for in the folder that you name (--data-dir, or the variable ORTHOPROX_DATA) and nowhere else;
    without one they are downloaded from their public home into a cache. Every file is checked by its sha256.
    """


@data_command.command(name="list", epilog="Example: orthoprox data list --data-dir DIR")
@FOLDER
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_data(data_dir: Path | None, as_json: bool) -> None:
    """Every dataset, its size, and whether it is here."""
    with told():
        folder = named_folder(data_dir)
        rows = [
            {"dataset": name, "size": dataset.size, "here": here(dataset, folder), "what": dataset.summary}
            for name, dataset in DATASETS.items()
        ]
    click.echo(json.dumps(rows, indent=2) if as_json else table(rows))


@data_command.command(epilog="Example: orthoprox data fetch mnist tdt2")
@click.argument("names", nargs=-1, required=True)
@FOLDER
def fetch(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Download datasets into the cache, or into --data-dir, unless they are there already."""
    failed = []
    with told():
        folder = named_folder(data_dir)
        wanted = [parsed(name, DATASETS)[0] for name in names]
    for dataset in wanted:
        try:
            with told():
                if not isinstance(dataset.origin, Stored):
                    click.echo(f"{dataset.name}: nothing to fetch")
                    continue
                present = dataset.origin.found(folder) if folder is not None else []
                whole = present and all(state == "ok" for _, state in dataset.origin.states(folder))
                for path in present if whole else dataset.origin.fetch(folder):
                    click.echo(f"{dataset.name}: {path}")
        except Told as error:
            error.show()
            failed.append(error.exit_code)
    if failed:
        raise SystemExit(max(failed))


@data_command.command(epilog="Example: orthoprox data check mnist --data-dir DIR")
@click.argument("names", nargs=-1)
@FOLDER
def check(names: tuple[str, ...], data_dir: Path | None) -> None:
    """Compare files with their checksums: those of NAMES, or of every dataset.

    A damaged file is an error, and so is a missing one that was asked for by name.
    """
    with told():
        folder = named_folder(data_dir)
        wanted = [parsed(name, DATASETS)[0] for name in names] or list(DATASETS.values())
        rows = [
            {"dataset": dataset.name, "state": state, "file": file}
            for dataset in wanted
            for file, state in files_of(dataset, folder)
        ]
    click.echo(table(rows))
    if any(row["state"] == "damaged" or (names and row["state"] == "missing") for row in rows):
        raise SystemExit(UNAVAILABLE)


def files_of(dataset: Dataset, folder: Path | None) -> list[tuple[str, str]]:
    """The files of a dataset with their states; one that needs no file is read and compared."""
    if isinstance(dataset.origin, Stored):
        return [(str(path), state) for path, state in dataset.origin.states(folder)]
    try:
        if isinstance(dataset.origin, Bundled):
            load(dataset.name)
    except DataDamaged:
        return [("(in another library)", "damaged")]
    return [("(no file)", "ok")]


def here(dataset: Dataset, folder: Path | None) -> str:
    """Whether a dataset can be had without a network."""
    if not isinstance(dataset.origin, Stored):
        return "always"
    states: Any = {state for _, state in dataset.origin.states(folder)}
    if states == {"ok"}:
        return "yes"
    return "damaged" if "damaged" in states else "no" if folder is not None else "to download"
