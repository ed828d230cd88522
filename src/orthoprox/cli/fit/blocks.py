"""Tables that memory cannot hold: read in blocks, with every column as it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from orthoprox._memory import memory
from orthoprox.blocks import Rows
from orthoprox.blocks._open import is_chunked_path
from orthoprox.cli.fit.kinds import Kind
from orthoprox.cli.source import Where
from orthoprox.cli.tables import Table
from orthoprox.cli.tables.files import names_of_samples
from orthoprox.cli.tables.places import count

CLEANING = ("index", "drop", "only", "transpose", "missing", "missing_word")


def is_in_blocks(source: Path, where: Where) -> bool:
    """Whether a table is read in blocks: asked for, or too large to be held, or a folder of files."""
    if not is_chunked_path(source):
        if where.asked:
            raise ValueError(
                "--memory, --cluster and --local-workers are for .npy, .npz, .parquet, .zarr, .h5 and .h5ad, and for "
                f"folders of .parquet or .npz; given {source.name}."
            )
        return False
    known = source.suffix.lower() in (".npy", ".npz", ".parquet", ".h5ad")
    return where.asked or not known or source.is_dir() or (source.is_file() and _size(source) > memory() // 4)


def _size(source: Path) -> int:
    return os.path.getsize(source)


def open_blocks(source: Path, where: Where, values: dict[str, Any], move: Any) -> tuple[Rows, Table]:
    """The rows of a table in blocks, and a table of their names alone."""
    given = [name.replace("_", "-") for name in CLEANING if values[name]]
    if given:
        raise ValueError(f"A table that is read in blocks is taken as it is; leave --{given[0]} out, or prepare it.")
    if move is not None:
        raise ValueError("Data in blocks are read on the CPU; leave --device and --library out.")
    if values.get("path") or values.get("cv") is not None:
        raise ValueError("There is no path of data in blocks; leave --path and --cv out.")
    rows = where.open(source)
    m, n = rows.shape
    names = tuple(map(str, rows.source.names or (f"x{j}" for j in range(n))))
    found = names_of_samples(source) if source.suffix.lower() == ".h5ad" else ()
    labels = found if len(found) == m else tuple(str(i + 1) for i in range(m))
    note = f"The table was read in {count(rows.source.count, 'block')}, and no column was left out."
    facts = {"blocks": rows.source.count}
    return rows, Table(
        None, names, labels, "observation" if labels is found else "row", None, None, notes=(note,), facts=facts
    )


def scale_of_blocks(kind: Kind, wanted: str | None) -> str:
    """How features in blocks are scaled: as the estimator can."""
    if kind.name == "SparsePCA":
        return wanted or "standard"
    if wanted == "standard":
        raise ValueError(f"{kind.name} does not scale features in blocks; give --scale none, or scale them before.")
    return "none"
