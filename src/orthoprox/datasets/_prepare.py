"""From a raw matrix to the data of the experiments: choose rows and columns, scale, centre.

The order is that of the paper's author (the public scripts beside ``TDT2.mat``): choose rows; drop the columns
that are zero in all of them; choose columns of what is left; scale every column to unit length; subtract its mean.
Because columns are dropped after rows have been chosen, no zero column is left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from orthoprox._checks import check_matrix
from orthoprox.datasets._base import Dataset
from orthoprox.datasets._errors import DataDamaged
from orthoprox.maps import Centred, Sparse
from orthoprox.maps.sparse import is_sparse

MOST_BYTES = 2**30
"""The largest dense copy of sparse data."""


def choose(
    A: Any, dataset: Dataset, samples: int | None, features: int | None, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Choose rows and columns; return them in double precision, with their indices in increasing order."""
    rows = _choice(rng, np.arange(A.shape[0]), samples, dataset, "samples")
    A = (csr_array(A) if is_sparse(A) else np.asarray(A))[rows].astype(np.float64)
    there = nonzero_columns(A) if dataset.drop_empty else np.arange(A.shape[1])
    kind = "features that are not all zero" if len(there) < A.shape[1] else "features"
    columns = _choice(rng, there, features, dataset, kind)
    A = A[:, columns]
    if not np.all(np.isfinite(A.data if is_sparse(A) else A)):
        raise DataDamaged(
            f"{dataset.name} must hold finite numbers, but some are NaN or infinite. Download the file again."
        )
    return A, rows, columns


def _choice(rng: np.random.Generator, there: Any, wanted: int | None, dataset: Dataset, what: str) -> Any:
    if wanted is None or wanted == len(there):  # without a random number, so that both calls agree
        return there
    if wanted > len(there):
        raise dataset.size_error(what, wanted, len(there))
    return np.sort(rng.choice(there, wanted, replace=False))


def nonzero_columns(A: Any) -> Any:
    """The columns that are not zero throughout."""
    return np.flatnonzero(abs(A).max(axis=0).toarray() if is_sparse(A) else A.any(axis=0))


def scale_then_centre(A: Any) -> Any:
    """Scale columns to unit length, then subtract their means (the paper's preparation)."""
    B = to_dense(normalise_columns(A))
    return B - B.mean(axis=0)


def centre_then_scale(A: Any) -> Any:
    """Subtract the means of columns, then scale to unit length (the published runs on gene expressions)."""
    B = to_dense(A)
    return normalise_columns(B - B.mean(axis=0))


def normalise_columns(A: Any) -> Any:
    """Divide every column by its length; a zero column stays zero and a sparse matrix stays sparse."""
    # by powers of two first, which is exact: squares then neither overflow nor vanish
    most = np.finfo(A.dtype).maxexp - 24
    exponents = np.frexp(_largest_of_columns(A))[1]
    A = _scale_columns(A, np.ldexp(A.dtype.type(1), -np.clip(exponents, -most, most)))
    lengths = np.sqrt((A * A).sum(axis=0))
    return _scale_columns(A, 1.0 / np.where(lengths > 0, lengths, 1.0))


def _largest_of_columns(A: Any) -> Any:
    if not is_sparse(A):
        return abs(A).max(axis=0)
    tops = np.zeros(A.shape[1], dtype=A.dtype)
    np.maximum.at(tops, A.indices, abs(A.data))
    return tops


def _scale_columns(A: Any, factors: Any) -> Any:
    return csr_array(A.multiply(factors)) if is_sparse(A) else A * factors


def prepare_matrix(A: Any, how: str) -> tuple[Any, float]:
    """Prepare a user's matrix: scale and centre it, and return it with what it was divided by.

    Sparse data are centred by a map and stay sparse. Numbers so large or so small that their squares would be lost are
    divided by a power of two; with unit columns ("paper") that is not needed.
    """
    if is_sparse(A):
        A = Sparse(A, norm=0.0, name="The data").B
    else:
        check_matrix(A, "The data")
    divisor = 1.0 if how == "paper" else _divisor(A)
    A = normalise_columns(A) if how == "paper" else A / divisor if divisor != 1 else A
    if is_sparse(A):
        return (Sparse(A) if how == "raw" else Centred(Sparse(A))), divisor
    return (A if how == "raw" else A - A.mean(axis=0)), divisor


def _divisor(A: Any) -> float:
    """Return 1, or the power of two next to the largest entry where that is out of the ordinary."""
    exponent = math.frexp(max(float(A.max()), -float(A.min())))[1]
    return 2.0 ** (exponent - 1) if abs(exponent) > np.finfo(A.dtype).maxexp // 5 else 1.0


def to_dense(A: Any) -> Any:
    """Convert to a dense array, unless that would fill the memory."""
    if not is_sparse(A):
        return A
    m, n = A.shape
    if 8 * m * n > MOST_BYTES:
        raise ValueError(
            f"Centred data are dense: {m} by {n} numbers take {8 * m * n / 2**30:.1f} GiB. Ask for a part, as in "
            "tdt2-1500-500, or keep it sparse: raw=True and orthoprox.maps.Centred; in a command --prepare paper."
        )
    return A.toarray()
