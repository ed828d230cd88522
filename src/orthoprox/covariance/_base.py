"""What a covariance is to those that search, bound and solve."""

from __future__ import annotations

import abc

import numpy as np

from orthoprox._types import Array

ENTRY_WORK = 50.0  # what an entry takes besides products, in multiplications


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

    def factor(self, features: Array) -> Array | None:
        """B with B'B = C for some features, if products with B take less time than with B'B; otherwise None."""
        return None

    def separate(self, most: int) -> Covariance | None:
        """The same in memory that nobody else can change, if it takes at most so many bytes."""
        return None

    def block(self, features: Array) -> Array:
        """The covariances of some features among themselves, as an array."""
        return self.restrict(features).dense()

    def products(self, X: Array) -> Array:
        """C X for several X at once, shape (N, n, r)."""
        N, n, r = X.shape
        CX = self.product(X.transpose(1, 0, 2).reshape(n, N * r))
        return np.ascontiguousarray(CX.reshape(n, N, r).transpose(1, 0, 2))
