"""Arrays that are there, or that give their rows when they are sliced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from orthoprox.blocks._base import BLOCK, BlockSource, check_shape, even_bounds, float_of, is_sparse


@dataclass(frozen=True, eq=False, repr=False)
class ArrayBlocks(BlockSource):
    """The rows of anything with a shape, a dtype and slices: NumPy and SciPy arrays, ``np.memmap``, open HDF5 and Zarr.

    Parameters
    ----------
    array : array-like, shape (m, n)
        ``array[first:last]`` gives rows, dense or sparse.
    block : int
        About the bytes of a block.
    step : int
        The rows of a chunk of the storage, of which blocks are multiples.
    label : str
    names : tuple of str, optional

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.blocks import ArrayBlocks
    >>> source = ArrayBlocks(np.arange(12.0).reshape(6, 2), block=64)
    >>> source.bounds, source.read(1)[0]
    ((0, 4, 6), array([8., 9.]))
    """

    array: Any
    block: int = BLOCK
    step: int = 1
    label: str = "X"
    names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        array = csr_array(self.array) if is_sparse(self.array) else self.array
        m, n = check_shape(array.shape, self.label)
        sparse = bool(is_sparse(array) or is_sparse(array[0:1]))
        dtype = float_of(array.dtype, self.label)
        entries = _entries(array) if sparse else m * n
        row = entries / m * (dtype.itemsize + (4 if sparse else 0))
        bounds = even_bounds(m, row, self.block, self.step)
        facts = {"array": array, "shape": (m, n), "dtype": dtype, "sparse": sparse, "entries": entries}
        for name, value in {**facts, "bounds": bounds, "stamp": ()}.items():
            object.__setattr__(self, name, value)

    def load(self, i: int) -> Any:
        rows = self.array[self.bounds[i] : self.bounds[i + 1]]
        return rows if is_sparse(rows) else np.asarray(rows)


def _entries(array: Any) -> int:
    """How many entries a sparse matrix stores, also one on disk, whose group has an array of them."""
    for owner in (array, getattr(array, "group", {})):
        if hasattr(owner, "nnz"):
            return int(owner.nnz)
        if hasattr(owner, "keys") and "data" in owner:
            return int(owner["data"].shape[0])
    sample = array[0 : min(1000, array.shape[0])]
    return int(sample.nnz / sample.shape[0] * array.shape[0])
