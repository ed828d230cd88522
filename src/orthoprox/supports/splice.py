"""Supports with many entries: many are exchanged at once, by estimates alone, and a climb decides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import Covariance
from orthoprox.supports.disjoint import one_by_one, splits
from orthoprox.supports.fresh import polar
from orthoprox.supports.levels import Effort
from orthoprox.supports.points import Points, advance, at, join, orthonormalise, worth
from orthoprox.supports.progress import Progress

_HYSTERESIS = (1.0, 4.0, 32.0)
"""How many times what an entry costs another one must promise to take its place: the larger, the fewer change."""
_CLIMB = 1  # power steps after an exchange; the next round goes on
_TURNS = (5, 12)  # truncated power steps after which a fresh candidate is taken: supports still change
_MANY = 16  # points, beyond which only one mask of each is tried:
_ONE = (4.0,)
_ROUNDS = 30  # of exchanges
_FRESH = 2  # times as many fresh candidates as at one of several levels
_BESIDE = 4  # of them at most beside points with equal caps
_ENTRIES = 40_000  # of all fresh candidates together, so that making them takes a fraction of a second
_REAL = 1e-5  # of the variance: what a power step may still gain is not an exchange's


def splice(C: Covariance, points: Points, allowance: Allowance, keep: int, progress: Progress) -> Points:
    """Exchange entries of each point as long as that pays; the worse half is dropped until ``keep`` are left."""
    live = np.ones(len(points), dtype=bool)
    for _ in range(_ROUNDS):
        if not progress.tick():
            break
        moved, owner = _exchanged(C, points, np.flatnonzero(live), allowance)
        points, live = advance(points, moved, owner, _REAL, keep)
        if not live.any():
            break
    return points


def _exchanged(C: Covariance, points: Points, which: Array, allowance: Allowance) -> tuple[Points, Array]:
    X, S = points.X[which], points.S[which]
    CX = C.products(X)
    values = worth(X, S, CX, C.diagonal)
    gain = np.where((values.owners > 0) | S, 0.0, values.gain)
    factors = _ONE if len(which) > _MANY else _HYSTERESIS
    masks, mine = _distinct([allowance.choose(np.where(S, factor * values.loss, gain)) for factor in factors])
    return climb(C, CX[mine], masks, _CLIMB, which[mine])


def _distinct(masks: list[Array]) -> tuple[Array, Array]:
    """The masks without those that are equal to one before them, and to which point each belongs."""
    new = [np.ones(len(masks[0]), dtype=bool)]
    for i, mask in enumerate(masks[1:], 1):
        new.append(~np.any([np.all(mask == before, axis=(1, 2)) for before in masks[:i]], axis=0))
    return np.concatenate([mask[n] for mask, n in zip(masks, new, strict=True)]), np.concatenate(
        [np.flatnonzero(n) for n in new]
    )


def climb(C: Covariance, Z: Array, S: Array, steps: int, owner: Array | None = None) -> tuple[Points, Array]:
    """Power steps on fixed supports from Z; return the points, and whose they are."""
    owner = np.arange(len(Z)) if owner is None else owner
    X, S, there = orthonormalise(Z, S)
    owner, CX = owner[there], C.products(X)
    for _ in range(steps):
        X, S, there = orthonormalise(CX, S)
        owner, CX = owner[there], C.products(X)
    return Points(X, S, np.einsum("kij,kij->k", X, CX)), owner


def search_splices(
    C: Covariance,
    V: Array,
    allowance: Allowance,
    effort: Effort,
    rng: np.random.Generator,
    progress: Progress,
    parts: Points | None = None,
) -> Points:
    """Good points with many entries: turned principal components, exchanged many entries at once.

    Parameters
    ----------
    C : Covariance
    V : array, shape (n, q)
        The leading eigenvectors of C, at least r.
    allowance : Allowance
    effort : Effort
    rng : Generator
    progress : Progress
    parts : Points, optional
        The best points for equal parts of a total, with which the search begins; fresh ones are few then.
    """
    r = allowance.r
    fresh = int(np.clip(_ENTRIES // (C.n * r), 2, _FRESH * effort.fresh))
    fresh = fresh if parts is None else min(_BESIDE, max(1, fresh // 2))
    turns = np.linalg.qr(rng.standard_normal((fresh, r, r)))[0]
    turns[0] = np.eye(r)
    begun = None if parts is None else at(C, parts.X, allowance)
    caps = splits(allowance)[0 if parts is None else 1 :]
    points = join(begun, _truncated(C, V[:, :r] @ turns, allowance, caps))
    points = splice(C, points, allowance, effort.keep, progress).best(effort.keep)
    progress.offer(points)
    return points


def _truncated(C: Covariance, X: Array, allowance: Allowance, caps: Sequence[Allowance]) -> Points:
    """The power method with all but the largest entries dropped, then power steps on the supports.

    Beside these there are columns one after the other with some caps each, and single features.
    """
    taken = []
    for i in range(max(_TURNS)):
        Y = C.products(X)
        S = allowance.choose(np.abs(Y))
        Z = np.where(S, Y, 0.0)
        X = polar(Z)
        if i + 1 in _TURNS:
            taken.append(climb(C, Z, S, _CLIMB)[0])
    taken.append(at(C, one_by_one(C, Allowances.of(caps), X[0]).X, allowance))
    first = np.argsort(-C.diagonal, kind="stable")[: allowance.r]
    E = np.zeros((1, C.n, allowance.r))
    E[0, first, np.arange(allowance.r)] = 1.0
    return join(*taken, at(C, E, allowance))  # single features: a point that there always is
