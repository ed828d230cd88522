"""Read the samples: arrays of any library, SciPy sparse, pandas or polars in, centred samples of unit size out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from array_api_compat import device
from scipy.sparse import csr_array, diags_array
from sklearn.utils.validation import validate_data

from orthoprox._fields import DERIVED, cached_property, replace
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.blocks import Rows, is_chunked
from orthoprox.covariance import Covariance, DeviceCovariance, SampleCovariance, WithVariances
from orthoprox.estimators._device import dispatches, host, is_elsewhere, numpy_dtype, place
from orthoprox.estimators._remainder import Remainder
from orthoprox.estimators._units import exponent, times_power
from orthoprox.maps import Centred, LinearMap, Matrix, Sparse, Stack
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.maps.sparse import is_sparse

_NAMED = 6  # columns with gaps, at most


@dataclass(frozen=True, eq=False)
class Samples:
    """Centred samples divided by a power of two, so that the largest entry lies in [1, 2): what a fit works on.

    Lengths, variances and so on go from these units to those of the data by ``to_data``, and back by ``to_unit``.
    """

    X: Any
    """An array, centred, or a SciPy sparse matrix by rows, centred where that fills nothing in."""
    rest: Array
    """What is still to be subtracted from every row, of shape (n,): for a sparse X, the mean of columns with zeros."""
    mean: Array
    """The centre in the units of the data."""
    exponent: int
    """The data, less the centre, are 2^exponent times these samples."""
    divisor: float | None = None
    """What turns sums of squares into variances, where that is not one less than the number of samples."""
    remainder: Remainder | None = None
    """What a sketch has left out of X, if these are the samples of one: each feature then has a sample of its own."""

    @property
    def n_samples(self) -> int:
        return int(self.X.shape[0]) + (0 if self.remainder is None else self.n_features)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def like(self) -> Array:
        """An empty NumPy array with the float type of X and of every fitted attribute."""
        return np.empty((0, 0), dtype=numpy_dtype(self.X))

    def place(self, a: Array) -> Array:
        """A NumPy array where the samples live, so that products with them stay there."""
        return place(a, self.X)

    def factor(self, V: Array) -> Array:
        """The same in their float type too: PyTorch multiplies no samples in float64 with components in float32."""
        return self.place(V.astype(self.like.dtype, copy=False)) if is_elsewhere(self.X) else V

    @property
    def in_one_process(self) -> bool:
        """Whether runs go one after the other: those on a device would wait for one another."""
        return is_elsewhere(self.X)

    def scores(self, V: Array) -> Array:
        """The products of the samples with the columns of V, where the samples live."""
        return self.rough(self.factor(V))

    def squares(self, V: Array) -> Array:
        """The sum of squares of the scores on each column of V, in NumPy and in double precision."""
        T = self.scores(V)
        xp = array_namespace(T)
        return np.asarray(host(xp.sum(xp.astype(T, xp.float64, copy=False) ** 2, axis=0)))

    def moments(self, V: Array) -> Array:
        """The second moments of the scores, times the number of samples, in NumPy and in double precision."""
        T = self.scores(V)
        xp = array_namespace(T)
        T = xp.astype(T, xp.float64, copy=False)
        return np.asarray(host(T.T @ T))

    @property
    def degrees_of_freedom(self) -> float:
        """The divisor of variances: m - 1, as in scikit-learn's PCA, unless another is given."""
        return max(self.n_samples - 1, 1) if self.divisor is None else self.divisor

    @cached_property
    def B(self) -> LinearMap:
        """The samples as a map; sparse ones are centred without being filled in."""
        return self.map_of_norm()

    @cached_property
    def rough(self) -> LinearMap:
        """The same map for products only: it does without a bound on its norm, which takes long."""
        return self.map_of_norm(sys.float_info.max)

    def map_of_norm(self, norm: float = DERIVED) -> LinearMap:
        """The same map with a norm that is known; a bound is computed when it is not given."""
        if self.remainder is not None:
            roots = np.sqrt(self.remainder.own).astype(self.X.dtype)
            alone = Sparse(csr_array(diags_array(roots)), norm=float(np.max(roots)))
            return Stack(Matrix(self.X, norm=norm, name="X"), alone)
        if not is_sparse(self.X):
            return Matrix(self.X, norm=norm, name="X")
        if not np.any(self.rest):
            return Sparse(self.X, norm=norm, name="X")
        inner = Sparse(self.X, norm=sys.float_info.max, name="X")  # nobody asks for its norm: that of the whole counts
        return Centred(inner, self.rest, norm=norm)

    @cached_property
    def covariance(self) -> Covariance:
        """Products with the covariance, in double precision."""
        d = self.degrees_of_freedom
        if is_elsewhere(self.X):
            xp = array_namespace(self.X)
            return DeviceCovariance(xp.astype(self.X, xp.float64, copy=False), d)
        C = SampleCovariance(self.X.astype(np.float64, copy=False), self.rest.astype(np.float64, copy=False), d)
        return C if self.remainder is None else WithVariances(C, self.remainder.own / d)

    @cached_property
    def spectra(self) -> dict[int | None, Any]:
        """Leading eigenvectors that were computed, by their number, and with None all eigenvalues."""
        return {}

    @cached_property
    def total_squares(self) -> float:
        """The sum of squares of all entries."""
        return frobenius_squared(self.rough)

    @property
    def total_variance(self) -> float:
        return self.total_squares / self.degrees_of_freedom

    def take(self, rows: Array) -> Samples:
        """Some of the samples, about the same centre."""
        return replace(self, X=take_rows(self.X, rows))

    def features(self, columns: Array) -> Samples:
        """Some of the features, in the same units."""
        rest = None if self.remainder is None else self.remainder.features(columns)
        X = _take(self.X, columns, 1) if is_elsewhere(self.X) else self.X[:, columns]
        return replace(self, X=X, rest=self.rest[columns], mean=self.mean[columns], remainder=rest)

    def to_data(self, value: Any, power: int = 1) -> Any:
        """A length of these samples (or a variance, power 2, and so on) in the units of the data.

        It is infinite, or zero, where the float type does not reach.
        """
        scaled = times_power(value, power * self.exponent)
        return scaled if isinstance(value, np.ndarray) or is_elsewhere(value) else float(scaled)

    def to_unit(self, value: float, power: int = 1) -> float:
        """A number in the units of the data, such as a user's weight, in those of these samples."""
        return float(times_power(float(value), -power * self.exponent))


