"""Supports with many entries: many are exchanged at once, by estimates alone, and a climb decides."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.covariance import Covariance
from orthoprox.supports.allowance import Allowance
from orthoprox.supports.points import Points, join, orthonormalise, worth

_HYSTERESIS = (1.0, 2.0, 4.0, 16.0, 64.0)
"""How many times what an entry costs another one must promise to take its place: the larger, the fewer change."""
_CLIMB = 4  # power steps after an exchange
_REAL = 1e-6  # of the variance: what a power step may still gain is not an exchange's


def splice(C: Covariance, points: Points, allowance: Allowance, rounds: int, keep: int) -> Points:
    """Exchange entries of each point as long as that pays; the worse half is dropped until ``keep`` are left."""
    live = np.ones(len(points), dtype=bool)
    for _ in range(rounds):
        which = np.flatnonzero(live)
        live[:] = False
        moved, owner = _exchanged(C, points, which, allowance)
        X, S, values = points.X.copy(), points.S.copy(), points.values.copy()
        for i in np.argsort(moved.values, kind="stable"):
            c = owner[i]
            if moved.values[i] > values[c] * (1 + _REAL):
                X[c], S[c], values[c], live[c] = moved.X[i], moved.S[i], moved.values[i], True
        points = Points(X, S, values)
        if len(points) > keep:
            first = np.argsort(-values, kind="stable")[: max(keep, len(points) // 2)]
            points, live = points.take(first), live[first]
        if not live.any():
            break
    return points


def _exchanged(C: Covariance, points: Points, which: Array, allowance: Allowance) -> tuple[Points, Array]:
    X, S = points.X[which], points.S[which]
    CX = C.products(X)
    values = worth(X, S, CX, C.diagonal)
    gain = np.where(values.owners.any(axis=3) | S, 0.0, values.gain)
    masks = [allowance.choose(np.where(S, factor * values.loss, gain)) for factor in _HYSTERESIS]
    owner = np.tile(which, len(masks))
    return climb(C, np.tile(CX, (len(masks), 1, 1)), np.concatenate(masks), _CLIMB, owner)


def climb(C: Covariance, Z: Array, S: Array, steps: int, owner: Array | None = None) -> tuple[Points, Array]:
    """Power steps on fixed supports from Z; return the points, and whose they are."""
    owner = np.arange(len(Z)) if owner is None else owner
    X, S, there = orthonormalise(Z, S)
    owner = owner[there]
    for _ in range(steps):
        Y, S, there = orthonormalise(C.products(X), S)
        X, owner = Y, owner[there]
    return Points(X, S, np.einsum("kij,kij->k", X, C.products(X))), owner


def turned(C: Covariance, X: Array, allowance: Allowance, steps: int) -> Points:
    """Candidates from turned principal components: the power method with all but the largest entries dropped."""
    for _ in range(steps):
        Y = C.products(X)
        S = allowance.choose(np.abs(Y))
        Z = np.where(S, Y, 0.0)
        U, _, W = np.linalg.svd(Z, full_matrices=False)
        X = U @ W
    return climb(C, Z, S, _CLIMB)[0]


def search_many(
    C: Covariance, V: Array, allowance: Allowance, fresh: int, keep: int, rounds: int, rng: np.random.Generator
) -> Points:
    r = allowance.r
    Q = np.linalg.qr(rng.standard_normal((fresh, r, r)))[0]
    Q[0] = np.eye(r)
    parts = [turned(C, V @ Q, allowance, 6)]
    if allowance.slack:
        parts.append(turned(C, V @ Q, allowance.equal_caps(), 6))
    found = join(*parts).best(2 * keep)
    found = Points(found.X, allowance.choose(np.abs(found.X) + 1e-12), found.values)
    return splice(C, found, allowance, rounds, keep).best(keep)
