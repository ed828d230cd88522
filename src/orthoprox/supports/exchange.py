"""Exchange entries of supports for others, as long as that pays."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowances
from orthoprox.supports.apart import replace_columns, share_no_row
from orthoprox.supports.closer import crossing
from orthoprox.supports.moves import Moves, promising
from orthoprox.supports.newton import maximise, restore, variance
from orthoprox.supports.points import Points, advance, join, orthogonal, places, plane_gain
from orthoprox.supports.slots import Slots

_FEW = 2  # steps of Newton's method on the columns that an exchange changes
_KNOWN = 2  # exchanges of a point that have been computed before a closer look
_FOLLOWED = 2  # of the exchanges that are computed for a point on a closer look
_STEPS = 3  # and on all columns
_FEASIBLE = 1e-9  # products of columns this small are rounding
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
    *,
    tried: Ends | None = None,
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
    tried : Ends, optional
        For a closer look: where exchanges ended that computed two for each point. These are not computed again.
        Columns also hand rows over and come to share two at once, and exchanges are chosen by what they keep once
        columns are orthogonal again, since estimates do not know what that costs.
    """
    ends = Ends() if ends is None else ends
    live = ~ends.holds(points)
    for _ in range(rounds if live.any() else 0):
        which = np.flatnonzero(live)
        some = points.take(which)
        every = allowances.take(some.level)
        if tried is None:
            moves = promising(C, some, every, tries, _HOPE)
        else:
            skip = np.where(tried.holds(some), _KNOWN, 0)
            moves = promising(C, some, every, tries, _HOPE, crossing(C, some, every, tries), skip)
        moved, owner = _neighbours(C, some, moves, closer=tried is not None)
        if len(moved) == 0:
            live = np.zeros(len(points), dtype=bool)
            break
        points, live = advance(points, moved, which[owner], _REAL, keep)
        if not live.any():
            break
    ends.add(points.take(~live))
    return points


def _neighbours(C: Array, points: Points, moves: Moves, *, closer: bool) -> tuple[Points, Array]:
    """The points after some moves, improved, and whose they are; those that cannot become better are left out."""
    S = moves.supports(points.S)
    apart = share_no_row(S)
    first, second = moves.take(apart), moves.take(~apart)
    separate = _separate(C, points, S[apart], first)
    if len(second) == 0:
        return separate, first.owner
    joint, there = _joint(C, points, S[~apart], second, closer=closer)
    return join(separate, joint), np.concatenate([first.owner, second.owner[there]])


def _separate(C: Array, points: Points, S: Array, moves: Moves) -> Points:
    """Points whose columns share no row: those that have changed are leading eigenvectors, the others stay."""
    owner = moves.owner
    changed = np.any(S != points.S[owner], axis=1) | ~share_no_row(points.S)[owner, None]
    X = replace_columns(C, points.X[owner], S, changed)
    return Points(X, S, variance(C, X))


def _joint(C: Array, points: Points, S: Array, moves: Moves, *, closer: bool) -> tuple[Points, Array]:
    """Points whose columns share rows, by joint Newton steps, and which of the moves they are.

    First the columns of a move alone are improved, then all columns of the best move of each point.
    """
    owner = moves.owner
    changed = np.any(S != points.S[owner], axis=1)
    few = S & changed[:, None, :]
    X, feasible = _applied(C, points.X[owner], moves), np.empty(len(S), dtype=bool)
    start = X = _parted(X, S) if closer else X
    X = X.copy()
    for some, slots in Slots.by_width(few):
        X[some], feasible[some] = restore(X[some], slots)
    if closer and not feasible.all():
        lost = ~feasible
        X[lost], feasible[lost] = _made_orthogonal(start[lost], S[lost], changed[lost])
    there = np.flatnonzero(feasible)
    if closer:
        order = there[np.lexsort((-variance(C, X[there]), owner[there]))]
        there = np.sort(order[places(owner[order]) < _FOLLOWED])
    X, S, owner = X[there], S[there], owner[there]
    X, values = maximise(C, X, few[there], _FEW)
    order = np.lexsort((-values, owner))
    best = order[places(owner[order]) == 0]
    X, values = maximise(C, X[best], S[best], _STEPS, goals=points.values[owner[best]])
    return Points(X, S[best], values), there[best]


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


def _parted(X: Array, S: Array) -> Array:
    """Points of which two columns that are left a single row to share keep the larger of their entries there."""
    there = S.astype(X.dtype)
    single = (there.transpose(0, 2, 1) @ there == 1) & (np.abs(X.transpose(0, 2, 1) @ X) > _FEASIBLE)
    k, a, b = np.nonzero(np.triu(single, 1))
    if len(k):
        row = np.argmax(S[k, :, a] & S[k, :, b], axis=1)
        smaller = np.where(np.abs(X[k, row, a]) < np.abs(X[k, row, b]), a, b)
        X[k, row, smaller] = 0.0
        X[k] /= np.maximum(np.sqrt(np.einsum("kij,kij->kj", X[k], X[k])), 1e-300)[:, None, :]
    return X


def _made_orthogonal(X: Array, S: Array, changed: Array) -> tuple[Array, Array]:
    """Points whose changed columns are made orthogonal, one after the other, to the rest; and where that succeeded."""
    X, every = X.transpose(0, 2, 1).copy(), np.arange(X.shape[2])
    for j in every:
        k = np.flatnonzero(changed[:, j])
        if len(k) and len(every) > 1:
            x = orthogonal(X[k, j], X[k][:, every != j] * S[k, None, :, j])
            length = np.sqrt(np.einsum("ki,ki->k", x, x))
            X[k, j] = x / np.maximum(length, _FEASIBLE)[:, None]
    off = np.abs(X @ X.transpose(0, 2, 1) - np.eye(len(every))).max(axis=(1, 2))
    return np.ascontiguousarray(X.transpose(0, 2, 1)), off < _FEASIBLE
