"""Sparse components put together entry by entry: what a run has to beat where nonzeros are few."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array

_FEATURES = 300
_EACH = 8  # nonzeros a component, on average


def is_worth_it(n: int, r: int, k: int) -> bool:
    """Whether nonzeros are so few, and features too, that entry by entry is quick and may win."""
    return n <= _FEATURES and k <= _EACH * r and k < n * r


def greedy_support(C: Array, r: int, k: int, caps: list[int] | None) -> Array:
    """Where k nonzeros go, one after the other to where the variance of a column grows most; no two in a row.

    With disjoint supports the columns are orthogonal by themselves, and the variance of a column is the largest
    eigenvalue of C on its rows. The first r are the features of largest variance, which is the best there is for k = r.

    Parameters
    ----------
    C : array, shape (n, n)
        The covariances.
    r : int
        The number of columns.
    k : int
        Nonzeros in all.
    caps : list of int, optional
        The most in each column.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.estimators._greedy import greedy_support
    >>> C = np.diag([3.0, 2.0, 2.5]) + 1.0
    >>> greedy_support(C, 1, 2, None).ravel()
    array([ True, False,  True])
    """
    n = C.shape[0]
    on = np.zeros((n, r), dtype=bool)
    on[np.argsort(-np.diag(C), kind="stable")[:r], np.arange(r)] = True
    variance = np.max(np.where(on, np.diag(C)[:, None], 0.0), axis=0)
    gains = [_gains(C, on, j, variance[j]) for j in range(r)]
    for _ in range(min(k, n) - r):
        open_ = [j for j in range(r) if caps is None or np.count_nonzero(on[:, j]) < caps[j]]
        free = ~np.any(on, axis=1)
        if not open_ or not np.any(free):
            break
        table = np.where(free[:, None], np.stack([gains[j] for j in open_], axis=1), -np.inf)
        row, place = np.unravel_index(np.argmax(table), table.shape)
        j = open_[int(place)]
        variance[j] += table[row, place]
        on[row, j] = True
        gains[j] = _gains(C, on, j, variance[j])
    return on


def _gains(C: Array, on: Array, j: int, variance: float) -> Array:
    """How much the variance of column j grows with each row."""
    rows = np.flatnonzero(on[:, j])
    s, n = len(rows), C.shape[0]
    blocks = np.empty((n, s + 1, s + 1), dtype=C.dtype)
    blocks[:, :s, :s] = C[np.ix_(rows, rows)]
    blocks[:, :s, s] = blocks[:, s, :s] = C[:, rows]
    blocks[:, s, s] = np.diag(C)
    return np.linalg.eigvalsh(blocks)[:, -1] - variance
