"""Columns that share no row: each is the leading eigenvector of its own block of C."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.supports.newton import solve

_ZERO = 1e-9  # an entry this small beside its column is rounding
_DECOMPOSED = 10  # the largest size of blocks whose eigenvectors are all computed
_POWERS = 3  # power steps for larger ones
_QUOTIENTS = 3  # and Rayleigh quotient steps
_OFF = 1e-13  # of the largest entry, beside a quotient: at an eigenvalue there is nothing to solve
_TINY = np.finfo(np.float64).tiny


def share_no_row(S: Array) -> Array:
    """Which masks, shape (N, n, r), have at most one entry in every row."""
    return np.asarray(S.sum(axis=2).max(axis=1) <= 1)


def leading(C: Array, masks: Array, near: Array) -> Array:
    """The leading eigenvectors of the blocks of C for some masks, shape (N, n), with zeros elsewhere.

    Large blocks are not decomposed: from vectors near the eigenvectors, of the same shape, they take power steps and
    Rayleigh quotient steps, which converge cubically. All blocks are padded to the size of the largest one by an
    eigenvalue that is below all others.
    """
    N, n = masks.shape
    counts = masks.sum(axis=1)
    m = int(counts.max(initial=1))
    inside = np.argsort(~masks, axis=1, kind="stable")[:, :m]
    real = np.arange(m) < counts[:, None]
    blocks = np.where(real[:, :, None] & real[:, None, :], C[inside[:, :, None], inside[:, None, :]], 0.0)
    k, i = np.nonzero(~real)
    blocks[k, i, i] = -1.0 - np.max(np.abs(C))
    if m <= _DECOMPOSED:
        x = np.linalg.eigh(blocks)[1][:, :, -1]
    else:
        x = _iterated(blocks, np.where(real, np.take_along_axis(near, inside, axis=1), 0.0))
    x[np.abs(x) <= _ZERO] = 0.0
    x /= np.maximum(np.sqrt(np.einsum("ki,ki->k", x, x)), _TINY)[:, None]
    found = np.zeros((N, n))
    np.put_along_axis(found, inside, np.where(real, x, 0.0), axis=1)
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
        y[lost] = np.linalg.eigh(blocks[lost])[1][:, :, -1]
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
    masks, near = S[k, :, j], X[k, :, j]
    counts = masks.sum(axis=1)
    small = 2 * counts <= counts.max(initial=0)  # for which blocks of half the size are enough
    for some in (small, ~small):
        if some.any():
            X[k[some], :, j[some]] = leading(C, masks[some], near[some])
    return X
