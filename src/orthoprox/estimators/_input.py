"""Read the samples: NumPy, SciPy sparse, pandas or polars in, centred samples of unit size out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from orthoprox._fields import DERIVED, cached_property, replace
from orthoprox._types import Array
from orthoprox.blocks import Rows, is_chunked
from orthoprox.estimators._units import exponent, times_power
from orthoprox.maps import Centred, LinearMap, Matrix, Sparse
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.maps.sparse import is_sparse


@dataclass(frozen=True, eq=False)
class Samples:
    """Centred samples divided by a power of two, so that the largest entry lies in [1, 2): what a fit works on.

    Lengths, variances and so on go from these units to those of the data by ``to_data``, and back by ``to_unit``.
    """

    X: Any
    """A NumPy array, centred, or a SciPy sparse matrix by rows, centred where that fills nothing in."""
    rest: Array
    """What is still to be subtracted from every row, of shape (n,): for a sparse X, the mean of columns with zeros."""
    mean: Array
    """The centre in the units of the data."""
    exponent: int
    """The data, less the centre, are 2^exponent times these samples."""
    divisor: float | None = None
    """What turns sums of squares into variances, where that is not one less than the number of samples."""

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def like(self) -> Array:
        """An empty array with the float type of X and of every fitted attribute."""
        return np.empty((0, 0), dtype=self.X.dtype)

    @property
    def degrees_of_freedom(self) -> float:
        """The divisor of variances: m - 1, as in scikit-learn's PCA, unless another is given."""
        return max(self.n_samples - 1, 1) if self.divisor is None else self.divisor

    @cached_property
    def B(self) -> LinearMap:
        """The samples as a map; sparse ones are centred without being filled in."""
        return self._map()

    @cached_property
    def rough(self) -> LinearMap:
        """The same map for products only: it does without a bound on its norm, which takes long."""
        return self._map(sys.float_info.max)

    def _map(self, norm: float = DERIVED) -> LinearMap:
        if not is_sparse(self.X):
            return Matrix(self.X, norm=norm, name="X")
        sparse = Sparse(self.X, norm=norm, name="X")
        return Centred(sparse, self.rest, norm=norm) if np.any(self.rest) else sparse

    @cached_property
    def total_squares(self) -> float:
        """The sum of squares of all entries."""
        return frobenius_squared(self.rough)

    @property
    def total_variance(self) -> float:
        return self.total_squares / self.degrees_of_freedom

    def take(self, rows: Array) -> Samples:
        """Some of the samples, about the same centre."""
        return replace(self, X=self.X[rows])

    def features(self, columns: Array) -> Samples:
        """Some of the features, in the same units."""
        return replace(self, X=self.X[:, columns], rest=self.rest[columns], mean=self.mean[columns])

    def to_data(self, value: Any, power: int = 1) -> Any:
        """A length of these samples (or a variance, power 2, and so on) in the units of the data.

        It is infinite, or zero, where the float type does not reach.
        """
        scaled = times_power(value, power * self.exponent)
        return scaled if isinstance(value, np.ndarray) else float(scaled)

    def to_unit(self, value: float, power: int = 1) -> float:
        """A number in the units of the data, such as a user's weight, in those of these samples."""
        return float(times_power(float(value), -power * self.exponent))


def read_samples(estimator: Any, X: Any, centre: Callable[[Any], Array], least: int) -> Samples:
    """Validate X for a fit, find its centre, subtract it and bring the rest to unit size."""
    X = validate(estimator, X, fitting=True, least=least)
    return about(X, centre(X))


def validate(estimator: Any, X: Any, *, fitting: bool, least: int = 1) -> Any:
    """Return X as a NumPy array or CSR matrix of float32 or float64, with names and sizes checked."""
    if isinstance(X, (Rows, str, Path)) or is_chunked(X):
        from orthoprox.estimators._blocks import gather

        X = gather(estimator, X)
    try:
        return validate_data(
            estimator,
            X,
            reset=fitting,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_min_samples=least if fitting else 1,
        )
    except (ValueError, TypeError) as error:
        refuse_words(X, error)
        raise


def refuse_words(X: Any, error: Exception) -> None:
    """Raise a sentence that names the columns of a frame that do not hold numbers, if there are any."""
    columns = _non_numeric_columns(X)
    if columns:
        verb = "do" if len(columns) > 1 else "does"
        raise ValueError(
            f"Every column must hold numbers; {', '.join(columns)} of this frame {verb} not. "
            "Leave such columns out, or encode them as numbers."
        ) from error


def _non_numeric_columns(X: Any) -> list[str]:
    """The names of the columns of a data frame that do not convert to numbers."""
    names = []
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name]).astype(np.float64)
        except (ValueError, TypeError):
            names.append(repr(name))
    return names


def no_centre(X: Any) -> Array:
    """The origin."""
    return np.zeros(X.shape[1], dtype=X.dtype)


def column_means(X: Any) -> Array:
    """The mean of every column, accumulated in double precision, of samples of any size."""
    e = exponent(X)
    total = np.asarray(times_power(X, -e).sum(axis=0, dtype=np.float64)).reshape(-1)
    return np.asarray(times_power((total / X.shape[0]).astype(X.dtype), e))


def about(X: Any, mean: Array) -> Samples:
    """Validated samples about a centre; X is copied.

    They are scaled twice: first the entries, so that nothing overflows, then what the centre leaves of them.
    """
    e = exponent(X, mean)
    Y, rest = times_power(X, -e), times_power(mean, -e)
    if is_sparse(Y):
        rest = _centre_full_columns(Y, rest)
        f = exponent(Y.data - rest[Y.indices], rest)  # an entry that is not stored spreads as far as its mean
    else:
        Y -= rest
        Y[:, _is_rounding(np.max(np.abs(Y), axis=0), rest)] = 0.0
        rest = np.zeros_like(rest)
        f = exponent(Y)
    f = min(f, sys.float_info.max_exp - 1 - e)  # so that 2^(e + f) is a number
    return Samples(times_power(Y, -f), times_power(rest, -f), mean, e + f)


def _centre_full_columns(Y: Any, mean: Array) -> Array:
    """Subtract the mean in place from columns without a zero; return that of the others, and zeros.

    A column with zeros spreads at least as far as its mean, so that products less the product with the mean keep
    their digits; a full column may lie far from zero and spread little.
    """
    Y.sum_duplicates()
    full = np.bincount(Y.indices, minlength=Y.shape[1]) == Y.shape[0]
    inside = full[Y.indices]
    columns = Y.indices[inside]
    D = Y.data[inside] - mean[columns]
    sizes = np.zeros_like(mean)
    np.maximum.at(sizes, columns, np.abs(D))
    Y.data[inside] = np.where(_is_rounding(sizes, mean)[columns], 0.0, D)
    return np.where(full, 0.0, mean).astype(mean.dtype)


def _is_rounding(sizes: Array, mean: Array) -> Array:
    """Whether what the mean leaves of a column is rounding error only: then the column is constant."""
    return np.asarray(sizes <= 16 * np.finfo(mean.dtype).eps * np.abs(mean))


def share_kept(data: Samples, components: Array) -> float:
    """The share of the sum of squares that lies in the span of orthonormal components; 1 where there is nothing."""
    kept, total = kept_of(data, components)
    return float(kept / total) if total > 0 else 1.0


def kept_of(data: Samples, components: Array) -> Array:
    """The sum of squares that lies in the span of orthonormal components, and that of all."""
    return np.array([np.sum(np.square(data.rough(components.T), dtype=np.float64)), data.total_squares])
