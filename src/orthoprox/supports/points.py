"""Orthonormal points on given supports, and what entries of theirs are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import Covariance
from orthoprox.supports.apart import replace_columns, share_no_row
from orthoprox.supports.newton import Slots, maximise, variance

_ZERO = 1e-9  # an entry this small beside its column is rounding
_DEPENDENT = 1e-8  # an eigenvalue of a Gram matrix of unit columns that counts as zero
_FEASIBLE = 1e-8  # how far from orthonormal a point may be
_DIGITS = 7  # of values that are compared
_LEFT = 1e-3  # of a column that is made orthogonal to others: with less, the support does not allow it


@dataclass(frozen=True, eq=False)
class Points:
    """Several orthonormal points with their supports and variances."""

    X: Array
    """Shape (N, n, r)."""
    S: Array
    """Masks of the supports, the same number of entries in each; X may have zeros inside."""
    values: Array

    def __len__(self) -> int:
        return len(self.X)

    def take(self, which: Array) -> Points:
        return Points(self.X[which], self.S[which], self.values[which])

    def best(self, most: int) -> Points:
        """The best few, none of them twice: equal values are taken for equal points, of which the first stays."""
        rounded = _rounded(self.values)
        _, first = np.unique(-rounded, return_index=True)
        return self.take(first[:most])

    def worth(self, C: Array) -> Worth:
        """What their entries are worth."""
        return worth(self.X, self.S, C @ self.X, np.diag(C))

    def improve(self, C: Array, steps: int) -> Points:
        """Newton steps on the supports; columns that share no row are made best at once."""
        apart, X, values = share_no_row(self.S), self.X.copy(), self.values.copy()
        if apart.any():
            X[apart] = replace_columns(C, X[apart], self.S[apart], np.ones((int(apart.sum()), X.shape[2]), dtype=bool))
            values[apart] = variance(C, X[apart])
        if not apart.all():
            X[~apart], values[~apart] = maximise(C, X[~apart], Slots.of(self.S[~apart]), steps)
        return Points(X, self.S, values)


def _rounded(values: Array) -> Array:
    """Values to compare: what rounding adds must not decide between points that are equally good."""
    return np.round(values / max(float(np.max(np.abs(values), initial=0.0)), np.finfo(values.dtype).tiny), _DIGITS)


def join(*parts: Points | None) -> Points:
    """All points of several."""
    there = [part for part in parts if part is not None]
    return Points(*(np.concatenate([getattr(part, name) for part in there]) for name in ("X", "S", "values")))


def advance(points: Points, moved: Points, owner: Array, least: float, keep: int) -> tuple[Points, Array]:
    """Move each point to the best of those it owns if that gains; drop the worse half until ``keep`` are left.

    Returns the points and which of them have moved. Gains of less than the share ``least`` are rounding: of points that
    are equally good the first one counts.
    """
    X, S, values, live = points.X.copy(), points.S.copy(), points.values.copy(), np.zeros(len(points), dtype=bool)
    for i, c in enumerate(owner):
        if moved.values[i] > values[c] * (1 + least):
            X[c], S[c], values[c], live[c] = moved.X[i], moved.S[i], moved.values[i], True
    first = np.arange(len(values))
    if len(values) > keep:
        first = np.argsort(-_rounded(values), kind="stable")[: max(keep, len(values) // 2)]
    return Points(X, S, values).take(first), live[first]


def at(C: Covariance, X: Array, allowance: Allowance) -> Points:
    """Points with supports as large as the allowance, on which their entries lie."""
    CX = C.products(X)
    far = 2.0 * np.max(np.abs(CX), axis=(1, 2), keepdims=True)
    S = allowance.choose(np.where(X != 0, far + np.abs(X), np.abs(CX)))
    return Points(X, S, np.einsum("kij,kij->k", X, CX))


def orthonormalise(Z: Array, S: Array) -> tuple[Array, Array, Array]:
    """Orthonormal points near Z, one column after the other, their supports, and which points these are.

    Those whose support allows none are left out.

    The longest column comes first. Each is made orthogonal, within its own support, to those before it; where two
    columns share a single row, the later one is zero there.
    """
    T = np.ascontiguousarray(S.transpose(0, 2, 1))
    X = np.where(T, Z.transpose(0, 2, 1), 0.0)  # a column of a point is contiguous here
    there = np.ones(len(X), dtype=bool)
    lengths = np.linalg.norm(X, axis=2)
    longest = np.maximum(lengths.max(axis=1, keepdims=True, initial=0.0), np.finfo(X.dtype).tiny)
    order = np.argsort(-np.round(lengths / longest, _DIGITS), axis=1, kind="stable")  # columns may be equally long
    every = np.arange(len(X))
    for place in range(X.shape[1]):
        j = order[:, place]
        x, before = X[every, j], order[:, :place]
        length = np.linalg.norm(x, axis=1)
        if place:
            x = _orthogonal(x, X[every[:, None], before] * T[every, j][:, None, :])
        left = np.linalg.norm(x, axis=1)
        there &= left > _LEFT * length
        x = np.where(np.abs(x) <= _ZERO * left[:, None], 0.0, x)
        X[every, j] = x / np.maximum(np.linalg.norm(x, axis=1), 1e-300)[:, None]
    there &= np.abs(X @ X.transpose(0, 2, 1) - np.eye(X.shape[1])).max(axis=(1, 2)) < _FEASIBLE
    return np.ascontiguousarray(X[there].transpose(0, 2, 1)), S[there], np.flatnonzero(there)


def _orthogonal(x: Array, R: Array) -> Array:
    """The part of x, shape (N, n), orthogonal to the rows of R, shape (N, q, n), which may vanish or be dependent."""
    e, V = np.linalg.eigh(R @ R.transpose(0, 2, 1))
    inverse = np.where(e > _DEPENDENT, 1.0 / np.maximum(e, _DEPENDENT), 0.0)
    for _ in range(2):  # the second time for what rounding leaves
        y = np.einsum("kij,kj->ki", V, inverse * np.einsum("kij,ki->kj", V, (R @ x[:, :, None])[:, :, 0]))
        x = x - (y[:, None, :] @ R)[:, 0]
    return np.asarray(x)


@dataclass(frozen=True, eq=False)
class Worth:
    """What entries would cost or bring, to second order in two dimensions, for points of shape (N, n, r)."""

    lam: Array
    """The variance of each column, shape (N, r)."""
    G: Array
    """The gradient less its normal part."""
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
    G = CX - X @ XCX
    squares = X * X
    loss = np.where(S, squares * (lam[:, None, :] - d) / np.maximum(1.0 - squares, _ZERO), np.inf)
    gain = np.where(S, -np.inf, plane_gain(lam[:, None, :], d, G))
    there = S.astype(X.dtype)
    apart = np.asarray(there.transpose(0, 2, 1) @ there == 0, dtype=X.dtype)
    return Worth(lam, G, loss, gain, apart, there @ apart)


def plane_gain(lam: Array, d: Array, g: Array) -> Array:
    """By how much the largest eigenvalue of [[lam, g], [g, d]] exceeds lam."""
    h = (d - lam) / 2
    root = np.sqrt(h * h + g * g)
    return np.asarray(np.where(h > 0, h + root, g * g / np.maximum(root - h, np.finfo(g.dtype).tiny)))
