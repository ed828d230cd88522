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
"""Sparse data are not made dense beyond this size."""


def chosen(
    A: Any, dataset: Dataset, samples: int | None, features: int | None, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """The chosen rows and columns in double precision, and which they are, in increasing order."""
    rows = _choice(rng, np.arange(A.shape[0]), samples, dataset, "samples")
    A = (csr_array(A) if is_sparse(A) else np.asarray(A))[rows].astype(np.float64)
    there = nonempty_columns(A) if dataset.drop_empty else np.arange(A.shape[1])
    kind = "features that are not all zero" if len(there) < A.shape[1] else "features"
    columns = _choice(rng, there, features, dataset, kind)
    A = A[:, columns]
    if not np.all(np.isfinite(A.data if is_sparse(A) else A)):
        raise DataDamaged(f"{dataset.name} must hold finite numbers, but some are NaN or infinite: get the file anew.")
    return A, rows, columns


def _choice(rng: np.random.Generator, there: Any, wanted: int | None, dataset: Dataset, what: str) -> Any:
    if wanted is None or wanted == len(there):  # no random number is spent, so both ways of saying it agree
        return there
    if wanted > len(there):
        raise dataset.too_few(what, wanted, len(there))
    return np.sort(rng.choice(there, wanted, replace=False))


def nonempty_columns(A: Any) -> Any:
    """The columns that are not zero throughout."""
    return np.flatnonzero(abs(A).max(axis=0).toarray() if is_sparse(A) else A.any(axis=0))


def unit_then_centred(A: Any) -> Any:
    """Columns of unit length, then without their means (the paper's preparation)."""
    B = dense(unit_columns(A))
    return B - B.mean(axis=0)


def centred_then_unit(A: Any) -> Any:
    """Columns without their means, then of unit length (the published runs on gene expressions)."""
    B = dense(A)
    return unit_columns(B - B.mean(axis=0))


def unit_columns(A: Any) -> Any:
    """Every column divided by its length; a zero column stays zero and a sparse matrix stays sparse."""
    lengths = np.sqrt((A * A).sum(axis=0))
    scale = 1.0 / np.where(lengths > 0, lengths, 1.0)
    return csr_array(A.multiply(scale)) if is_sparse(A) else A * scale


def dense(A: Any) -> Any:
    """The same as an array, unless that would fill the memory."""
    if not is_sparse(A):
        return A
    m, n = A.shape
    if 8 * m * n > MOST_BYTES:
        raise ValueError(
            f"Centred data are dense, and {m} by {n} of them take {8 * m * n / 2**30:.1f} GiB. Ask for a part, as in "
            "tdt2-1500-500, or keep it sparse: raw=True and orthoprox.maps.Centred; in a command --prepare paper."
        )
    return A.toarray()
