"""The covariance of samples on a device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from array_api_compat import device

from orthoprox._fields import cached_property
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.covariance._base import ENTRY_WORK, Covariance


@dataclass(frozen=True, eq=False)
class DeviceCovariance(Covariance):
    """The covariance B'B / divisor of centred samples on a device: products are done there, and come back in NumPy.

    Parameters
    ----------
    B : array, shape (m, n)
        In double precision.
    divisor : float

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.covariance import DeviceCovariance
    >>> DeviceCovariance(np.array([[1.0, 1.0], [-1.0, -1.0]]), 1.0).dense()
    array([[2., 2.],
           [2., 2.]])
    """

    B: Array
    divisor: float

    @property
    def n(self) -> int:
        return int(self.B.shape[1])

    @property
    def m(self) -> int:
        """The number of samples."""
        return int(self.B.shape[0])

    @cached_property
    def diagonal(self) -> Array:
        return self._home(array_namespace(self.B).vecdot(self.B, self.B, axis=-2))

    def product(self, X: Array) -> Array:
        rows = np.flatnonzero(np.any(X != 0, axis=1))
        if len(rows) < len(X) // 4:
            return self._home(self.B.T @ (self._slice(rows) @ self._there(X[rows])))
        return self._home(self.B.T @ (self.B @ self._there(X)))

    def columns(self, features: Array) -> Array:
        return self._home(self.B.T @ self._slice(features))

    def cross(self, rows: Array, columns: Array) -> Array:
        return self._home(self._slice(rows).T @ self._slice(columns))

    def restrict(self, features: Array) -> DeviceCovariance:
        return DeviceCovariance(self._slice(features), self.divisor)

    def dense(self) -> Array:
        return self._home(self.B.T @ self.B)

    @cached_property
    def entry_error(self) -> float:
        """A bound for the rounding error of each entry, as that of ``SampleCovariance``."""
        return 4 * (self.m + 8) * backend_of(self.B).eps(self.B) * float(np.max(self.diagonal))

    @property
    def entry_work(self) -> float:
        return ENTRY_WORK + self.m

    def gram(self) -> tuple[Array, float] | None:
        """B B' / divisor, where there are fewer samples than features."""
        if self.m >= self.n:
            return None
        eps, G = backend_of(self.B).eps(self.B), self._home(self.B @ self.B.T)
        return G, 4 * (self.n + 8) * eps * float(np.max(np.diagonal(G))) * (1 + self.n * eps)

    def _slice(self, features: Array) -> Array:
        xp = array_namespace(self.B)
        numbers = np.flatnonzero(features) if np.asarray(features).dtype == bool else np.asarray(features)
        return xp.take(self.B, xp.asarray(np.array(numbers), device=device(self.B)), axis=1)

    def _there(self, X: Array) -> Array:
        return backend_of(self.B).from_numpy(X, self.B)

    def _home(self, product: Array) -> Array:
        return np.asarray(backend_of(self.B).to_numpy(product) / self.divisor)
