"""One column after the other, on features that no other has."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import Covariance
from orthoprox.supports.points import Points, at, orthonormalise

_STARTS = 12  # of the power methods for one column, by each of two rules
_TURNS = 5  # of the truncated power method
_RACE = 2  # turns before the worse ones are dropped,
_SHARE = 3  # all but one of so many
_POOL = 400  # features whose columns of C are looked at
_SKETCH = 20  # random vectors that tell their lengths
_SPARE = 3  # times as many of its largest entries tell how large a column is: other columns may have taken some rows
_ENOUGH = 200  # of them, however many are allowed
_DIGITS = 7  # of variances that are compared


def one_by_one(C: Covariance, allowances: Allowances, X: Array, variants: int = 1) -> Points:
    """One column after the other on features that no other has, each the best of several truncated power methods.

    Half of them begin at the features that matter most to X among those left, half at those whose columns of C have the
    largest sums over as many rows as are allowed. A total is shared out equally. For each allowance there are as many
    candidates as variants, if features are left: they begin with the best first column, the second best, and so on.
    """
    level = np.repeat(np.arange(len(allowances)), variants)
    variant = np.tile(np.arange(variants), len(allowances))
    caps = -np.sort(-_equal(allowances), axis=1)[level]
    order = np.argsort(-_equal(allowances), axis=1, kind="stable")[level]
    there = caps.sum(axis=1) <= C.n
    if not there.any():
        return at(C, np.zeros((0, C.n, allowances.r)), allowances.take(level[:0]), level[:0])
    Z, free = np.zeros((len(level), C.n, allowances.r)), np.ones((len(level), C.n), dtype=bool)
    sizes, pool = np.linalg.norm(C.product(X), axis=1), _long_columns(C)
    rows, entries = _top(np.abs(C.columns(pool)), min(_SPARE * int(caps.max()), _ENOUGH))
    for j in range(allowances.r):
        alike = variants if j == 0 else 1  # as long as no features are taken
        left, most = free[::alike, rows], caps[::alike, j]
        sums = np.full((len(left), C.n), -1.0)
        sums[:, pool] = np.einsum("tf,ktf->kf", entries, left & (np.cumsum(left, axis=1) <= most[:, None, None]))
        x = _columns(C, free[::alike], most, (np.broadcast_to(sizes, sums.shape), sums))
        x = _chosen(C, np.repeat(x, alike, axis=0), variant if j == 0 else 0 * variant)
        Z[np.arange(len(level)), :, order[:, j]] = np.where(there[:, None], x, 0.0)
        free &= x == 0
    Z, _, found = orthonormalise(Z[there], Z[there] != 0)
    level = level[there][found]
    return at(C, Z, allowances.take(level), level)


def splits(allowance: Allowance) -> list[Allowance]:
    """Caps for columns that are found one after the other: equal parts of a total, and each half of the one before.

    Equal parts may tear a large group of features apart, and no exchange of few entries puts it together again.
    """
    if not allowance.slack:
        return [allowance]
    r, caps = allowance.r, list(allowance.caps)
    for place, j in enumerate(sorted(range(r), key=lambda j: -allowance.caps[j])):  # where most is allowed comes first
        caps[j] = min(caps[j], max(1, round(allowance.total * 0.5 ** (place + 1) / (1 - 0.5**r))))
    halved = Allowance(allowance.total, tuple(caps))
    return [allowance.equal_caps(), Allowance(halved.total, halved.level())]


def _equal(allowances: Allowances) -> Array:
    """Caps, equal ones where a total is shared out."""
    part = np.maximum(allowances.totals // allowances.r, 1)[:, None]
    return np.where(allowances.slack[:, None], np.minimum(part, allowances.caps), allowances.caps)


def _columns(C: Covariance, free: Array, caps: Array, sizes: tuple[Array, ...]) -> Array:
    """Truncated power methods for a column of each candidate, from features that are large; shape (N, n, starts).

    Many lead to the same column. After two turns the best third goes on.
    """
    firsts = [np.argsort(-np.where(free, size, -2.0), axis=1, kind="stable")[:, :_STARTS] for size in sizes]
    starts = np.concatenate(firsts, axis=1)
    y = C.columns(starts.ravel()).reshape(C.n, *starts.shape).transpose(1, 0, 2)
    x = _largest(y, free, caps)
    for turn in range(1, _TURNS):
        y = C.products(x)
        if turn == _RACE:
            values = np.einsum("kij,kij->kj", x, y)
            best = np.argsort(-values, axis=1, kind="stable")[:, None, : -(-x.shape[2] // _SHARE)]
            y = np.take_along_axis(y, best, axis=2)
        x = _largest(y, free, caps)
    return x


def _largest(y: Array, free: Array, caps: Array) -> Array:
    """Columns with their largest entries in free rows alone, of unit length."""
    y = np.where(free[:, :, None], y, 0.0)
    few = Allowances(caps * y.shape[2], np.broadcast_to(caps[:, None], (len(caps), y.shape[2])))
    x = np.where(few.choose(np.abs(y)), y, 0.0)
    return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), np.finfo(x.dtype).tiny))


def _chosen(C: Covariance, x: Array, place: Array) -> Array:
    """The best of several columns or, of those with other variances, the second, and so on; shape (N, n)."""
    values = np.einsum("kij,kij->kj", x, C.products(x))
    scale = np.maximum(values.max(axis=1, keepdims=True), np.finfo(x.dtype).tiny)
    values = -np.round(values / scale, _DIGITS)
    order = np.argsort(values, axis=1, kind="stable")
    values = np.take_along_axis(values, order, axis=1)
    rank = np.concatenate([np.zeros((len(x), 1), dtype=int), np.cumsum(np.diff(values, axis=1) > 0, axis=1)], axis=1)
    first = np.argmax(rank >= np.minimum(place, rank[:, -1])[:, None], axis=1)
    every = np.arange(len(x))
    return x[every, :, order[every, first]]


def _top(columns: Array, most: int) -> tuple[Array, Array]:
    """The rows of the largest entries of each column, and these entries, in falling order."""
    n, columns = len(columns), np.ascontiguousarray(columns.T)
    if most < n:
        rows = np.argpartition(columns, n - most, axis=1)[:, n - most :]
        entries = np.take_along_axis(columns, rows, axis=1)
    else:
        rows, entries = np.broadcast_to(np.arange(n), columns.shape), columns
    order = np.argsort(-entries, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1).T, np.take_along_axis(entries, order, axis=1).T


def _long_columns(C: Covariance) -> Array:
    """The features whose columns of C are longest, by a few products if there are many."""
    if C.n <= _POOL:
        return np.arange(C.n)
    sketch = C.product(np.random.default_rng(0).standard_normal((C.n, _SKETCH)))
    return np.sort(np.argsort(-np.linalg.norm(sketch, axis=1), kind="stable")[:_POOL])
