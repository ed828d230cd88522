"""Orthonormal points on given supports, and what entries of theirs are worth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import Covariance
from orthoprox.supports.apart import replace_columns, share_no_row
from orthoprox.supports.newton import maximise, variance

NONE = np.zeros(0, dtype=int)
"""Nothing said."""
_ZERO = 1e-9  # an entry this small beside its column is rounding
_RIDGE = 1e-12  # of Gram matrices of unit columns, which may vanish on a support or be dependent there
_FEASIBLE = 1e-8  # how far from orthonormal a point may be
_DIGITS = 7  # of values that are compared
_LEFT = 1e-3  # of a column that is made orthogonal to others: with less, the support does not allow it


@dataclass(frozen=True, eq=False)
class Points:
    """Several orthonormal points with their supports and variances, of one or several levels."""

    X: Array
    """Shape (N, n, r)."""
    S: Array
    """Masks of the supports; X may have zeros inside."""
    values: Array
    level: Array = field(default_factory=lambda: NONE)
    """Which allowance a point belongs to; the first if nothing is said."""

    def __post_init__(self) -> None:
        if self.level is NONE:
            object.__setattr__(self, "level", np.zeros(len(self.X), dtype=int))

    def __len__(self) -> int:
        return len(self.X)

    def take(self, which: Array) -> Points:
        return Points(self.X[which], self.S[which], self.values[which], self.level[which])

    def best(self, most: int | Array) -> Points:
        """The best few of each level, sorted, none of them twice.

        Equal values are taken for equal points, of which the first stays. ``most`` may be one number for each level.
        """
        order = _distinct(self.values, self.level)
        level = self.level[order]
        return self.take(order[places(level) < (most if isinstance(most, int) else most[level])])

    def compared(self) -> Iterator[tuple[int, float]]:
        """Level and value of each, by which points are compared."""
        return zip(self.level.tolist(), _rounded(self.values).tolist(), strict=True)

    def first(self, levels: int) -> Array:
        """The best value of each level, of sorted points; minus infinity where there is none."""
        values = np.full(levels, -np.inf)
        np.maximum.at(values, self.level, self.values)
        return values

    def worth(self, C: Array) -> Worth:
        """What their entries are worth."""
        return worth(self.X, self.S, C @ self.X, np.diag(C))

    def improve(self, C: Array, steps: int, *, again: bool = False) -> Points:
        """Newton steps on the supports; columns that share no row are made best at once, and stay so ``again``."""
        apart, X, values = share_no_row(self.S), self.X.copy(), self.values.copy()
        if apart.any() and not again:
            X[apart] = replace_columns(C, X[apart], self.S[apart], np.ones((int(apart.sum()), X.shape[2]), dtype=bool))
            values[apart] = variance(C, X[apart])
        if not apart.all():
            X[~apart], values[~apart] = maximise(C, X[~apart], self.S[~apart], steps)
        return Points(X, self.S, values, self.level)


def places(level: Array) -> Array:
    """The place of each within its level, for levels in rising order."""
    return np.arange(len(level)) - np.searchsorted(level, level)


def _rounded(values: Array) -> Array:
    """Values to compare: what rounding adds must not decide between points that are equally good."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa, _DIGITS), exponent)


def join(*parts: Points | None) -> Points:
    """All points of several."""
    there = [part for part in parts if part is not None]
    if len(there) == 1:
        return there[0]
    return Points(*(np.concatenate([getattr(part, name) for part in there]) for name in ("X", "S", "values", "level")))


