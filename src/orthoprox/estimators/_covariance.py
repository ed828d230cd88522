"""Read a covariance or correlation matrix: samples that have it, which a fit takes like any others."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, validate_data

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.estimators._device import host
from orthoprox.estimators._input import Samples, about, no_centre, refuse_words
from orthoprox.estimators._units import exponent, times_power


def read_covariance(estimator: Any, C: Any, n_samples: int | None = None) -> Samples:
    """Validate C for a fit and return samples about zero whose covariance it is.

    With C = D R D, where D holds standard deviations, and R = Q diag(l) Q', these are the k rows of
    sqrt(k) diag(sqrt(l)) Q' D that are not zero: their mean square is C, and a variance in units of C has the divisor
    k. Through R every feature keeps its digits, whatever its unit. If C was divided by n_samples - 1, the mean square
    of the n_samples samples behind it is smaller by (n_samples - 1) / n_samples, and so are these.
    """
    A = _validate(estimator, C)
    share = 1.0 if n_samples is None else 1.0 - 1.0 / _check_n_samples(n_samples)
    e = exponent(A) // 2  # an even power of two, whose root is one
    deviations, values, Q = _correlation(times_power(A.astype(np.float64), -2 * e), A)
    kept = values > A.shape[0] * np.finfo(A.dtype).eps * values[-1]
    k = int(np.count_nonzero(kept))
    S = np.sqrt(k * share * values[kept])[:, None] * Q[:, kept].T * deviations
    data = about(S.astype(A.dtype), no_centre(A))
    return replace(data, exponent=data.exponent + e, divisor=k * share)


def _correlation(C: Array, given: Array) -> tuple[Array, Array, Array]:
    """Standard deviations, and the eigenvalues and eigenvectors of the correlations.

    A feature is constant if it spreads no more than rounding beside the one that spreads most.
    """
    eps, variances = np.finfo(given.dtype).eps, np.diag(C)
    _require_not_negative(float(np.min(variances) / np.max(np.abs(C))), given)
    constant = variances <= (8 * eps) ** 2 * np.max(variances)
    deviations = np.where(constant, 0.0, np.sqrt(np.abs(variances)))
    unit = np.where(constant, np.sqrt(np.max(np.abs(C))), deviations)
    values, Q = np.linalg.eigh(C / unit / unit[:, None])
    _require_not_negative(float(values[0] / max(values[-1], -values[0])), given)
    return deviations, values, Q


def _validate(estimator: Any, C: Any) -> Array:
    """C as a symmetric array, with the names of features and their number noted."""
    try:
        A = check_array(host(C), dtype=(np.float64, np.float32), input_name="C", estimator=estimator)
    except (ValueError, TypeError) as error:
        refuse_words(C, error)
        raise
    if A.shape[0] != A.shape[1]:
        raise ValueError(
            f"C must be a covariance or correlation matrix, with a row and a column for each feature; given shape "
            f"{A.shape}, which is not square. For samples use fit."
        )
    _check_labels(C)
    validate_data(estimator, C, skip_check_array=True, reset=True)
    gap, size = np.max(np.abs(A - A.T)), np.max(np.abs(A))
    if gap > _tolerance(A.dtype) * size:
        i, j = np.unravel_index(np.argmax(np.abs(A - A.T)), A.shape)
        raise ValueError(
            f"C must be symmetric: entry ({i}, {j}) is {A[i, j]:g} and entry ({j}, {i}) is {A[j, i]:g}. "
            "If these should be equal, pass (C + C.T) / 2."
        )
    if size == 0:
        raise ValueError("C is zero: there is no variance for components to explain.")
    return np.asarray(A / 2 + A.T / 2)


def _check_labels(C: Any) -> None:
    """Refuse a frame whose rows have the names of its columns in another order: then it is another matrix."""
    rows, columns = (list(getattr(C, name)) if hasattr(C, "loc") else [] for name in ("index", "columns"))
    if rows != columns and set(rows) == set(columns):
        raise ValueError(
            "C must have its rows in the order of its columns; given a frame with the same names in another order, "
            f"{rows[0]!r} first and {columns[0]!r} first. Give C.loc[C.columns]."
        )


def _require_not_negative(least: float, C: Array) -> None:
    """Refuse C if its smallest eigenvalue, relative to the largest magnitude, is negative beyond rounding."""
    if least < -_tolerance(C.dtype):
        values = np.linalg.eigvalsh(C)
        raise ValueError(
            "C must not have negative eigenvalues, since no data have such a covariance; the smallest is "
            f"{values[0]:.3g}, the largest {values[-1]:.3g}. Covariances of pairs with missing values may be like "
            "this, and rounded ones: replace C by the nearest matrix without negative eigenvalues, or fit the samples."
        )


def _tolerance(dtype: Any) -> float:
    """What counts as rounding, relative to the largest entry: half of the digits, as many as files may keep."""
    return float(np.sqrt(np.finfo(dtype).eps))


def _check_n_samples(n_samples: Any) -> int:
    try:
        number = operator.index(n_samples)
    except TypeError:
        raise TypeError(f"n_samples must be a whole number; given {n_samples!r}.") from None
    if number < 2:
        raise ValueError(f"n_samples must be at least 2, since fewer samples have no covariance; given {number}.")
    return number
