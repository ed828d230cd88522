"""Columns that share no row: each is the leading eigenvector of its own block of C."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.supports.systems import eigh, solve

_ZERO = 1e-9  # an entry this small beside its column is rounding
_DECOMPOSED = 10  # the largest size of blocks whose eigenvectors are all computed
_WIDTHS = np.array([5, 10, *(m * 2**i for i in range(30) for m in (15, 20))])  # to which blocks are padded
_POWERS = 3  # power steps for larger ones
_QUOTIENTS = 3  # and Rayleigh quotient steps
_OFF = 1e-13  # of the largest entry, beside a quotient: at an eigenvalue there is nothing to solve
_TINY = np.finfo(np.float64).tiny


def share_no_row(S: Array) -> Array:
    """Which masks, shape (N, n, r), have at most one entry in every row."""
    some = S.view(np.int8) if S.shape[2] < 128 else S.astype(int)
    return np.asarray(np.einsum("kij->ki", some).max(axis=1, initial=0) <= 1)  # quicker than sum for short rows


def leading(C: Array, masks: Array, near: Array) -> Array:
    """The leading eigenvectors of the blocks of C for some masks, shape (N, n), with zeros elsewhere.

    Large blocks are not decomposed: from vectors near the eigenvectors, of the same shape, they take power steps and
    Rayleigh quotient steps, which converge cubically. Blocks are padded by an eigenvalue that is below all others, to a
    width that follows from their own size: what is found must not depend on what else is in a batch.
    """
    found, counts = np.zeros(masks.shape), np.count_nonzero(masks, axis=1)
    kinds = np.searchsorted(_WIDTHS, counts)
    for kind in np.unique(kinds):
        some, width = np.flatnonzero(kinds == kind), int(_WIDTHS[kind])
        which, rows = np.nonzero(masks[some])
        real = np.arange(width) < counts[some, None]
        inside = np.zeros(real.shape, dtype=int)
        inside[real] = rows
        pairs = inside[:, :, None] * len(C) + inside[:, None, :]
        blocks = np.where(real[:, :, None] & real[:, None, :], C.reshape(-1)[pairs], 0.0)
        k, i = np.nonzero(~real)
        blocks[k, i, i] = -1.0 - np.max(np.abs(C))
        if width <= _DECOMPOSED:
            x = eigh(blocks)[1][:, :, -1]
        else:
            x = _iterated(blocks, np.where(real, near[some[:, None], inside], 0.0))
        x = np.where(np.abs(x) <= _ZERO, 0.0, x)
        x /= np.maximum(np.sqrt(np.einsum("ki,ki->k", x, x)), _TINY)[:, None]
        found[some[which], rows] = x[real]
    return found


def _iterated(blocks: Array, x: Array) -> Array:
    """The eigenvectors of blocks next to x after power steps; where Rayleigh quotient steps lose, by decomposition."""
    for _ in range(_POWERS):
        x = _unit(_times(blocks, x))
    y, off = x, _OFF * np.abs(blocks).max(axis=(1, 2))
    for _ in range(_QUOTIENTS):
        shift = _quotients(blocks, y) + off
        y = _unit(solve(blocks - shift[:, None, None] * np.eye(blocks.shape[1]), y[:, :, None])[:, :, 0])
    lost = ~(_quotients(blocks, y) >= _quotients(blocks, x))
    if lost.any():
        y[lost] = eigh(blocks[lost])[1][:, :, -1]
    return y


def _times(blocks: Array, x: Array) -> Array:
    return np.asarray((blocks @ x[:, :, None])[:, :, 0])


def _quotients(blocks: Array, x: Array) -> Array:
    return np.einsum("ki,ki->k", x, _times(blocks, x))


def _unit(x: Array) -> Array:
    return np.asarray(x / np.maximum(np.sqrt(np.einsum("ki,ki->k", x, x)), _TINY)[:, None])


def replace_columns(C: Array, X: Array, S: Array, changed: Array) -> Array:
    """Points X, shape (N, n, r), with the columns that have changed, shape (N, r), made best on supports S."""
    X = X.copy()
    k, j = np.nonzero(changed)
    X[k, :, j] = leading(C, S[k, :, j], X[k, :, j])
    return X
