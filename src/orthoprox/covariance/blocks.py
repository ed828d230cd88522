"""The covariance of samples in blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._fields import cached_property
from orthoprox._types import Array
from orthoprox.blocks._tasks import Cross
from orthoprox.covariance._base import ENTRY_WORK, Covariance
from orthoprox.covariance.dense import DenseCovariance
from orthoprox.maps.blocked import Blocked


@dataclass(frozen=True, eq=False)
class BlockCovariance(Covariance):
    """The covariance B'B / divisor of centred samples in blocks: whatever is asked for takes one pass over them.

    Parameters
    ----------
    B : Blocked
        With ``center=True``.
    divisor : float

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.blocks import open_rows
    >>> from orthoprox.covariance import BlockCovariance
    >>> from orthoprox.maps import Blocked
    >>> B = Blocked(open_rows(np.array([[1.0, 0.0], [3.0, 2.0]])), center=True)
    >>> BlockCovariance(B, 1).dense()
    array([[2., 2.],
           [2., 2.]])
    """

    B: Blocked
    divisor: float

    @property
    def n(self) -> int:
        return self.B.columns

    @cached_property
    def diagonal(self) -> Array:
        return np.asarray(self.B.column_squares / self.divisor)

    def product(self, X: Array) -> Array:
        return np.asarray(self.B.gram(X) / self.divisor)

    def columns(self, features: Array) -> Array:
        E = np.zeros((self.n, len(features)))
        E[features, np.arange(len(features))] = 1.0
        return self.product(E)

    def cross(self, rows: Array, columns: Array) -> Array:
        B = self.B
        task = Cross(np.asarray(rows), np.asarray(columns), B.data.centring, B.scale)
        return np.asarray(B.data.total(task) / self.divisor)

    def restrict(self, features: Array) -> Covariance:
        return DenseCovariance(self.cross(features, features))

    @property
    def entry_error(self) -> float:
        """As that of ``SampleCovariance``: what its terms add up to and how often they are rounded are the same."""
        m = self.B.rows(self.n)
        return 4 * (m + 8) * float(np.finfo(np.float64).eps) * float(np.max(self.diagonal))

    @property
    def entry_work(self) -> float:
        """An entry takes a pass over the samples, and so do many at once."""
        return ENTRY_WORK + self.B.rows(self.n)

    def dense(self) -> Array:
        every = np.arange(self.n)
        return self.cross(every, every)
