"""What is computed of a block, and how the results of two blocks become one."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._types import Array
from orthoprox.blocks._base import is_sparse


class Task(abc.ABC):
    """A function of a block of rows. It is sent to where the rows are."""

    @abc.abstractmethod
    def __call__(self, block: Any, first: int) -> Any:
        """The result for a block that begins at row ``first``."""

    def merge(self, one: Any, other: Any) -> Any:
        """The result for two neighbours, the upper one first."""
        if isinstance(one, tuple):
            for a, b in zip(one, other, strict=True):
                a += b
            return one
        one += other
        return one

    def result(self, n: int) -> int:
        """About the bytes of a result, for n columns; while it is computed there may be two more of its size."""
        return 0

    def copies(self, sparse: bool) -> int:
        """How many times the bytes of a block it takes, at most, the block included and the result not."""
        return 3

    @property
    def by_rows(self) -> bool:
        """Whether it carries something for every row of the data, of which a worker needs its own only."""
        return False

    def of(self, spans: Sequence[tuple[int, int]]) -> Task:
        """What of it the blocks with these first and last rows need."""
        return self

    @property
    def flat(self) -> bool:
        """Whether results are so large that they are added up one after the other, and not in a tree."""
        return False


@dataclass(frozen=True, eq=False)
class Centring:
    """What is subtracted from every row: implicitly, but explicitly where the difference would lose its digits.

    Parameters
    ----------
    mean : array, shape (n,)
    explicit : array of bool, shape (n,), optional
        Columns that lie far from zero beside their spread, and of a sparse matrix are full.
    """

    mean: Array
    explicit: Array | None = None

    @property
    def implicit(self) -> Array:
        """What products are corrected by."""
        return self.mean if self.explicit is None else np.where(self.explicit, 0.0, self.mean)

    def apply(self, block: Any) -> Any:
        """The block with the explicit columns centred; a copy if there are any."""
        if self.explicit is None:
            return block
        shift = np.where(self.explicit, self.mean, 0.0).astype(block.dtype)
        if not is_sparse(block):
            return block - shift
        changed = block.copy()
        changed.data -= shift[changed.indices]
        return changed


@dataclass(frozen=True, eq=False)
class Apply(Task):
    """Rows of (B - 1 mean') X."""

    X: Array
    centring: Centring | None = None

    def __call__(self, block: Any, first: int) -> Array:
        return _product(block, self.X, self.centring)[1]


@dataclass(frozen=True, eq=False)
class Adjoint(Task):
    """(B - 1 mean')' Z."""

    Z: Array | dict[int, Array]
    """All of it, or what belongs to some blocks, by their first rows."""
    centring: Centring | None = None

    def __call__(self, block: Any, first: int) -> Array:
        Z = self.Z[first] if isinstance(self.Z, dict) else self.Z[first : first + block.shape[0]]
        return _adjoint(block if self.centring is None else self.centring.apply(block), Z, self.centring)

    @property
    def by_rows(self) -> bool:
        return True

    def of(self, spans: Sequence[tuple[int, int]]) -> Adjoint:
        here = self.Z if isinstance(self.Z, dict) else {first: self.Z[first:last] for first, last in spans}
        return Adjoint({first: here[first] for first, _ in spans}, self.centring)

    def result(self, n: int) -> int:
        Z = next(iter(self.Z.values())) if isinstance(self.Z, dict) else self.Z
        return 8 * n * int(Z.shape[1])


@dataclass(frozen=True, eq=False)
class GramProduct(Task):
    """(B - 1 mean')'(B - 1 mean') X, from one look at each block."""

    X: Array
    centring: Centring | None = None

    def __call__(self, block: Any, first: int) -> Array:
        block, Y = _product(block, self.X, self.centring)
        return _adjoint(block, Y, self.centring)

    def result(self, n: int) -> int:
        return 8 * int(self.X.size)


def _product(block: Any, X: Array, centring: Centring | None) -> tuple[Any, Array]:
    block = block if centring is None else centring.apply(block)
    V = X.astype(block.dtype, copy=False)
    # (V'B')' has few rows where BV has few columns, which BLAS does half as fast again
    Y = np.asarray(block @ V) if is_sparse(block) else np.ascontiguousarray(V.T) @ block.T
    Y = Y if is_sparse(block) else Y.T
    if centring is not None:
        Y -= (centring.implicit @ X).astype(Y.dtype)
    return block, Y


def _adjoint(block: Any, Y: Array, centring: Centring | None) -> Array:
    """In double precision, in which blocks are added up."""
    Z = Y.astype(block.dtype, copy=False)
    G = np.asarray(block.T @ Z if is_sparse(block) else (Z.T @ block).T).astype(np.float64, copy=False)
    if centring is not None:
        G -= np.outer(centring.implicit, Y.sum(axis=0, dtype=np.float64))
    return G


@dataclass(frozen=True, eq=False)
class Cross(Task):
    """The entries of (B - 1 mean')'(B - 1 mean') in some rows and columns, of columns divided by a scale."""

    rows: Array
    columns: Array
    centring: Centring
    scale: Array | None = None

    def __call__(self, block: Any, first: int) -> Array:
        block = self.centring.apply(block)
        wanted = np.union1d(self.rows, self.columns)
        D = block.tocsc()[:, wanted].toarray() if is_sparse(block) else np.array(block[:, wanted])
        D = D.astype(np.float64, copy=False)
        D -= self.centring.implicit[wanted]
        if self.scale is not None:
            D /= self.scale[wanted]
        left = D[:, np.searchsorted(wanted, self.rows)]
        same = np.array_equal(self.rows, self.columns)
        return np.asarray(left.T @ (left if same else D[:, np.searchsorted(wanted, self.columns)]))

    def result(self, n: int) -> int:
        return 8 * len(self.rows) * len(self.columns)


@dataclass(frozen=True, eq=False)
class Select(Task):
    """Some columns, as they are."""

    columns: Array

    def __call__(self, block: Any, first: int) -> Array:
        return block.tocsc()[:, self.columns].toarray() if is_sparse(block) else np.array(block[:, self.columns])
