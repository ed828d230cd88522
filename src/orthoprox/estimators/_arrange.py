"""The order and the signs in which components are shown."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoprox._types import Array
from orthoprox.estimators._input import Samples
from orthoprox.estimators._signs import choose_signs


def arrange(data: Samples, X: Array, caps: Sequence[int] | None, *, any_basis: bool) -> Array:
    """Columns by falling variance as far as caps allow, the largest entry of each positive.

    Parameters
    ----------
    data : Samples
    X : array, shape (n, r)
        With a place for each column, in some order, where there are caps.
    caps : sequence of int, optional
        The most nonzeros of the column in each place.
    any_basis : bool
        Whether every basis of the span is as good; then it is that of the principal axes.
    """
    if any_basis:
        V = X @ np.linalg.eigh(data.moments(X))[1][:, ::-1].astype(X.dtype)
    else:
        variance = data.squares(X)
        order = np.argsort(-variance, kind="stable").tolist()
        V = X[:, order if caps is None else _within(order, np.count_nonzero(X, axis=0), np.asarray(caps))]
    return np.asarray(V * choose_signs(V) + 0.0)  # no zero is negative


def _within(order: list[int], counts: Array, caps: Array) -> list[int]:
    """Columns in their places: in each the first that has no more nonzeros and leaves a place to all others."""
    left, placed = order, []
    for j in range(len(caps)):
        later = np.sort(caps[j + 1 :])
        fitting = (i for i in left if counts[i] <= caps[j] and np.all(np.sort(counts[_without(left, i)]) <= later))
        placed.append(next(fitting))
        left = _without(left, placed[-1])
    return placed


def _without(columns: list[int], one: int) -> list[int]:
    return [i for i in columns if i != one]
