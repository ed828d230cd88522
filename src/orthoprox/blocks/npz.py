"""A list of .npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import load_npz

from orthoprox.blocks._base import BlockSource, check_shape, float_of, stamp_of


@dataclass(frozen=True, eq=False, repr=False)
class NpzBlocks(BlockSource):
    """Rows in several .npz files, one block in each: an array, or a sparse matrix as SciPy saves it.

    Parameters
    ----------
    paths : sequence of paths
        In the order of the rows.
    """

    paths: tuple[Path, ...]

    def __post_init__(self) -> None:
        paths = tuple(Path(path).resolve() for path in self.paths)
        if not paths:
            raise ValueError("A list of .npz files needs at least one; given none.")
        stamp = stamp_of(*paths)
        parts = [_about(path) for path in paths]
        kinds = {(n, sparse) for (_, n), _, sparse, _ in parts}
        if len(kinds) > 1:
            raise ValueError(
                f"Files with rows of one matrix must agree in columns, and be all dense or all sparse; {paths[0].name} "
                f"and others have {sorted(kinds)} (columns, sparse)."
            )
        bounds = [0]
        for (m, _), *_ in parts:
            bounds.append(bounds[-1] + m)
        (n, sparse) = kinds.pop()
        dtype = np.result_type(*(dtype for _, dtype, _, _ in parts))
        facts = {"paths": paths, "stamp": stamp, "shape": (bounds[-1], n), "dtype": np.dtype(dtype), "sparse": sparse}
        facts |= {"bounds": tuple(bounds), "entries": sum(entries for *_, entries in parts), "names": None}
        facts["label"] = f"{paths[0].name} and {len(paths) - 1} others" if len(paths) > 1 else paths[0].name
        for name, value in facts.items():
            object.__setattr__(self, name, value)

    def where(self, i: int) -> str:
        return f"block {i}, {self.paths[i]}"

    def load(self, i: int) -> Any:
        path = self.paths[i]
        if self.sparse:
            return load_npz(path)
        with np.load(path, allow_pickle=False) as archive:
            return archive[_array_name(archive.files)]


def _array_name(names: Sequence[str]) -> str:
    if "X" not in names and len(names) != 1:
        raise ValueError(f"it has {', '.join(names) or 'nothing'}; expected a single array, or one named X")
    return "X" if "X" in names else names[0]


def _about(path: Path) -> tuple[tuple[int, int], np.dtype[Any], bool, int]:
    """Shape, float type, whether it is sparse, and how many entries are stored; of a dense file it reads the header."""
    if not path.name.lower().endswith(".npz"):
        raise ValueError(f"A list must be of .npz files; given {path.name}. Save the parts as such, or join them.")
    if not zipfile.is_zipfile(path):  # NumPy would say that it may hold pickled objects
        raise ValueError(f"{path} cannot be read as .npz (it is no archive, or was cut off). Save it again.")
    entries: tuple[int, ...] | None = None
    try:
        with np.load(path, allow_pickle=False) as archive:
            if "format" in archive.files and "shape" in archive.files:
                shape, (entries, stored) = archive["shape"], _header(archive, "data")
            else:
                shape, stored = _header(archive, _array_name(archive.files))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path} cannot be read as .npz ({error}). Save it again.") from error
    m, n = check_shape(shape, str(path))
    return (m, n), float_of(stored, str(path)), entries is not None, m * n if entries is None else int(entries[0])


def _header(archive: Any, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and dtype of an array in an archive, without its content."""
    with archive.zip.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    return shape, dtype