def advance(points: Points, moved: Points, owner: Array, least: float, keep: int | Array) -> tuple[Points, Array]:
    """Move each point to the best of those it owns if that gains; drop the worse half until ``keep`` are left.

    Each level for itself. Returns the points, sorted, and which of them have moved. Gains of less than the share
    ``least`` are rounding: of points that are equally good the first one counts.
    """
    order = np.lexsort((-_rounded(moved.values), owner))
    order = order[places(owner[order]) == 0]
    order = order[moved.values[order] > points.values[owner[order]] * (1 + least)]
    which = owner[order]
    X, S, values, live = points.X.copy(), points.S.copy(), points.values.copy(), np.zeros(len(points), dtype=bool)
    X[which], S[which], values[which], live[which] = moved.X[order], moved.S[order], moved.values[order], True
    order = _distinct(values, points.level)
    level = points.level[order]
    counts = np.bincount(points.level)[level]
    first = order[places(level) < np.maximum(keep if isinstance(keep, int) else keep[level], counts // 2)]
    return Points(X, S, values, points.level).take(first), live[first]


def _distinct(values: Array, level: Array) -> Array:
    """The order by level and falling value, without those equal to one before them."""
    rounded = _rounded(values)
    order = np.lexsort((-rounded, level))
    rounded, level = rounded[order], level[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (rounded[1:] != rounded[:-1]) | (level[1:] != level[:-1])
    return np.asarray(order[new])


def at(C: Covariance, X: Array, allowance: Allowance | Allowances, level: Array = NONE) -> Points:
    """Points with supports as large as their allowance, on which their entries lie."""
    CX = C.products(X)
    far = 2.0 * np.max(np.abs(CX), axis=(1, 2), keepdims=True, initial=0.0)
    S = allowance.choose(np.where(X != 0, far + np.abs(X), np.abs(CX)))
    return Points(X, S, np.einsum("kij,kij->k", X, CX), level)


def orthonormalise(Z: Array, S: Array) -> tuple[Array, Array, Array]:
    """Orthonormal points near Z, one column after the other, their supports, and which points these are.

    Those whose support allows none are left out.

    The longest column comes first. Each is made orthogonal, within its own support, to those before it; where two
    columns share a single row, the later one is zero there.
    """
    T = np.ascontiguousarray(S.transpose(0, 2, 1))
    X = np.where(T, Z.transpose(0, 2, 1), 0.0)  # a column of a point is contiguous here
    lengths = np.linalg.norm(X, axis=2)
    apart = share_no_row(S)
    there = np.empty(len(X), dtype=bool)
    if apart.any():
        there[apart] = lengths[apart].min(axis=1) > 0
        X[apart] = _unit(X[apart], lengths[apart])
    if not apart.all():
        X[~apart], there[~apart] = _one_after_the_other(X[~apart], T[~apart], lengths[~apart])
    return np.ascontiguousarray(X[there].transpose(0, 2, 1)), S[there], np.flatnonzero(there)


def _unit(X: Array, lengths: Array) -> Array:
    """Rows of some lengths made unit vectors without what is rounding; shapes (..., n) and (...)."""
    X = np.where(np.abs(X) <= _ZERO * lengths[..., None], 0.0, X)
    return np.asarray(X / np.maximum(np.linalg.norm(X, axis=-1), 1e-300)[..., None])


def _one_after_the_other(X: Array, T: Array, lengths: Array) -> tuple[Array, Array]:
    """Rows made orthonormal on their supports T, shape (N, r, n), and for which points that succeeded."""
    there = np.ones(len(X), dtype=bool)
    longest = np.maximum(lengths.max(axis=1, keepdims=True, initial=0.0), np.finfo(X.dtype).tiny)
    order = np.argsort(-np.round(lengths / longest, _DIGITS), axis=1, kind="stable")  # columns may be equally long
    every = np.arange(len(X))
    for place in range(X.shape[1]):
        j = order[:, place]
        x, before = X[every, j], order[:, :place]
        if place:
            x = orthogonal(x, X[every[:, None], before] * T[every, j][:, None, :])
        left = np.linalg.norm(x, axis=1)
        there &= left > _LEFT * lengths[every, j]
        X[every, j] = _unit(x, left)
    there &= np.abs(X @ X.transpose(0, 2, 1) - np.eye(X.shape[1])).max(axis=(1, 2)) < _FEASIBLE
    return X, there


def orthogonal(x: Array, R: Array) -> Array:
    """The part of x, shape (N, n), orthogonal to the rows of R, shape (N, q, n), which may vanish or be dependent."""
    G = R @ R.transpose(0, 2, 1)
    i = np.arange(G.shape[1])
    G[:, i, i] += _RIDGE
    for _ in range(2):  # the second time for what rounding leaves
        y = np.linalg.solve(G, R @ x[:, :, None])
        x = x - (y.transpose(0, 2, 1) @ R)[:, 0]
    return np.asarray(x)


@dataclass(frozen=True, eq=False)
class Worth:
    """What entries would cost or bring, to second order in two dimensions, for points of shape (N, n, r)."""

    lam: Array
    """The variance of each column, shape (N, r)."""
    G: Array
    """The gradient less its normal part: that of columns which share rows, since others give up a row that is taken."""
    loss: Array
    """What the variance loses without an entry; infinite off the support."""
    gain: Array
    """What it gains with one more; minus infinity on the support."""
    apart: Array
    """Shape (N, r, r): one where two columns share no row, else zero."""
    owners: Array
    """Shape (N, n, r): how many columns that share no row with column q have an entry in row l; then an entry (l, q)
    would have to be zero unless theirs is."""


def worth(X: Array, S: Array, CX: Array, diagonal: Array) -> Worth:
    """What every entry is worth: a column x and a further row l span a plane, on which C is a 2 x 2 matrix."""
    d = diagonal[:, None]
    XCX = X.transpose(0, 2, 1) @ CX
    lam = np.einsum("kjj->kj", XCX)
    there = S.astype(X.dtype)
    apart = np.asarray(there.transpose(0, 2, 1) @ there == 0, dtype=X.dtype)
    G = CX - X @ (XCX * (1.0 - apart))
    squares = X * X
    loss = np.where(S, squares * (lam[:, None, :] - d) / np.maximum(1.0 - squares, _ZERO), np.inf)
    gain = np.where(S, -np.inf, plane_gain(lam[:, None, :], d, G))
    return Worth(lam, G, loss, gain, apart, there @ apart)


def plane_gain(lam: Array, d: Array, g: Array) -> Array:
    """By how much the largest eigenvalue of [[lam, g], [g, d]] exceeds lam."""
    h = (d - lam) / 2
    root = np.sqrt(h * h + g * g)
    return np.asarray(np.where(h > 0, h + root, g * g / np.maximum(root - h, np.finfo(g.dtype).tiny)))
