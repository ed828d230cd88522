"""The order and the signs in which components are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoprox._types import Array
from orthoprox.estimators._input import Samples
from orthoprox.estimators._signs import choose_signs


def arrange(data: Samples, X: Array, caps: Sequence[int] | None, *, any_basis: bool) -> Array:
    """Columns by falling variance, the largest entry of each positive.

    Parameters
    ----------
    data : Samples
    X : array, shape (n, r)
        Where there are caps, the column with the largest one first.
    caps : sequence of int, optional
        The most nonzeros of each column, as it is shown; where they would not hold in the order of variance, only
        columns with equal caps change places.
    any_basis : bool
        Whether every basis of the span is as good; then it is that of the principal axes.
    """
    if any_basis:
        V = X @ np.linalg.eigh(data.moments(X))[1][:, ::-1].astype(X.dtype)
    else:
        if caps is not None:  # to the places of their caps
            X = X[:, np.argsort(np.argsort(-np.asarray(caps), kind="stable"), kind="stable")]
        variance = data.squares(X)
        order = np.argsort(-variance, kind="stable")
        if caps is not None and np.any(np.count_nonzero(X, axis=0)[order] > caps):
            order = np.arange(len(variance))
            for cap in set(caps):
                equal = np.flatnonzero(np.asarray(caps) == cap)
                order[equal] = equal[np.argsort(-variance[equal], kind="stable")]
        V = X[:, order]
    return np.asarray(V * choose_signs(V) + 0.0)  # no zero is negative
