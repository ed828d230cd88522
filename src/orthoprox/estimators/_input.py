"""What users have at hand, read once: NumPy, SciPy sparse, pandas or polars in, a map and its sizes out."""

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
class Data:
    """The samples as a model wants them."""

    X: Any
    """As read: a NumPy array or a SciPy sparse matrix by rows, not centred."""
    B: LinearMap
    """The samples as a map, centred if the estimator centres; sparse samples are centred without being filled in."""
    mean: Array
    """What was subtracted from every row, of shape (n,); zeros if nothing was."""
    n_samples: int
    n_features: int
    like: Array
    """An array of the float type that X, and all that is stored, has."""
    total_variance: float
    """The squares of all (centred) entries added up, divided by ``degrees``."""

    @property
    def degrees(self) -> int:
        """What sums of squares over the samples are divided by to be variances: m - 1, as in scikit-learn's PCA."""
        return max(self.n_samples - 1, 1)


def validated(estimator: Any, X: Any, *, fitting: bool, least: int = 1) -> Any:
    """X as a NumPy array or a sparse matrix by rows, of float32 or float64, with names and sizes checked."""
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
        words = _not_numbers(X)
        if not words:
            raise
        does = "do" if len(words) > 1 else "does"
        raise ValueError(
            f"Every column must hold numbers; {', '.join(words)} of this frame {does} not. "
            "Leave such columns out, or encode them as numbers."
        ) from error


def _not_numbers(X: Any) -> list[str]:
    """The names of the columns of a frame that cannot be read as numbers."""
    found = []
    for name in getattr(X, "columns", ()):
        try:
            np.asarray(X[name]).astype(np.float64)
        except (ValueError, TypeError):
            found.append(repr(name))
    return found


def read(estimator: Any, X: Any, *, centre: bool) -> Data:
    """Validate X for a fit and wrap it."""
    X = validated(estimator, X, fitting=True, least=2 if centre else 1)
    m, n = X.shape
    mean = column_means(X) if centre else np.zeros(n, dtype=X.dtype)
    B = centred(X, mean) if centre else as_map(X, "X")
    squares = frobenius_squared(B)
    if not math.isfinite(squares):
        raise ValueError(
            f"The entries of X are as large as {abs(X).max():.1e}, and their squares overflow in {X.dtype}. "
            "Divide X by a number first: components do not depend on its scale."
        )
    like = np.empty((0, 0), dtype=X.dtype)
    return Data(X, B, mean, m, n, like, squares / max(m - 1, 1))


def column_means(X: Any) -> Array:
    """The mean of every column, added up in double precision."""
    total = np.asarray(X.sum(axis=0, dtype=np.float64)).reshape(-1)
    return (total / X.shape[0]).astype(X.dtype)


def centred(X: Any, mean: Array, norm: float = DERIVED) -> LinearMap:
    """X without its column means: sparse samples by a correction of every product, dense ones by a copy.

    A bound on the norm that is at hand saves working out a sharp one.
    """
    if issparse(X):
        return Centred(Sparse(X, norm=norm, name="X"), mean, norm=norm)
    D = X - mean
    # What rounding leaves of a constant column is no variance.
    rounding = 16 * np.finfo(X.dtype).eps * np.abs(mean)
    D[:, np.max(np.abs(D), axis=0) <= rounding] = 0.0
    return Matrix(D, norm=norm, name="X")


def variation(X: Any, mean: Array, components: Array) -> tuple[float, float]:
    """The sum of squares of X about the mean, and how much of it is within the span of orthonormal components."""
    D = centred(X, mean, norm=sys.float_info.max)  # nobody asks for it here
    return frobenius_squared(D), float(np.sum(np.square(D(components.T), dtype=np.float64)))
