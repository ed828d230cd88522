"""What every sketch of a covariance can do."""

from __future__ import annotations

import abc
import operator
import os
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from scipy.sparse import csr_array

from orthoprox._fields import require
from orthoprox._powers import times_power
from orthoprox._types import Array
from orthoprox.covariance import Covariance
from orthoprox.maps.sparse import is_sparse
from orthoprox.sketches._file import save
from orthoprox.sketches._moments import Moments, check_half_life


class CovarianceSketch(abc.ABC):
    """The mean and the covariance of all samples seen so far. A block makes a new sketch; the old one stays as it was.

    With ``half_life`` the weight of a sample halves whenever so many others have followed, so that old ones fade; how
    the samples are divided into blocks plays no part in that.
    """

    kind: ClassVar[str]
    moments: Moments

    # ------------------------------------------------------------------ what a sketch has

    @property
    @abc.abstractmethod
    def error(self) -> float:
        """The d for which ``C_sketch <= C <= C_sketch + d I``, in units of variance: no direction is off by more."""

    @abc.abstractmethod
    def covariance(self) -> Covariance:
        """C_sketch, in the units of the data."""

    @property
    @abc.abstractmethod
    def _spread(self) -> Array:
        """The exact sum of squares of every feature about its mean, in the units of the moments."""

    @abc.abstractmethod
    def _absorb(self, X: Any) -> Self:
        """The sketch with a few more samples, which were checked."""

    @abc.abstractmethod
    def _join(self, other: Self) -> Self:
        """The sketch of the samples of both."""

    @abc.abstractmethod
    def _rows_at_once(self, X: Any) -> int:
        """How many samples of a block are absorbed at a time."""

    @abc.abstractmethod
    def _same_settings(self, other: Self) -> bool:
        """Whether the other one was made in the same way."""

    @property
    def n_features(self) -> int:
        return self.moments.n

    @property
    def n_samples(self) -> int:
        """How many samples were seen."""
        return self.moments.n_samples

    @property
    def effective_samples(self) -> float:
        """How many samples of equal weight would be worth as much; ``n_samples`` without a half-life."""
        return self.moments.effective_samples

    @property
    def half_life(self) -> float | None:
        return self.moments.half_life

    @property
    def mean(self) -> Array:
        """The mean of the samples, each with its weight."""
        return self.moments.mean

    @property
    def variances(self) -> Array:
        """The variance of every feature, exact in every sketch; infinite or zero beyond the range of floats."""
        return np.asarray(times_power(self._spread / self.moments.divisor, 2 * self.moments.powers))

    # ------------------------------------------------------------------ written once

    def update(self, X: Any) -> Self:
        """The sketch with a block of samples more.

        Parameters
        ----------
        X : array or SciPy sparse matrix, shape (m, n)
            Of any size and any m >= 1; a sparse block is never filled in as a whole. All entries must be finite.
        """
        X = _checked(X, self.n_features)
        sketch = self
        for part in _parts(X, self._rows_at_once(X)):
            sketch = sketch._absorb(part)
        return sketch

    def merge(self, other: Self) -> Self:
        """The sketch of the samples of both, as if they had come side by side and not one after the other.

        Parameters
        ----------
        other : CovarianceSketch
            Of the same kind, number of features, size and half-life.
        """
        require(
            type(other) is type(self) and self.n_features == other.n_features and self._same_settings(other),
            f"Only sketches of one kind, with the same settings, can be merged; given {self!r} and {other!r}.",
        )
        return self._join(other)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sketch to a file, in one move; a stream that goes on from ``load_sketch`` ends in the same bits."""
        save(path, self)


def check_settings(n_features: Any, half_life: Any) -> tuple[int, float | None]:
    """The number of features as an int, and the half-life as a float or None."""
    try:
        n = operator.index(n_features)
    except TypeError:
        raise TypeError(f"n_features must be a whole number; given {n_features!r}.") from None
    require(n >= 1, f"n_features must be at least 1; given {n}.")
    return n, check_half_life(half_life)


def check_size(size: Any) -> int:
    """A number of directions as an int."""
    try:
        size = operator.index(size)
    except TypeError:
        raise TypeError(f"size must be a whole number; given {size!r}.") from None
    require(size >= 1, f"A sketch needs a size of at least 1; given {size}.")
    return int(size)


def _checked(X: Any, n: int) -> Any:
    """A block of finite floats with n columns, sparse ones by rows."""
    X = csr_array(X) if is_sparse(X) else np.asarray(X)
    if X.dtype.kind not in "fiub":
        raise TypeError(f"A block must hold real numbers; given dtype {X.dtype}.")
    require(
        X.ndim == 2 and X.shape[1] == n and X.shape[0] > 0,
        f"A block must have shape (m, {n}) with m >= 1, a column for each feature; given shape {X.shape}.",
    )
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    entries = X.data if is_sparse(X) else X
    bad = int(np.count_nonzero(~np.isfinite(entries)))
    require(
        bad == 0,
        f"A block must be finite; given {bad} entries that are NaN or infinite. Fill or drop them; "
        "the samples before are kept as they were.",
    )
    return X


def _parts(X: Any, rows: int) -> Iterator[Any]:
    for first in range(0, X.shape[0], rows):
        yield X[first : first + rows]
