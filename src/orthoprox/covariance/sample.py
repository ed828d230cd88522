"""The covariance of samples in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import cached_property
from orthoprox._types import Array
from orthoprox.covariance._base import ENTRY_WORK, Covariance
from orthoprox.covariance.dense import DenseCovariance
from orthoprox.maps.sparse import is_sparse

_KEPT = 1000
"""Up to this many features all of C is kept once it is formed: a search, its bound and its variances need it."""


@dataclass(frozen=True, eq=False)
class SampleCovariance(Covariance):
    """The covariance (B - 1c')'(B - 1c') / divisor of samples B about a centre c.

    Parameters
    ----------
    B : array or SciPy sparse matrix, shape (m, n)
    center : array, shape (n,)
        What is subtracted from every row; a sparse B is not filled in.
    divisor : float

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.covariance import SampleCovariance
    >>> B = np.array([[1.0, 0.0], [3.0, 2.0]])
    >>> SampleCovariance(B, B.mean(axis=0), 1).dense()
    array([[2., 2.],
           [2., 2.]])
    """

    B: Any
    center: Array
    divisor: float

    @property
    def n(self) -> int:
        return int(self.B.shape[1])

    @property
    def m(self) -> int:
        """The number of samples."""
        return int(self.B.shape[0])

    @cached_property
    def _sums(self) -> Array:
        """Those of the columns of B."""
        return np.asarray(self.B.sum(axis=0, dtype=np.float64)).reshape(-1)

    @cached_property
    def diagonal(self) -> Array:
        c, m = self.center, self.m
        if is_sparse(self.B):
            squares = np.maximum(self._squares - 2 * c * self._sums + m * c * c, 0.0)
        else:
            squares = np.einsum("ij,ij->j", self._centred, self._centred, dtype=np.float64)
        return np.asarray(squares / self.divisor)

    @cached_property
    def _squares(self) -> Array:
        """The sums of squares of the columns of a sparse B."""
        return np.asarray(self.B.multiply(self.B).sum(axis=0, dtype=np.float64)).reshape(-1)

    @cached_property
    def _centred(self) -> Array:
        """A dense B - 1c'."""
        return np.asarray(self.B - self.center if np.any(self.center) else self.B)

    @cached_property
    def entry_error(self) -> float:
        """A bound for the rounding error of each entry.

        An entry is a sum of m terms, in a sparse B less what the centre takes away. The terms of entry (i, j), in size,
        add up to at most twice the largest sum of squares of a column and of its centre, and each is rounded at most
        m + 8 times by half of eps. A factor of four is to spare.
        """
        squares = self._squares + self.m * self.center**2 if is_sparse(self.B) else self.diagonal * self.divisor
        return 4 * (self.m + 8) * self._eps * float(np.max(squares)) / self.divisor

    def product(self, X: Array) -> Array:
        if len(X) > 100 and np.count_nonzero(rows := np.any(X != 0, axis=1)) < len(X) // 4:
            return self._by_columns(np.flatnonzero(rows), X[rows])
        if not is_sparse(self.B):
            return np.asarray(self._centred.T @ (self._centred @ X) / self.divisor)
        return self._adjoint(self.B @ X - self.center @ X)

    def _by_columns(self, features: Array, X: Array) -> Array:
        """The product with an X that is zero in all other rows."""
        if not is_sparse(self.B):
            return np.asarray(self._centred.T @ (self._centred[:, features] @ X) / self.divisor)
        return self._adjoint(self._slice(features) @ X - self.center[features] @ X)

    def _slice(self, features: Array) -> Any:
        return self._by_feature[:, features] if is_sparse(self.B) else self.B[:, features]

    @cached_property
    def _by_feature(self) -> Any:
        """A sparse B stored by columns, of which some are taken quickly."""
        return self.B.tocsc()

    def _adjoint(self, Y: Array) -> Array:
        return np.asarray((self.B.T @ Y - np.outer(self.center, Y.sum(axis=0))) / self.divisor)

    def columns(self, features: Array) -> Array:
        if not is_sparse(self.B):
            return self.cross(np.arange(self.n), features)
        return self._by_columns(features, np.eye(len(features), dtype=self.center.dtype))

    def restrict(self, features: Array) -> SampleCovariance:
        return SampleCovariance(self._slice(features), self.center[features], self.divisor)

    def factor(self, features: Array) -> Array | None:
        if is_sparse(self.B) or 2 * self.m > len(features):
            return None
        return np.asarray(self._centred[:, features] / np.sqrt(self.divisor))

    def separate(self, most: int) -> Covariance | None:
        arrays = (self.B.data, self.B.indices, self.B.indptr) if is_sparse(self.B) else (self.B,)
        size, formed = sum(a.nbytes for a in arrays), np.dtype(np.float64).itemsize * self.n**2
        if self.n <= _KEPT and formed <= min(size, most):
            return DenseCovariance(self.dense(), self.entry_error)
        return SampleCovariance(self.B.copy(), self.center.copy(), self.divisor) if size <= most else None

    @property
    def entry_work(self) -> float:
        """Sparse products take ten times as long; features of large variance have more nonzeros than others."""
        return ENTRY_WORK + (100 * self.B.nnz / self.B.shape[1] / 10 if is_sparse(self.B) else self.m)

    def gram(self) -> tuple[Array, float] | None:
        """(B - 1c')(B - 1c')' / divisor, where there are fewer samples than features."""
        if self.m >= self.n:
            return None
        B, c = self.B, self.center
        if is_sparse(B):
            shift = np.asarray(B @ c)
            G = (B @ B.T).toarray() - np.add.outer(shift, shift) + c @ c
            squares = float(np.max(B.multiply(B).sum(axis=1))) + float(c @ c)
        else:
            G = self._centred @ self._centred.T
            squares = float(np.max(np.diagonal(G))) * (1 + self.n * self._eps)
        return np.asarray(G / self.divisor), 4 * (self.n + 8) * self._eps * squares / self.divisor

    @property
    def _eps(self) -> float:
        return float(np.finfo(np.result_type(self.B.dtype, self.center.dtype)).eps)

    def cross(self, rows: Array, columns: Array) -> Array:
        if not is_sparse(self.B):
            return np.asarray(self._centred[:, rows].T @ self._centred[:, columns] / self.divisor)
        c, d, sums = self.center[rows], self.center[columns], self._sums
        G = (self._slice(rows).T @ self._slice(columns)).toarray()
        G -= np.stack([c, sums[rows]], axis=1) @ np.stack([sums[columns] - self.m * d, d])
        G /= self.divisor
        return np.asarray(G)

    def dense(self) -> Array:
        return self._dense if self.n <= _KEPT else self._formed()

    @cached_property
    def _dense(self) -> Array:
        return self._formed()

    def _formed(self) -> Array:
        if not is_sparse(self.B):
            return np.asarray(self._centred.T @ self._centred / self.divisor)
        every = np.arange(self.n)
        return self.cross(every, every)
