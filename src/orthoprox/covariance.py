"""Covariances that are not formed as a whole: products with them, their diagonal, and blocks."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import device

from orthoprox._fields import cached_property
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.blocks._tasks import Cross
from orthoprox.maps.blocked import Blocked
from orthoprox.maps.sparse import is_sparse

_ENTRY_WORK = 50.0  # what an entry takes besides products, in multiplications


class Covariance(abc.ABC):
    """A symmetric matrix C of shape (n, n), known by its products and blocks; positive semidefinite if not stored."""

    @property
    @abc.abstractmethod
    def n(self) -> int:
        """The number of features."""

    @property
    @abc.abstractmethod
    def diagonal(self) -> Array:
        """The variances, shape (n,)."""

    @abc.abstractmethod
    def product(self, X: Array) -> Array:
        """C X, for X of shape (n, q)."""

    @abc.abstractmethod
    def columns(self, features: Array) -> Array:
        """The columns of C for some features, shape (n, len(features))."""

    @abc.abstractmethod
    def cross(self, rows: Array, columns: Array) -> Array:
        """The entries of C in some rows and columns, shape (len(rows), len(columns))."""

    @abc.abstractmethod
    def restrict(self, features: Array) -> Covariance:
        """The covariance of some features among themselves."""

    @abc.abstractmethod
    def dense(self) -> Array:
        """C itself."""

    @property
    def entry_error(self) -> float:
        """How far entries may be from those of the covariance meant, by rounding."""
        return 0.0

    @property
    def entry_work(self) -> float:
        """About how many multiplications an entry takes."""
        return 1.0

    def gram(self) -> tuple[Array, float] | None:
        """A smaller matrix with the same eigenvalues, but for zeros, and the rounding error of its entries, if any."""
        return None

    def block(self, features: Array) -> Array:
        """The covariances of some features among themselves, as an array."""
        return self.restrict(features).dense()

    def products(self, X: Array) -> Array:
        """C X for several X at once, shape (N, n, r)."""
        N, n, r = X.shape
        CX = self.product(X.transpose(1, 0, 2).reshape(n, N * r))
        return np.ascontiguousarray(CX.reshape(n, N, r).transpose(1, 0, 2))


@dataclass(frozen=True, eq=False)
class DenseCovariance(Covariance):
    """C as an array.

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

    @property
    def n(self) -> int:
        return int(self.C.shape[0])

    @property
    def diagonal(self) -> Array:
        return np.diag(self.C)

    def product(self, X: Array) -> Array:
        return np.asarray(self.C @ X)

    def columns(self, features: Array) -> Array:
        return np.asarray(self.C[:, features])

    def cross(self, rows: Array, columns: Array) -> Array:
        return np.asarray(self.C[np.ix_(rows, columns)])

    def restrict(self, features: Array) -> Covariance:
        return DenseCovariance(self.C[np.ix_(features, features)])

    def dense(self) -> Array:
        return self.C


@dataclass(frozen=True, eq=False)
class SampleCovariance(Covariance):
    """The covariance (B - 1c')'(B - 1c') / divisor of samples B about a centre c.

    Parameters
    ----------
    B : array or SciPy sparse matrix, shape (m, n)
    centre : array, shape (n,)
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
    centre: Array
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
        c, m = self.centre, self.m
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
        return np.asarray(self.B - self.centre if np.any(self.centre) else self.B)

    @cached_property
    def entry_error(self) -> float:
        """A bound for the rounding error of each entry.

        An entry is a sum of m terms, in a sparse B less what the centre takes away. The terms of entry (i, j), in size,
        add up to at most twice the largest sum of squares of a column and of its centre, and each is rounded at most
        m + 8 times by half of eps. A factor of four is to spare.
        """
        squares = self._squares + self.m * self.centre**2 if is_sparse(self.B) else self.diagonal * self.divisor
        return 4 * (self.m + 8) * self._eps * float(np.max(squares)) / self.divisor

    def product(self, X: Array) -> Array:
        if len(X) > 100 and np.count_nonzero(rows := np.any(X != 0, axis=1)) < len(X) // 4:
            return self._by_columns(np.flatnonzero(rows), X[rows])
        return self._adjoint(self.B @ X - self.centre @ X)

    def _by_columns(self, features: Array, X: Array) -> Array:
        """The product with an X that is zero in all other rows."""
        return self._adjoint(self._slice(features) @ X - self.centre[features] @ X)

    def _slice(self, features: Array) -> Any:
        return self._by_feature[:, features] if is_sparse(self.B) else self.B[:, features]

    @cached_property
    def _by_feature(self) -> Any:
        """A sparse B stored by columns, of which some are taken quickly."""
        return self.B.tocsc()

    def _adjoint(self, Y: Array) -> Array:
        return np.asarray((self.B.T @ Y - np.outer(self.centre, Y.sum(axis=0))) / self.divisor)

    def columns(self, features: Array) -> Array:
        return self._by_columns(features, np.eye(len(features), dtype=self.centre.dtype))

    def restrict(self, features: Array) -> SampleCovariance:
        return SampleCovariance(self._slice(features), self.centre[features], self.divisor)

    @property
    def entry_work(self) -> float:
        """Sparse products take ten times as long; features of large variance have more nonzeros than others."""
        return _ENTRY_WORK + (100 * self.B.nnz / self.B.shape[1] / 10 if is_sparse(self.B) else self.m)

    def gram(self) -> tuple[Array, float] | None:
        """(B - 1c')(B - 1c')' / divisor, where there are fewer samples than features."""
        if self.m >= self.n:
            return None
        B, c = self.B, self.centre
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
        return float(np.finfo(np.result_type(self.B.dtype, self.centre.dtype)).eps)

    def cross(self, rows: Array, columns: Array) -> Array:
        if not is_sparse(self.B):
            return np.asarray(self._centred[:, rows].T @ self._centred[:, columns] / self.divisor)
        c, d, sums = self.centre[rows], self.centre[columns], self._sums
        G = (self._slice(rows).T @ self._slice(columns)).toarray()
        G -= np.stack([c, sums[rows]], axis=1) @ np.stack([sums[columns] - self.m * d, d])
        G /= self.divisor
        return np.asarray(G)

    def dense(self) -> Array:
        if not is_sparse(self.B):
            return np.asarray(self._centred.T @ self._centred / self.divisor)
        every = np.arange(self.n)
        return self.cross(every, every)


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
        return _ENTRY_WORK + self.m

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


@dataclass(frozen=True, eq=False)
class BlockCovariance(Covariance):
    """The covariance B'B / divisor of centred samples in blocks: whatever is asked for takes one pass over them.

    Parameters
    ----------
    B : Blocked
        With ``centre=True``.
    divisor : float

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.blocks import open_rows
    >>> from orthoprox.covariance import BlockCovariance
    >>> from orthoprox.maps import Blocked
    >>> B = Blocked(open_rows(np.array([[1.0, 0.0], [3.0, 2.0]])), centre=True)
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
        return _ENTRY_WORK + self.B.rows(self.n)

    def dense(self) -> Array:
        every = np.arange(self.n)
        return self.cross(every, every)
