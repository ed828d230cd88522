"""Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.blocks._base import BlockSource, files_of, float_of, stamp_of

COLUMNS = 16
"""That are read at a time: while it reads, Arrow holds buffers for each, which for many are more than the rows."""


@dataclass(frozen=True, eq=False, repr=False)
class ParquetBlocks(BlockSource):
    """The rows of a Parquet file, or of all in a folder in the order of their names; a row group is a block.

    Every column must hold numbers; an index that pandas has stored is left out.

    Parameters
    ----------
    path : path
        A file, or a folder of such.
    """

    path: Path

    def __post_init__(self) -> None:
        parquet = extra("pyarrow.parquet", "storage", "Reading Parquet")
        path = Path(self.path).resolve()
        files = files_of(path, ".parquet") if path.is_dir() else (path,)
        if not files:
            raise ValueError(f"{path} has no .parquet files.")
        stamp = stamp_of(*files)
        groups: list[tuple[int, int]] = []
        bounds = [0]
        for k, file in enumerate(files):
            try:
                about = parquet.ParquetFile(file)
            except Exception as error:  # those of Arrow
                raise ValueError(f"{file} cannot be read as Parquet ({' '.join(str(error).split())}).") from error
            columns, dtype = _columns(about.schema_arrow, file)
            if k == 0:
                names, kind = columns, dtype
            elif columns != names:
                raise ValueError(f"The files of {path} must have the same columns; those of {file.name} differ.")
            kind = np.result_type(kind, dtype)
            for group in range(about.num_row_groups):
                rows = about.metadata.row_group(group).num_rows
                if rows:
                    groups.append((k, group))
                    bounds.append(bounds[-1] + rows)
        if not groups or not names:
            raise ValueError(f"{path} is empty: it has {bounds[-1]} rows and {len(names)} columns of numbers.")
        facts: dict[str, Any] = {"path": path, "stamp": stamp, "shape": (bounds[-1], len(names)), "dtype": kind}
        facts |= {"bounds": tuple(bounds), "sparse": False, "entries": bounds[-1] * len(names), "names": names}
        for name, value in {**facts, "label": path.name, "_files": files, "_groups": tuple(groups)}.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        parquet = extra("pyarrow.parquet", "storage", "Reading Parquet")
        files, groups = self._files, self._groups  # type: ignore[attr-defined]  # set above
        k, group = groups[i]
        assert self.names is not None
        with parquet.ParquetFile(files[k]) as file:
            rows = np.empty((file.metadata.row_group(group).num_rows, len(self.names)), dtype=self.dtype)
            for first in range(0, len(self.names), COLUMNS):
                some = list(self.names[first : first + COLUMNS])
                table = file.read_row_group(group, columns=some, use_threads=False)
                for j, column in enumerate(table.columns):  # a missing value becomes NaN, which is refused later
                    rows[:, first + j] = column.to_numpy()
        return rows


def _columns(schema: Any, file: Path) -> tuple[tuple[str, ...], np.dtype[Any]]:
    """The names of the columns, and the float type that holds all; a sentence if some hold no numbers."""
    names = [name for name in schema.names if not name.startswith("__index_level_")]
    types = extra("pyarrow.types", "storage", "Reading Parquet")
    numbers = (types.is_floating, types.is_integer, types.is_boolean)
    kinds = {name: schema.field(name).type for name in names}
    words: Sequence[str] = [name for name, kind in kinds.items() if not any(is_one(kind) for is_one in numbers)]
    if words:
        verb = "do" if len(words) > 1 else "does"
        raise ValueError(
            f"Every column must hold numbers; {', '.join(map(repr, words))} of {file.name} {verb} not. Leave such "
            "columns out, or encode them as numbers."
        )
    floats = {float_of(kind.to_pandas_dtype(), file.name) for kind in kinds.values()}
    return tuple(names), np.result_type(*floats) if floats else np.dtype(np.float64)
