"""A Zarr array."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.blocks._base import BLOCK, BlockSource, check_shape, even_bounds, float_of


@dataclass(frozen=True, eq=False, repr=False)
class ZarrBlocks(BlockSource):
    """The rows of a Zarr array; a block is made of whole chunks.

    Parameters
    ----------
    array : path or zarr.Array
        A path, or an array of any store that can be sent to other processes.
    block : int
        About the bytes of a block.
    """

    array: Any
    block: int = BLOCK

    def __post_init__(self) -> None:
        zarr = extra("zarr", "storage", "Reading Zarr")
        array, label = self.array, "the Zarr array"
        stamp: tuple[Any, ...] = ()
        if isinstance(array, (str, Path)):
            path = Path(array).resolve()
            label = path.name
            try:
                array = zarr.open(str(path), mode="r")
            except Exception as error:  # every version of Zarr has its own errors
                raise ValueError(f"{path} cannot be opened as Zarr ({' '.join(str(error).split())}).") from error
            if not hasattr(array, "shape"):
                raise ValueError(
                    f"{path} is a group of Zarr arrays ({', '.join(sorted(array)) or 'empty'}). Name one of them, as "
                    f"in {path}/NAME."
                )
            newest = max((file.stat().st_mtime_ns for file in path.iterdir()), default=0)
            stamp = ((label, newest),)
        m, n = check_shape(array.shape, label)
        dtype = float_of(array.dtype, label)
        bounds = even_bounds(m, n * dtype.itemsize, self.block, min(int(array.chunks[0]), m))
        facts = {"array": array, "shape": (m, n), "dtype": dtype, "sparse": False, "entries": m * n, "names": None}
        for name, value in {**facts, "label": label, "stamp": stamp, "bounds": bounds}.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        return np.asarray(self.array[self.bounds[i] : self.bounds[i + 1]])