def read_samples(estimator: Any, X: Any, centre: Callable[[Any], Array], least: int) -> Samples:
    """Validate X for a fit, find its centre, subtract it and bring the rest to unit size."""
    X = validate(estimator, X, fitting=True, least=least)
    return about(X, centre(X))


def take_rows(X: Any, rows: Array) -> Any:
    """Some of the rows of validated samples."""
    return _take(X, rows, 0) if is_elsewhere(X) else X[rows]


def _take(X: Array, chosen: Array, axis: int) -> Array:
    """Some rows or columns, by a mask or by numbers in NumPy."""
    numbers = np.flatnonzero(chosen) if np.asarray(chosen).dtype == bool else np.asarray(chosen)
    return array_namespace(X).take(X, place(numbers, X), axis=axis)


def validate(estimator: Any, X: Any, *, fitting: bool, least: int = 1) -> Any:
    """Return X as an array or CSR matrix of float32 or float64, with names and sizes checked.

    The array is one of NumPy, unless scikit-learn was told to dispatch on the library of X.
    """
    if isinstance(X, (Rows, str, Path)) or is_chunked(X):
        from orthoprox.estimators._blocks import gather

        X = gather(estimator, X)
    refuse_lazy(X)
    refuse_times(X)
    refuse_masks(X)
    try:
        return validate_data(
            estimator,
            X,
            reset=fitting,
            accept_sparse="csr",
            dtype=float_types(X),
            ensure_min_samples=least if fitting else 1,
        )
    except (ValueError, TypeError, RuntimeError, BufferError) as error:
        refuse_words(X, error)
        refuse_gaps(X, error)
        refuse_device(X, error)
        raise


def float_types(X: Any) -> tuple[Any, Any]:
    """The float types that are taken, in the library of X; what cannot become one of them is refused."""
    refuse_kinds(X)
    xp = array_namespace(X) if dispatches(X) else np
    return xp.float64, xp.float32


