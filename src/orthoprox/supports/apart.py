"""Columns that share no row: each is the leading eigenvector of its own block of C."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array

_ZERO = 1e-9  # an entry this small beside its column is rounding


def share_no_row(S: Array) -> Array:
    """Which masks, shape (N, n, r), have at most one entry in every row."""
    return np.asarray(S.sum(axis=2).max(axis=1) <= 1)


def leading(C: Array, masks: Array) -> Array:
    """The leading eigenvectors of the blocks of C for some masks, shape (N, n), with zeros elsewhere.

    All blocks are padded to the size of the largest one by an eigenvalue that is below all others.
    """
    N, n = masks.shape
    counts = masks.sum(axis=1)
    m = int(counts.max(initial=1))
    inside = np.argsort(~masks, axis=1, kind="stable")[:, :m]
    real = np.arange(m) < counts[:, None]
    blocks = np.where(real[:, :, None] & real[:, None, :], C[inside[:, :, None], inside[:, None, :]], 0.0)
    k, i = np.nonzero(~real)
    blocks[k, i, i] = -1.0 - np.max(np.abs(C))
    x = np.linalg.eigh(blocks)[1][:, :, -1]
    x[np.abs(x) <= _ZERO] = 0.0
    x /= np.sqrt(np.einsum("ki,ki->k", x, x))[:, None]
    found = np.zeros((N, n))
    np.put_along_axis(found, inside, np.where(real, x, 0.0), axis=1)
    return found


def replace_columns(C: Array, X: Array, S: Array, changed: Array) -> Array:
    """Points X, shape (N, n, r), with the columns that have changed, shape (N, r), made best on supports S."""
    X = X.copy()
    k, j = np.nonzero(changed)
    if len(k):
        X[k, :, j] = leading(C, S[k, :, j])
    return X
