"""A covariance with variances that features have by themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._fields import cached_property
from orthoprox._types import Array
from orthoprox.covariance._base import Covariance


@dataclass(frozen=True, eq=False)
class WithVariances(Covariance):
    """A covariance C plus the diagonal matrix of variances that features have by themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.covariance import DenseCovariance, WithVariances
    >>> WithVariances(DenseCovariance(np.ones((2, 2))), np.array([1.0, 0.0])).dense()
    array([[2., 1.],
           [1., 1.]])
    """

    C: Covariance
    own: Array

    @property
    def n(self) -> int:
        return self.C.n

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.C.diagonal + self.own)

    def product(self, X: Array) -> Array:
        return self.C.product(X) + self.own[:, None] * X

    def columns(self, features: Array) -> Array:
        found = self.C.columns(features)
        found[features, np.arange(len(features))] += self.own[features]
        return found

    def cross(self, rows: Array, columns: Array) -> Array:
        return self.C.cross(rows, columns) + np.where(np.equal.outer(rows, columns), self.own[columns], 0.0)

    def restrict(self, features: Array) -> WithVariances:
        return WithVariances(self.C.restrict(features), self.own[features])

    def dense(self) -> Array:
        return self.C.dense() + np.diag(self.own)

    @property
    def entry_error(self) -> float:
        return self.C.entry_error

    @property
    def entry_work(self) -> float:
        return self.C.entry_work
