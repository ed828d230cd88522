"""From a raw matrix to the data of the experiments: choose rows and columns, scale, centre.

The order is that of the paper's author (the public scripts beside ``TDT2.mat``): choose rows; drop the columns
that are zero in all of them; choose columns of what is left; scale every column to unit length; subtract its mean.
Because columns are dropped after rows have been chosen, no zero column is left.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from orthoprox.datasets._base import Dataset
from orthoprox.datasets._errors import DataDamaged
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
    lengths = np.sqrt((A * A).sum(axis=0))
    scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
    return csr_array(A.multiply(scale)) if is_sparse(A) else A * scale


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