def refuse_kinds(X: Any) -> None:
    """Raise a sentence on arrays of other libraries that scikit-learn lets pass, such as complex ones."""
    if not dispatches(X):
        return
    if array_namespace(X).isdtype(X.dtype, "complex floating"):
        raise ValueError(f"X must hold real numbers; given {X.dtype}. Give X.real, or both parts as features.")
    if str(getattr(X, "layout", "torch.strided")) != "torch.strided":
        raise TypeError(f"X must be a dense tensor; given one of layout {X.layout}. Give X.to_dense().")
    if getattr(X, "requires_grad", False):
        raise ValueError("X requires gradients, and an estimator does not record them. Give X.detach().")


def refuse_device(X: Any, error: Exception) -> None:
    """Raise a sentence for an array on a device that NumPy cannot read."""
    if is_elsewhere(X) and not dispatches(X) and str(device(X)) != "cpu":
        raise TypeError(
            f"X must be an array that NumPy can read; given one on the device {device(X)} ({error}). To have it stay "
            "there, call sklearn.set_config(array_api_dispatch=True) first; or move it to the CPU."
        ) from error


def refuse_words(X: Any, error: Exception) -> None:
    """Raise a sentence that names the columns of a frame that do not hold numbers, if there are any."""
    columns = _non_numeric_columns(X)
    if columns:
        raise ValueError(_not_numbers(columns)) from error


def refuse_lazy(X: Any) -> None:
    """Raise a sentence on a frame that is not there yet."""
    if hasattr(X, "collect") and not hasattr(X, "shape"):
        raise TypeError(f"X must hold numbers, and a {type(X).__name__} has none yet: give X.collect().")


def refuse_times(X: Any) -> None:
    """Raise a sentence that names the columns of a frame with dates or durations: to NumPy they are large numbers."""
    if _is_time(getattr(X, "dtype", None)):
        raise ValueError(
            f"X must hold numbers; given {X.dtype}. Give times as numbers, for example the days since one."
        )
    kinds = zip(X.columns, X.dtypes, strict=False) if hasattr(X, "columns") and hasattr(X, "dtypes") else ()
    columns = [repr(name) for name, kind in kinds if _is_time(kind)]
    if columns:
        raise ValueError(_not_numbers(columns))


def _is_time(kind: Any) -> bool:
    return getattr(kind, "kind", "") in ("m", "M") or (hasattr(kind, "is_temporal") and bool(kind.is_temporal()))


def _not_numbers(columns: Sequence[str]) -> str:
    verb = "do" if len(columns) > 1 else "does"
    return (
        f"Every column must hold numbers; {', '.join(columns)} of this frame {verb} not. "
        "Leave such columns out, or encode them as numbers."
    )


def refuse_masks(X: Any) -> None:
    """Raise a sentence on masked entries, whose values would take part."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        count = int(np.sum(np.ma.getmaskarray(X)))
        raise ValueError(
            f"X has {count} masked entries, and masks are not heeded. Leave such samples or features out, or fill the "
            "gaps first, for example with X.filled."
        )


def refuse_gaps(X: Any, error: Exception) -> None:
    """Raise a sentence that names the columns of a frame with missing values, if there are any."""
    if "contains NaN" not in str(error):
        return
    gaps = {name: int(np.sum(np.isnan(np.asarray(X[name]).astype(np.float64)))) for name in getattr(X, "columns", ())}
    named = [f"{name!r} {count}" for name, count in gaps.items() if count]
    if named:
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        raise ValueError(
            f"Input X contains NaN: {', '.join(named[:_NAMED])}{more} of {len(X)} samples. Leave out such samples or "
            "columns, or fill the gaps first, for example with sklearn.impute.SimpleImputer."
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
    return np.zeros(X.shape[1], dtype=numpy_dtype(X))


def column_means(X: Any) -> Array:
    """The mean of every column, accumulated in double precision, of samples of any size."""
    e = exponent(X)
    if is_elsewhere(X):
        xp = array_namespace(X)
        means = host(xp.sum(times_power(X, -e), axis=0, dtype=xp.float64)) / X.shape[0]
        return np.asarray(times_power(means.astype(numpy_dtype(X)), e))
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
    elif is_elsewhere(Y):
        xp = array_namespace(Y)
        Y = Y - place(rest, Y)
        constant = _is_rounding(host(xp.max(xp.abs(Y), axis=0)), rest)
        Y = xp.where(place(constant, Y), xp.zeros_like(Y), Y)
        rest = np.zeros_like(rest)
        f = exponent(Y)
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
    return np.array([np.sum(data.squares(components.T)), data.total_squares])
