"""A .npy file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.blocks._base import BLOCK, BlockSource, check_shape, even_bounds, float_of, stamp_of

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""NumPy writes the third version for named fields only, which are no matrix."""


@dataclass(frozen=True, eq=False, repr=False)
class NpyBlocks(BlockSource):
    """The rows of a matrix in a .npy file, read into memory a block at a time.

    The file is read rather than mapped: pages of a map count as memory of the process until the system wants them back.

    Parameters
    ----------
    path : path
    block : int
        About the bytes of a block.
    """

    path: Path
    block: int = BLOCK

    def __post_init__(self) -> None:
        path = Path(self.path).resolve()
        stamp = stamp_of(path)
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            if version not in HEADERS:
                raise ValueError(f"{path} is a .npy file of version {version}, which holds no matrix of numbers.")
            shape, fortran, stored = HEADERS[version](file)
            offset = file.tell()
        m, n = check_shape(shape, str(path))
        dtype = float_of(stored, str(path))
        if stamp[0][1] < offset + math.prod(shape) * stored.itemsize:
            raise ValueError(f"{path} ends too early: its header promises a matrix of {m} by {n}. Save it again.")
        bounds = even_bounds(m, n * max(stored.itemsize, dtype.itemsize), self.block)
        facts = {"path": path, "shape": (m, n), "dtype": dtype, "sparse": False, "entries": m * n, "names": None}
        facts |= {"label": path.name, "stamp": stamp, "bounds": bounds}
        for name, value in {**facts, "_stored": stored, "_offset": offset, "_fortran": fortran}.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        first, last = self.bounds[i], self.bounds[i + 1]
        stored, n = self._stored, self.shape[1]  # type: ignore[attr-defined]  # set above
        if self._fortran:  # type: ignore[attr-defined]
            return np.array(np.load(self.path, mmap_mode="r")[first:last])
        rows = np.empty((last - first, n), dtype=stored)
        with self.path.open("rb", buffering=0) as file:
            file.seek(self._offset + first * n * stored.itemsize)  # type: ignore[attr-defined]
            view, done = rows.data.cast("B"), 0
            while done < len(view):
                got = file.readinto(view[done:])
                if not got:
                    raise OSError("the file ends too early")
                done += got
        return rows
