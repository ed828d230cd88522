"""Read the samples: NumPy, SciPy sparse, pandas or polars in, a linear map and its sizes out."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from orthoprox._fields import DERIVED
from orthoprox._types import Array
from orthoprox.maps import Centred, LinearMap, Matrix, Sparse, as_map
from orthoprox.maps._frobenius import frobenius_squared


@dataclass(frozen=True, eq=False)
class Samples:
    """Validated samples and what every fit needs of them."""

    X: Any
    """As validated: a NumPy array or a SciPy sparse matrix by rows, not centred."""
    B: LinearMap
    """The samples as a map, centred if the estimator centres; sparse samples are centred without being filled in."""
    mean: Array
    """The vector subtracted from every row, of shape (n,); zeros without centring."""
    n_samples: int
    n_features: int
    like: Array
    """An empty array with the float type of X and of every fitted attribute."""
    total_variance: float
    """The sum of squares of all (centred) entries, divided by ``degrees_of_freedom``."""

    @property
    def degrees_of_freedom(self) -> int:
        """The divisor of variances: m - 1, as in scikit-learn's PCA."""
        return max(self.n_samples - 1, 1)


def validate(estimator: Any, X: Any, *, fitting: bool, least: int = 1) -> Any:
    """Return X as a NumPy array or CSR matrix of float32 or float64, with names and sizes checked."""
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
        columns = _non_numeric_columns(X)
        if not columns:
            raise
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


def read_samples(estimator: Any, X: Any, *, centre: bool) -> Samples:
    """Validate X for a fit, centre it and measure it."""
    X = validate(estimator, X, fitting=True, least=2 if centre else 1)
    m, n = X.shape
    mean = column_means(X) if centre else np.zeros(n, dtype=X.dtype)
    B = centre_at(X, mean) if centre else as_map(X, "X")
    squares = frobenius_squared(B)
    if not math.isfinite(squares):
        raise ValueError(
            f"The entries of X are as large as {abs(X).max():.1e}, and their squares overflow in {X.dtype}. "
            "Divide X by a number first: components do not depend on its scale."
        )
    like = np.empty((0, 0), dtype=X.dtype)
    return Samples(X, B, mean, m, n, like, squares / max(m - 1, 1))


def column_means(X: Any) -> Array:
    """The mean of every column, accumulated in double precision."""
    total = np.asarray(X.sum(axis=0, dtype=np.float64)).reshape(-1)
    return (total / X.shape[0]).astype(X.dtype)


def centre_at(X: Any, mean: Array, norm: float = DERIVED) -> LinearMap:
    """Subtract a centre from every row: a dense X is copied, a sparse X gets a correction to each product.

    Pass a bound on the norm to save computing a sharp one.
    """
    if issparse(X):
        return Centred(Sparse(X, norm=norm, name="X"), mean, norm=norm)
    D = X - mean
    # A constant column keeps rounding error only, not variance.
    rounding = 16 * np.finfo(X.dtype).eps * np.abs(mean)
    D[:, np.max(np.abs(D), axis=0) <= rounding] = 0.0
    return Matrix(D, norm=norm, name="X")


def variation(X: Any, mean: Array, components: Array) -> tuple[float, float]:
    """The sum of squares of X about the mean, and the part within the span of orthonormal components."""
    D = centre_at(X, mean, norm=sys.float_info.max)  # the norm is not used
    return frobenius_squared(D), float(np.sum(np.square(D(components.T), dtype=np.float64)))
