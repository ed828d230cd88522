"""Parts of a table: some samples, some features; the same for arrays and for sparse matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import scipy.sparse

from orthoprox._fields import replace
from orthoprox.cli.tables.table import LeftOut, Table
from orthoprox.maps.sparse import is_sparse


def take(X: Any, *, columns: Any) -> Any:
    """Some columns of a matrix, by their numbers."""
    if is_sparse(X):
        return scipy.sparse.csr_array(X.tocsc()[:, columns])
    return np.asarray(X[:, columns], order=_order(X))


def _order(X: Any) -> Literal["C", "F"]:
    """The order in memory, which parts of an array keep, as those of a frame do."""
    return "C" if X.flags.c_contiguous else "F"


def keep_features(table: Table, kept: Any, left: Sequence[LeftOut]) -> Table:
    """The features where ``kept`` is true, and what to say of the others."""
    where = np.flatnonzero(kept)
    return replace(
        table,
        X=take(table.X, columns=where),
        names=tuple(table.names[j] for j in where),
        columns=table.columns[where],
        left_out=(*table.left_out, *left),
    )


def keep_samples(table: Table, kept: Any) -> Table:
    """The samples where ``kept`` is true."""
    where = np.flatnonzero(kept)
    X = table.X[where] if is_sparse(table.X) else np.asarray(table.X[where], order=_order(table.X))
    return replace(table, X=X, index=tuple(table.index[i] for i in where), rows=table.rows[where])


def where_true(X: Any, test: Any) -> tuple[Any, Any]:
    """Rows and columns of the entries that pass a test which zero fails, in the order of the columns."""
    if is_sparse(X):
        A = X.tocoo()
        hit = test(A.data)
        i, j = A.row[hit], A.col[hit]
    else:
        i, j = np.nonzero(test(X))
    order = np.lexsort((i, j))
    return i[order], j[order]


def constant_columns(X: Any) -> tuple[Any, Any]:
    """Which columns have one value only, and the first value of each."""
    if not is_sparse(X):
        return np.all(X == X[:1], axis=0), X[0]
    low, high = (np.asarray(extreme.todense()).ravel() for extreme in (X.min(axis=0), X.max(axis=0)))
    return low == high, low


def deviations(X: Any) -> Any:
    """The standard deviation of every column, of entries of any size."""
    if not is_sparse(X):
        size = np.max(np.abs(X), axis=0).astype(np.float64)
        size[size == 0] = 1.0
        return size * np.std(X / size, axis=0, ddof=1)
    A = X.tocsc().astype(np.float64)
    m, mean = A.shape[0], np.asarray(A.mean(axis=0)).ravel()
    squares = np.asarray(A.multiply(A).sum(axis=0)).ravel()
    return np.sqrt(np.maximum(squares - m * mean**2, 0.0) / (m - 1))
