"""Covariance matrices as the bounds see them: entries on demand, in units in which nothing overflows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from orthoprox._fields import require
from orthoprox._types import Array

sparse: Any = scipy.sparse
_SYMMETRIC = 1e-6  # asymmetry up to this share of the largest entry is rounding, in single precision too
_EPS = float(np.finfo(np.float64).eps)
_LARGEST = 2.0**1000
_METHODS = ("diagonal", "block", "columns", "product")


class Covariance(Protocol):
    """A symmetric matrix C that need not be stored."""

    @property
    def n(self) -> int:
        """The number of features."""

    def diagonal(self) -> Array:
        """The n variances."""

    def block(self, rows: Array) -> Array:
        """C[rows][:, rows], dense."""

    def columns(self, rows: Array) -> Array:
        """C[:, rows], dense."""

    def product(self, X: Array) -> Array:
        """C @ X."""


@dataclass(frozen=True, eq=False)
class Dense:
    """A covariance matrix that is stored."""

    C: Array

    @property
    def n(self) -> int:
        return int(self.C.shape[0])

    def diagonal(self) -> Array:
        return np.diagonal(self.C)

    def block(self, rows: Array) -> Array:
        return self.C[np.ix_(rows, rows)]

    def columns(self, rows: Array) -> Array:
        return self.C[:, rows]

    def product(self, X: Array) -> Array:
        return self.C @ X


@dataclass(frozen=True, eq=False)
class Samples:
    """The covariance of samples B of shape (m, n), which may be sparse: (B - mean)'(B - mean) / (m - 1)."""

    B: Any
    mean: Array

    @classmethod
    def of(cls, X: Any) -> Samples:
        """Check samples; dense ones are centred here, sparse ones in each product."""
        if sparse.issparse(X):
            B = sparse.csr_array(X).astype(np.float64)
            _check_finite(B.data, "X")
            require(B.shape[0] > 1, "X must have at least two samples for a covariance; given one.")
            return cls(B, np.asarray(B.sum(axis=0)).ravel() / B.shape[0])
        B = _numbers(X, "X")
        require(B.shape[0] > 1, "X must have at least two samples for a covariance; given one.")
        B = B - np.mean(B, axis=0)
        return cls(B - np.mean(B, axis=0), np.zeros(B.shape[1]))

    @property
    def n(self) -> int:
        return int(self.B.shape[1])

    @property
    def m(self) -> int:
        """The number of samples."""
        return int(self.B.shape[0])

    def diagonal(self) -> Array:
        squares = self.B.multiply(self.B).sum(axis=0) if sparse.issparse(self.B) else np.sum(self.B * self.B, axis=0)
        return (np.asarray(squares).ravel() - self.m * self.mean**2) / (self.m - 1)

    def block(self, rows: Array) -> Array:
        part = self.B[:, rows]
        G = (part.T @ part).toarray() if sparse.issparse(part) else part.T @ part
        return (G - self.m * np.outer(self.mean[rows], self.mean[rows])) / (self.m - 1)

    def columns(self, rows: Array) -> Array:
        return self.cross(slice(None), rows)

    def cross(self, rows: Any, columns: Array) -> Array:
        """C[rows][:, columns]."""
        G = self.B[:, rows].T @ self.B[:, columns]
        if sparse.issparse(G):
            G = G.toarray() - np.multiply.outer(self.m * self.mean[rows], self.mean[columns])
        return G / (self.m - 1)

    def product(self, X: Array) -> Array:
        scores = self.B @ X - self.mean @ X
        return (self.B.T @ scores - np.outer(self.mean, np.sum(scores, axis=0))) / (self.m - 1)

    def entry_error(self) -> float:
        """A bound for the rounding error of each entry: m terms of a sum, before the mean part is taken away."""
        squares = (self.m - 1) * self.diagonal() + self.m * self.mean**2
        return 4 * (self.m + 8) * _EPS * float(np.max(squares)) / (self.m - 1)


@dataclass(frozen=True, eq=False)
class Scaled:
    """A covariance divided by a power of two, which rounds nothing, so that its largest variance is about 1."""

    source: Covariance
    exponent: int
    diagonal: Array
    error: float
    """How far entries may be from those of the covariance meant."""

    @classmethod
    def of(cls, C: Any) -> Scaled:
        """A matrix, or anything with ``n``, ``diagonal``, ``block``, ``columns`` and ``product``."""
        source = C if all(callable(getattr(C, name, None)) for name in _METHODS) else Dense(_symmetric(C))
        variance = np.asarray(source.diagonal(), dtype=np.float64)
        largest = float(np.max(np.abs(source.C if isinstance(source, Dense) else variance)))
        require(
            largest <= _LARGEST,
            f"C has entries up to {largest:.3g}, too near the largest number there is. Divide it by {largest:.1g}.",
        )
        exponent = math.frexp(largest)[1] if largest > 0 else 0
        error = float(source.entry_error()) if hasattr(source, "entry_error") else 0.0
        return cls(source, exponent, np.ldexp(variance, -exponent), float(np.ldexp(error, -exponent)))

    @property
    def n(self) -> int:
        return self.source.n

    def scaled(self, numbers: Any) -> Any:
        return np.ldexp(numbers, -self.exponent)

    def to_data(self, numbers: Any) -> Any:
        return np.ldexp(numbers, self.exponent)

    def block(self, rows: Array) -> Array:
        """C[rows][:, rows], exactly symmetric."""
        C = self.scaled(np.asarray(self.source.block(rows), dtype=np.float64))
        return (C + C.T) / 2

    def cross(self, rows: Array, columns: Array) -> Array:
        """C[rows][:, columns]; a source that can skip the other rows has a method for it."""
        direct = getattr(self.source, "cross", None)
        found = self.source.columns(columns)[rows] if direct is None else direct(rows, columns)
        return self.scaled(np.asarray(found, dtype=np.float64))

    def dense(self) -> Array:
        """All of it; for few features only."""
        return self.block(np.arange(self.n))


def _symmetric(C: Any) -> Array:
    C = _numbers(C, "C")
    require(
        C.shape[0] == C.shape[1],
        f"C must be a covariance matrix, square and symmetric; given shape {C.shape}. "
        "For samples, use certify(V, X=X).",
    )
    largest = float(np.max(np.abs(C)))
    gap = float(np.max(np.abs(C / 2 - C.T / 2)))
    require(
        gap <= _SYMMETRIC * largest / 2,
        f"C must be symmetric; given one that differs from its transpose by up to {2 * gap:.3g}. "
        "Give (C + C.T) / 2 if that is what you mean.",
    )
    return C / 2 + C.T / 2


def _numbers(A: Any, name: str) -> Array:
    A = np.asarray(A)
    if A.dtype.kind not in "fiu" or A.ndim != 2:
        raise TypeError(f"{name} must be a matrix of real numbers; given dtype {A.dtype} and shape {A.shape}.")
    require(A.size > 0, f"{name} is empty: given shape {A.shape}.")
    A = A.astype(np.float64)
    _check_finite(A, name)
    return A


def _check_finite(A: Array, name: str) -> None:
    bad = int(np.count_nonzero(~np.isfinite(A)))
    require(bad == 0, f"{name} must be finite; given {bad} entries that are NaN or infinite. Fill or drop them first.")
