"""Covariance matrices as the bounds see them: entries on demand, in units in which nothing overflows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from orthoprox._fields import cached_property, require
from orthoprox._types import Array
from orthoprox.covariance import Covariance, DenseCovariance, SampleCovariance

sparse: Any = scipy.sparse
_SYMMETRIC = 1e-6  # asymmetry up to this share of the largest entry is rounding, in single precision too
_LARGEST = 2.0**1000


def covariance_of(X: Any) -> SampleCovariance:
    """The covariance of samples, which are checked; dense ones are centred here, sparse ones in each product."""
    B: Any
    if sparse.issparse(X):
        B = sparse.csr_array(X).astype(np.float64)
        _check_finite(B.data, "X")
        _check_squares(B.data)
        mean = np.asarray(B.sum(axis=0)).ravel() / max(B.shape[0], 1)
    else:
        B = _numbers(X, "X")
        _check_squares(B)
        B = B - np.mean(B, axis=0)
        B, mean = B - np.mean(B, axis=0), np.zeros(B.shape[1])
    require(B.shape[0] > 1, f"X must have at least two samples for a covariance; given {B.shape[0]}.")
    return SampleCovariance(B, mean, B.shape[0] - 1)


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
        """A matrix or a covariance."""
        source = C if isinstance(C, Covariance) else DenseCovariance(_symmetric(C))
        variance = np.asarray(source.diagonal, dtype=np.float64)
        largest = float(np.max(np.abs(source.C if isinstance(source, DenseCovariance) else variance)))
        require(
            largest <= _LARGEST,
            f"C has entries up to {largest:.3g}, too near the largest number there is. Divide it by {largest:.1g}.",
        )
        exponent = math.frexp(largest)[1] if largest > 0 else 0
        return cls(source, exponent, np.ldexp(variance, -exponent), float(np.ldexp(source.entry_error, -exponent)))

    @property
    def n(self) -> int:
        return self.source.n

    def scaled(self, numbers: Any) -> Any:
        return np.ldexp(numbers, -self.exponent)

    def to_data(self, numbers: Any) -> Any:
        return np.ldexp(numbers, self.exponent)

    def block(self, rows: Array) -> Array:
        """C[rows][:, rows], exactly symmetric."""
        return self._symmetric(self.source.block(rows))

    def _symmetric(self, block: Array) -> Array:
        C = self.scaled(np.asarray(block, dtype=np.float64))
        return (C + C.T) / 2

    def cross(self, rows: Array, columns: Array) -> Array:
        """C[rows][:, columns]."""
        return self.scaled(np.asarray(self.source.cross(rows, columns), dtype=np.float64))

    def gram(self) -> tuple[Array, float] | None:
        """A smaller matrix with the same eigenvalues but for zeros, and the error of its entries, if there is one."""
        found = self.source.gram()
        return None if found is None else (self._symmetric(found[0]), float(self.scaled(found[1])))

    def dense(self) -> Array:
        """All of it; for few features only."""
        return self._dense

    @cached_property
    def _dense(self) -> Array:
        return self._symmetric(self.source.dense())


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
    if sparse.issparse(A):
        raise TypeError(f"{name} must be a dense matrix; given a sparse one: give {name}.toarray().")
    A = np.asarray(A)
    if A.dtype.kind not in "fiu" or A.ndim != 2:
        raise TypeError(f"{name} must be a matrix of real numbers; given dtype {A.dtype} and shape {A.shape}.")
    require(A.size > 0, f"{name} is empty: given shape {A.shape}.")
    A = A.astype(np.float64)
    _check_finite(A, name)
    return A


def _check_squares(B: Array) -> None:
    largest = float(np.max(np.abs(B), initial=0.0))
    require(
        largest <= math.sqrt(_LARGEST) / max(len(B), 1),
        f"X has entries up to {largest:.3g}, and their squares are too near the largest number there is. Divide it by "
        f"{largest:.1g}.",
    )


def _check_finite(A: Array, name: str) -> None:
    bad = int(np.count_nonzero(~np.isfinite(A)))
    require(bad == 0, f"{name} must be finite; given {bad} entries that are NaN or infinite. Fill or drop them first.")
