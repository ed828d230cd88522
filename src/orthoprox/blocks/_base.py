"""What a source of blocks is: a matrix in a storage that gives some of its rows at a time."""

from __future__ import annotations

import abc
import itertools
import math
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from orthoprox.blocks._errors import BlockUnreadable

BLOCK = 2**24
"""Bytes of a block where the storage leaves the choice: long enough for a disk, short enough for a cache."""


class BlockSource(abc.ABC):
    """A matrix whose rows are read block by block.

    A source is small and can be sent to another process, which reads the same blocks. A subclass says how one block is
    read, ``load``; ``read`` checks it and puts it into the form that products take.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
        ``float32`` or ``float64``: whole numbers are converted as they are read.
    bounds : tuple of int
        Where the blocks begin: block i has the rows from ``bounds[i]`` up to ``bounds[i + 1]``. The last is the number
        of rows.
    sparse : bool
        Whether blocks are sparse.
    entries : int
        How many numbers are stored.
    names : tuple of str or None
        The names of the columns, where the storage has them.
    label : str
        What sentences call the source.
    stamp : tuple
        What tells this content from another, for checkpoints: sizes and times of files.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    bounds: tuple[int, ...]
    sparse: bool
    entries: int
    names: tuple[str, ...] | None
    label: str
    stamp: tuple[Any, ...]

    @abc.abstractmethod
    def load(self, i: int) -> Any:
        """Block i as the storage gives it: an array or a SciPy sparse matrix."""

    def delayed(self, i: int) -> Any:
        """Block i as something that Dask computes on a worker; None where a worker calls ``read``."""
        return None

    @property
    def count(self) -> int:
        """The number of blocks."""
        return len(self.bounds) - 1

    @property
    def bytes(self) -> int:
        """What the numbers of all blocks take in memory; an index of a sparse one is four bytes."""
        return self.entries * (self.dtype.itemsize + (4 if self.sparse else 0))

    @property
    def largest(self) -> int:
        """About the bytes of the largest block."""
        rows = max(b - a for a, b in itertools.pairwise(self.bounds))
        return math.ceil(self.bytes * rows / max(self.shape[0], 1))

    def where(self, i: int) -> str:
        """A block in words."""
        return f"block {i} of {self.label} (rows {self.bounds[i]} to {self.bounds[i + 1] - 1})"

    def read(self, i: int) -> Any:
        """Block i as a NumPy array or a ``csr_array`` of ``dtype``; a sentence if it cannot be read."""
        try:
            raw = self.load(i)
        except MemoryError:
            raise
        except Exception as error:  # every storage has its own errors
            words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise BlockUnreadable(f"{_capital(self.where(i))} cannot be read ({words}). Check the storage.") from error
        return self.convert(raw, i)

    def convert(self, raw: Any, i: int) -> Any:
        """What the storage gave, in the form that products take."""
        rows = self.bounds[i + 1] - self.bounds[i]
        if tuple(raw.shape) != (rows, self.shape[1]):
            raise BlockUnreadable(
                f"{_capital(self.where(i))} must have shape {(rows, self.shape[1])}; it has {tuple(raw.shape)}. "
                "The storage has changed since it was opened: open it again."
            )
        if is_sparse(raw):
            block = csr_array(raw)
            return block if block.dtype == self.dtype else block.astype(self.dtype)
        return np.ascontiguousarray(raw, dtype=self.dtype)

    def __repr__(self) -> str:
        m, n = self.shape
        return f"{type(self).__name__}({self.label!r}, {m} by {n}, {self.count} blocks)"


def is_sparse(block: Any) -> bool:
    """Whether this is a SciPy sparse matrix or array."""
    return bool(issparse(block))


def float_of(dtype: Any, label: str) -> np.dtype[Any]:
    """The float type in which numbers of a type are read; a sentence if they are no real numbers."""
    found = np.dtype(dtype)
    if found.kind not in "fiub":
        raise TypeError(f"{label} must hold real numbers; it holds dtype {found}. Convert it first.")
    return found if found in (np.dtype(np.float32), np.dtype(np.float64)) else np.dtype(np.float64)


def even_bounds(m: int, row_bytes: float, block: int, step: int = 1) -> tuple[int, ...]:
    """Blocks of about so many bytes, each a multiple of ``step`` rows: the chunks of the storage."""
    rows = max(1, int(block / max(row_bytes, 1e-9)))
    rows = max(step, rows // step * step)
    return (*range(0, m, rows), m)


def check_shape(shape: Any, label: str) -> tuple[int, int]:
    """The shape of a matrix that is not empty, or a sentence."""
    if len(shape) != 2:
        raise ValueError(f"{label} must have two dimensions, samples in rows; given shape {tuple(shape)}.")
    m, n = (int(side) for side in shape)
    if m < 1 or n < 1:
        raise ValueError(f"{label} is empty: given shape {(m, n)}; both sides must be at least 1.")
    return m, n


def size_of(block: Any) -> int:
    """The bytes of a block."""
    if hasattr(block, "indptr"):
        return int(block.data.nbytes + block.indices.nbytes + block.indptr.nbytes)
    return int(block.nbytes)


def files_of(folder: Path, ending: str) -> tuple[Path, ...]:
    """The files of a folder by their names, numbers in them in the order of numbers: part.2 before part.10."""

    def key(path: Path) -> list[tuple[int, str]]:
        return [(int(word), "") if word.isdecimal() else (-1, word) for word in re.split(r"(\d+)", path.name)]

    return tuple(sorted(folder.glob(f"*{ending}"), key=key))


def stamp_of(*paths: str | os.PathLike[str]) -> tuple[Any, ...]:
    """Size and time of files, which tell whether they were written again."""
    found = []
    for path in paths:
        try:
            about = os.stat(path)
        except OSError as error:
            raise BlockUnreadable(f"{path} cannot be read ({error.strerror or error}).") from error
        found.append((Path(path).name, about.st_size, about.st_mtime_ns))
    return tuple(found)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
