"""A covariance that is stored."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.covariance._base import Covariance

_SMALL = 100  # features of a covariance that stays in the cache from one product to the next


@dataclass(frozen=True, eq=False)
class DenseCovariance(Covariance):
    """C as an array.

    Parameters
    ----------
    C : array, shape (n, n)
    error : float
        How far its entries may be from those of the covariance meant, by rounding.
    root : array, shape (m, n), optional
        B with C = B'B, through which products take less time.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.covariance import DenseCovariance
    >>> C = DenseCovariance(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> C.product(np.array([[1.0], [1.0]])).T
    array([[3., 4.]])
    >>> C.restrict(np.array([1])).dense()
    array([[3.]])
    """

    C: Array
    error: float = 0.0
    root: Array | None = None

    @property
    def n(self) -> int:
        return int(self.C.shape[0])

    @property
    def diagonal(self) -> Array:
        return np.diag(self.C)

    @property
    def entry_error(self) -> float:
        return self.error

    def product(self, X: Array) -> Array:
        return np.asarray(self.C @ X if self.root is None else self.root.T @ (self.root @ X))

    def products(self, X: Array) -> Array:
        if self.root is None and self.n <= _SMALL:  # each for itself: rounding depends on nothing else in the batch
            return np.asarray(self.C @ X)
        return super().products(X)

    def columns(self, features: Array) -> Array:
        return np.asarray(self.C[:, features])

    def cross(self, rows: Array, columns: Array) -> Array:
        return np.asarray(self.C[np.ix_(rows, columns)])

    def restrict(self, features: Array) -> Covariance:
        return DenseCovariance(self.C[np.ix_(features, features)], self.error, self.factor(features))

    def factor(self, features: Array) -> Array | None:
        return None if self.root is None or 2 * len(self.root) > len(features) else self.root[:, features]

    def separate(self, most: int) -> Covariance | None:
        return DenseCovariance(self.C.copy(), self.error) if self.C.nbytes <= most else None

    def dense(self) -> Array:
        return self.C
