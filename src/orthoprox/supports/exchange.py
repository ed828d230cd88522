"""Exchange entries of supports for others, as long as that pays."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowances
from orthoprox.supports.apart import replace_columns, share_no_row
from orthoprox.supports.moves import Moves, promising
from orthoprox.supports.newton import maximise, restore, variance
from orthoprox.supports.points import Points, advance, join, places, plane_gain
from orthoprox.supports.slots import Slots

_FEW = 2  # steps of Newton's method on the columns that an exchange changes
_STEPS = 3  # and on all columns
_HOPE = 0.03  # of the variance: an estimate may be this far too low
_REAL = 1e-8  # of the variance: a gain that is not rounding


class Ends:
    """Points that no exchange has made better, by level and value: equal values are taken for equal points."""

    def __init__(self) -> None:
        self._known: set[tuple[int, float]] = set()

    def add(self, points: Points) -> None:
        self._known.update(points.compared())

    def holds(self, points: Points) -> Array:
        """Which of the points are known."""
        return np.array([key in self._known for key in points.compared()], dtype=bool)


def exchange(
    C: Array,
    points: Points,
    allowances: Allowances,
    tries: int,
    rounds: int,
    keep: int | Array,
    ends: Ends | None = None,
) -> Points:
    """Improve each point by its best exchange, again and again; the worse half is dropped until ``keep`` are left.

    Levels are exchanged at once, each for itself.

    Parameters
    ----------
    allowances : Allowances
        Of each level.
    tries : int
        How many exchanges of each point are computed, those with the best estimates.
    rounds : int
        How often.
    keep : int or array
        How many points are followed to the end, of each level.
    ends : Ends, optional
        Where exchanges ended before, with as many tries: these points are not exchanged again. It learns of others.
    """
    ends = Ends() if ends is None else ends
    live = ~ends.holds(points)
    for _ in range(rounds if live.any() else 0):
        which = np.flatnonzero(live)
        some = points.take(which)
        moved, owner = _neighbours(C, some, promising(C, some, allowances.take(some.level), tries, _HOPE))
        if len(moved) == 0:
            live = np.zeros(len(points), dtype=bool)
            break
        points, live = advance(points, moved, which[owner], _REAL, keep)
        if not live.any():
            break
    ends.add(points.take(~live))
    return points


def _neighbours(C: Array, points: Points, moves: Moves) -> tuple[Points, Array]:
    """The points after some moves, improved, and whose they are; those that cannot become better are left out."""
    S = moves.supports(points.S)
    apart = share_no_row(S)
    first, second = moves.take(apart), moves.take(~apart)
    separate = _separate(C, points, S[apart], first)
    if len(second) == 0:
        return separate, first.owner
    joint, there = _joint(C, points, S[~apart], second)
    return join(separate, joint), np.concatenate([first.owner, second.owner[there]])


def _separate(C: Array, points: Points, S: Array, moves: Moves) -> Points:
    """Points whose columns share no row: those that have changed are leading eigenvectors, the others stay."""
    owner = moves.owner
    changed = np.any(S != points.S[owner], axis=1) | ~share_no_row(points.S)[owner, None]
    X = replace_columns(C, points.X[owner], S, changed)
    return Points(X, S, variance(C, X))


def _joint(C: Array, points: Points, S: Array, moves: Moves) -> tuple[Points, Array]:
    """Points whose columns share rows, by joint Newton steps, and which of the moves they are.

    First the columns of a move alone are improved, then all columns of the best move of each point.
    """
    owner = moves.owner
    few = S & np.any(S != points.S[owner], axis=1)[:, None, :]
    X, feasible = _applied(C, points.X[owner], moves), np.empty(len(S), dtype=bool)
    for some, slots in Slots.by_width(few):
        X[some], feasible[some] = restore(X[some], slots)
    X, S, owner = X[feasible], S[feasible], owner[feasible]
    X, values = maximise(C, X, few[feasible], _FEW)
    order = np.lexsort((-values, owner))
    best = order[places(owner[order]) == 0]
    X, values = maximise(C, X[best], S[best], _STEPS, goals=points.values[owner[best]])
    return Points(X, S[best], values), np.flatnonzero(feasible)[best]


def _applied(C: Array, X: Array, moves: Moves) -> Array:
    """Points, shape (M, n, r), after a move each; a column that gets an entry turns to where C is largest there."""
    X = X.copy()
    for k, i, j in moves.each(moves.leave):
        X[k, i, j] = 0.0
    X /= np.maximum(np.sqrt(np.einsum("kij,kij->kj", X, X)), 1e-300)[:, None, :]
    for k, i, j in moves.each(moves.enter):
        x = X[k, :, j]
        g, lam = np.einsum("ki,ki->k", C[i], x), np.einsum("ki,ki->k", x @ C, x)
        y = x * g[:, None]
        y[np.arange(len(k)), i] += plane_gain(lam, C[i, i], g)
        length = np.sqrt(np.einsum("ki,ki->k", y, y))[:, None]
        X[k, :, j] = np.where(length > 0, y / np.maximum(length, 1e-300), x)
    return X
