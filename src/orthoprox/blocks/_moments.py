"""Means, spreads and covariances from one look at every row, stably.

Each block is centred about its own mean, and two blocks are merged by the formula of Chan, Golub and LeVeque: nothing
cancels, however far from zero the data lie.

References
----------
T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance: analysis and recommendations",
The American Statistician 37, 1983.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._types import Array
from orthoprox.blocks._base import is_sparse, size_of
from orthoprox.blocks._tasks import Task

DENSE = 0.08
"""The share of entries from which on B'B of a sparse block is faster filled in, as measured (docs/scaling.md)."""
ROWS = 2048
"""Rows of a sparse block that are filled in at a time."""
TREE = 2**21
"""The most entries of a matrix that is added up in a tree, which holds several at a time."""


@dataclass(eq=False)
class Moments:
    """What is known of some rows: their number, and of every column the mean, the spread, the size and the entries."""

    rows: int
    mean: Array
    """Shape (n,)."""
    squares: Array
    """The sums of squares about the mean: shape (n,), or the whole matrix, shape (n, n)."""
    top: Array
    """The largest size of an entry."""
    stored: Array
    """How many entries are stored; of a dense matrix all."""
    exponent: int = 0
    """Mean, squares and sizes are those of the data divided by two to this power."""

    @property
    def diagonal(self) -> Array:
        """The sums of squares of columns."""
        return self.squares if self.squares.ndim == 1 else np.diagonal(self.squares)


def merge(a: Moments, b: Moments) -> Moments:
    """The moments of all rows of two; ``a`` is changed."""
    rows = a.rows + b.rows
    step = b.mean - a.mean
    share = a.rows * b.rows / rows
    a.squares += b.squares
    if a.squares.ndim == 1:
        a.squares += share * step * step
    else:
        weighted = share * step
        for first in range(0, len(step), ROWS):  # a whole outer product would be another matrix
            a.squares[first : first + ROWS] += np.outer(weighted[first : first + ROWS], step)
    a.mean = a.mean + step * (b.rows / rows)
    a.rows, a.top, a.stored = rows, np.maximum(a.top, b.top), a.stored + b.stored
    return a


@dataclass(frozen=True, eq=False)
class MomentsOf(Task):
    """The moments of a block, with the whole matrix of squares or its diagonal only."""

    whole: bool
    exponent: int = 0
    wide: bool = False
    """Whether one matrix of squares is as much as should be held."""
    shift: Array | None = None
    """What is subtracted first, zero in most columns: means of blocks far from zero differ in few digits."""

    def __call__(self, block: Any, first: int) -> Moments:
        _check_finite(block, first)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):  # what leaves the range is done once more
            if self.exponent:
                block = _scaled(block, -self.exponent)
            of = _of_sparse if is_sparse(block) else _of_dense
            found = of(block, self.whole, self.shift)
        found.exponent = self.exponent
        return found

    def merge(self, one: Moments, other: Moments) -> Moments:
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            return merge(one, other)

    def result(self, n: int) -> int:
        return 8 * (n * n if self.whole else n)

    def copies(self, sparse: bool) -> int:
        if sparse:  # single entries in double precision and the indices in eight bytes, several times
            return 6
        return 3 if self.shift is None else 5

    @property
    def flat(self) -> bool:
        return self.wide


def _of_dense(block: Array, whole: bool, shift: Array | None) -> Moments:
    m, n = block.shape
    top = np.maximum(block.max(axis=0), -block.min(axis=0)).astype(np.float64)
    block = block if shift is None else block - shift
    mean = block.mean(axis=0, dtype=np.float64)
    D = block - mean  # in double precision
    mean += (correction := D.mean(axis=0))  # what rounding has left
    squares = D.T @ D if whole else np.einsum("ij,ij->j", D, D)
    if whole:
        squares -= m * np.outer(correction, correction)
    else:
        squares -= m * correction * correction
    return Moments(m, mean, squares, top, np.full(n, m, dtype=np.int64))


def _of_sparse(block: Any, whole: bool, shift: Array | None) -> Moments:
    m, n = block.shape
    block = block.astype(np.float64)  # a copy
    indices, data = block.indices, block.data
    if len(indices) and (indices.min() < 0 or indices.max() >= n):
        raise ValueError(f"The data have a column {int(indices.max())}, and {n} columns in all. Save them again.")
    stored = np.bincount(indices, minlength=n)
    top = np.zeros(n)
    np.maximum.at(top, indices, np.abs(data))
    if shift is not None:  # at once in full columns; the others spread as far as they lie from zero
        data -= np.where(stored == m, shift, 0.0)[indices]
    mean = np.bincount(indices, weights=data, minlength=n) / m
    if whole:
        squares = _whole(block, mean, stored)
    else:
        data -= mean[indices]
        squares = np.bincount(indices, weights=data * data, minlength=n) + (m - stored) * mean * mean
    if shift is not None:
        mean -= np.where(stored == m, 0.0, shift)
    return Moments(m, mean, squares, top, stored)


def _whole(block: Any, mean: Array, stored: Array) -> Array:
    """The matrix of squares of a sparse block, which may be changed, about its mean."""
    m, n = block.shape
    if block.nnz > DENSE * m * n:
        total = np.zeros((n, n))
        rows = min(ROWS, max(1, size_of(block) // (8 * n)))  # which take no more room than the block
        for first in range(0, m, rows):
            total += _square(block[first : first + rows].toarray(), mean)
        return total
    # a column with zeros spreads at least as far as its mean, and a full one is centred first: nothing cancels
    full = stored == m
    block.data -= np.where(full, mean, 0.0)[block.indices]
    rest = np.where(full, 0.0, mean)
    total = np.asarray((block.T @ block).toarray())
    total -= m * np.outer(rest, rest)
    return total


def _square(D: Array, mean: Array) -> Array:
    """D'D about a mean; D, which is changed, is given up before the next one is made."""
    D -= mean
    return np.asarray(D.T @ D)


def _scaled(block: Any, e: int) -> Any:
    if not is_sparse(block):
        return np.ldexp(block.astype(np.float64, copy=False), e)
    changed = block.astype(np.float64)
    changed.data = np.ldexp(changed.data, e)
    return changed


def _check_finite(block: Any, first: int) -> None:
    entries = block.data if is_sparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(entries.sum(dtype=np.float64)):  # quick, and wrong only where a sum overflows
            return
    bad = ~np.isfinite(entries)
    if np.any(bad):
        at = int(np.flatnonzero(bad)[0])
        if is_sparse(block):
            row, column = int(np.searchsorted(block.indptr, at, side="right")) - 1, int(block.indices[at])
        else:
            row, column = divmod(at, block.shape[1])
        more = int(np.count_nonzero(bad)) - 1
        raise ValueError(
            f"The data must be finite; the entry in row {first + row}, column {column}, both counted from 0, is NaN or "
            f"infinite{f', and {more} more in its block' if more else ''}. Fill or drop such entries first."
        )
