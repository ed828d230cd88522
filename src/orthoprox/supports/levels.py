"""Search level by level: solutions with few entries grow into those with more, beside fresh ones at each level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.supports.allowance import Allowance
from orthoprox.supports.exchange import exchange
from orthoprox.supports.newton import variance
from orthoprox.supports.points import Points, join, orthonormalise

LNS = [24, 1, 8]
_TURNS = 6  # power iterations of a fresh candidate


@dataclass(frozen=True)
class Effort:
    """How far a search goes."""

    fresh: int
    """Random turns of the principal components at every level."""
    race: int
    """Candidates that enter the exchanges."""
    keep: int
    """Points that go on to the next level."""
    tries: int
    """Exchanges that are computed for a point in a round."""
    rounds: int


def search(C: Array, V: Array, allowance: Allowance, effort: Effort, rng: np.random.Generator, extra=None) -> Points:
    r = allowance.r
    Q = np.linalg.qr(rng.standard_normal((effort.fresh, r, r)))[0]
    Q[0] = np.eye(r)
    points: Points | None = None
    for level, wide in allowance.levels():
        grown = None if points is None else grow(C, points, level)
        if wide or grown is None:
            grown = join(grown, turned(C, V @ Q, level))
        found = grown.improve(C, 4).best(effort.race if wide else effort.keep)
        found = exchange(C, found, level, effort.tries, effort.rounds, effort.keep)
        points = found.best(effort.keep)
        failed = 0
        while wide and failed < LNS[1]:
            anew = recreate(C, points, level, rng, LNS[0]).improve(C, 4).best(LNS[2])
            anew = exchange(C, anew, level, effort.tries, effort.rounds, 2)
            before = points.values[0]
            points = join(points, anew).best(effort.keep)
            failed = 0 if points.values[0] > before * (1 + 1e-7) else failed + 1
    assert points is not None
    return points


def recreate(C: Array, points: Points, allowance: Allowance, rng: np.random.Generator, most: int) -> Points:
    """The best point with one or two columns made anew, at random turns of what the others leave."""
    X, S = points.X[0], points.S[0]
    n, r = X.shape
    sets = [(a,) for a in range(r)] + [(a, b) for a in range(r) for b in range(a)]
    if len(sets) > most:
        sets = [sets[i] for i in rng.permutation(len(sets))[:most]]
    times = max(1, most // len(sets))
    N = len(sets) * times
    free = np.zeros((N, 1, r), dtype=bool)
    for i, some in enumerate(sets):
        free[i * times : (i + 1) * times, 0, list(some)] = True
    fixed = np.where(free, 0.0, X)
    caps = np.where(free, 0, S.sum(axis=0))
    Z = rng.standard_normal((N, n, r)) * free
    for _ in range(3):
        Z = C @ (Z - fixed @ (fixed.transpose(0, 2, 1) @ Z))
        Z = np.linalg.qr(Z + 1e-300)[0] * free
    for _ in range(_TURNS):
        Y = C @ Z
        Y = (Y - fixed @ (fixed.transpose(0, 2, 1) @ Y)) * free
        sizes = np.where(free, np.abs(Y), 0.0)
        if allowance.slack:
            top = 1e3 * np.max(sizes, axis=(1, 2), keepdims=True)
            mask = allowance.choose(np.where(free, sizes, np.where(S, top, 0.0)))
        else:
            mask = np.where(free, allowance.choose(sizes), S)
        Z = np.where(mask & free, Y, 0.0)
        U, _, W = np.linalg.svd(Z, full_matrices=False)
        Z = (U @ W) * free
    Z = np.where(free, Z, 2 * X)  # the others stay as they are
    return _points(C, Z, mask)


def turned(C: Array, X: Array, allowance: Allowance) -> Points:
    """Candidates from turned principal components: the power method with all but the largest entries dropped."""
    for _ in range(_TURNS):
        Y = C @ X
        S = allowance.choose(np.abs(Y))
        Z = np.where(S, Y, 0.0)
        U, _, W = np.linalg.svd(Z, full_matrices=False)
        X = U @ W
    return _points(C, Z, S)


def grow(C: Array, points: Points, allowance: Allowance) -> Points:
    """The same points with larger supports: the entries of largest gain enter."""
    values = points.worth(C)
    free = ~values.owners.any(axis=3)
    gain = np.where(points.S, 0.0, values.gain)
    top = 2.0 * (1.0 + np.max(gain, axis=(1, 2), keepdims=True))
    sizes = np.where(points.S, top + np.abs(points.X), np.where(free, gain, 0.0))
    return Points(points.X, allowance.choose(sizes), points.values)


def _points(C: Array, Z: Array, S: Array) -> Points:
    X, S, _ = orthonormalise(Z, S)
    return Points(X, S, variance(C, X))
