"""Exchange entries of supports for others, as long as that pays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.supports.newton import Slots, restore, variance
from orthoprox.supports.points import Points, Worth, advance, plane_gain

_STEPS = 4  # of Newton's method, to judge an exchange
_HOPE = 0.03  # of the variance: an estimate may be this far too low
_REAL = 1e-8  # of the variance: a gain that is not rounding


@dataclass(frozen=True)
class Move:
    """Entries that leave and entries that enter, as (row, column)."""

    estimate: float
    leave: tuple[tuple[int, int], ...]
    enter: tuple[tuple[int, int], ...]


def exchange(C: Array, points: Points, allowance: Allowance, tries: int, rounds: int, keep: int) -> Points:
    """Improve each point by its best exchange, again and again; the worse half is dropped until ``keep`` are left.

    Parameters
    ----------
    tries : int
        How many exchanges of each point are computed, those with the best estimates.
    rounds : int
        How often.
    keep : int
        How many points are followed to the end.
    """
    live = np.ones(len(points), dtype=bool)
    for _ in range(rounds):
        found = _neighbours(C, points, np.flatnonzero(live), allowance, tries)
        if found is None:
            break
        points, live = advance(points, *found, _REAL, keep)
        if not live.any():
            break
    return points


def _neighbours(
    C: Array, points: Points, which: Array, allowance: Allowance, tries: int
) -> tuple[Points, Array] | None:
    """The points after the most promising exchanges, improved, and whose they are."""
    some = points.take(which)
    values = some.worth(C)
    Z, S, owner = [], [], []
    for c in range(len(some)):
        for move in _moves(C, some, values, c, allowance, tries):
            if move.estimate > -_HOPE * some.values[c]:
                z, s = _apply(C, some.X[c], some.S[c], move)
                Z.append(z)
                S.append(s)
                owner.append(which[c])
    if not Z:
        return None
    Sn = np.stack(S)
    X, feasible = restore(np.stack(Z), Slots.of(Sn))
    if not feasible.any():
        return None
    X, Sn = X[feasible], Sn[feasible]
    return Points(X, Sn, variance(C, X)).improve(C, _STEPS, near=True), np.asarray(owner)[feasible]


def _apply(C: Array, X: Array, S: Array, move: Move) -> tuple[Array, Array]:
    """The point after a move, a column that gets an entry turned to where C on that plane is largest."""
    X, S = X.copy(), S.copy()
    for i, j in move.leave:
        X[i, j], S[i, j] = 0.0, False
    X = X / np.maximum(np.linalg.norm(X, axis=0), 1e-300)
    for i, j in move.enter:
        x = X[:, j]
        g, lam = C[i] @ x, x @ C @ x
        more = plane_gain(lam, C[i, i], g)
        x = x * g
        x[i] += more
        length = np.linalg.norm(x)
        X[:, j] = x / length if length > 0 else X[:, j]
        S[i, j] = True
    return X, S


def _moves(C: Array, points: Points, values: Worth, c: int, allowance: Allowance, tries: int) -> list[Move]:
    """The most promising moves of one point."""
    X, S = points.X[c], points.S[c]
    rows, columns = np.nonzero(S)
    swaps = _swap_table(C, X, S, values, c, rows, columns)
    barred = values.owners[c]
    owner = np.argmax((X != 0)[:, None, :] * values.apart[c], axis=2)  # (n, r): the first of them
    moves = _swaps(swaps, S, rows, columns, barred, tries)
    moves += _takeovers(swaps, S, rows, columns, owner, barred, tries)
    if allowance.slack:
        moves += _shifts(values, c, S, owner, barred, allowance, tries)
    return sorted(moves, key=lambda move: -move.estimate)[:tries]


def _swap_table(C: Array, X: Array, S: Array, values: Worth, c: int, rows: Array, columns: Array) -> Array:
    """What a column gains when a slot (i, j) goes to row l: shape (p, n); minus infinity where l is taken."""
    x, d = X[rows, columns], np.diag(C)
    lam = values.lam[c][columns]
    left = lam - np.where(np.isfinite(values.loss[c]), values.loss[c], 0.0)[rows, columns]
    counts = S.sum(axis=0)[columns]
    short = np.sqrt(np.maximum(1.0 - x * x, 1e-9))
    g = (values.G[c].T[columns] - C[rows] * x[:, None]) / short[:, None]
    table = left[:, None] + plane_gain(left[:, None], d, g) - lam[:, None]
    table = np.where((counts == 1)[:, None], d - lam[:, None], table)
    return np.where(S.T[columns], -np.inf, table)


def _best(table: Array, tries: int) -> list[tuple[int, int, float]]:
    """The largest finite numbers of a table, with their places."""
    flat = table.ravel()
    most = min(tries, flat.size)
    first = np.argpartition(-flat, most - 1)[:most]
    width = table.shape[1]
    return [(int(e // width), int(e % width), float(flat[e])) for e in first if np.isfinite(flat[e])]


def _swaps(swaps: Array, S: Array, rows: Array, columns: Array, barred: Array, tries: int) -> list[Move]:
    """One entry of a column for another one."""
    free = np.where(barred.T[columns] > 0, -np.inf, swaps)
    return [
        Move(value, ((int(rows[s]), int(columns[s])),), ((row, int(columns[s])),))
        for s, row, value in _best(free, tries)
    ]


def _takeovers(
    swaps: Array, S: Array, rows: Array, columns: Array, owner: Array, barred: Array, tries: int
) -> list[Move]:
    """A column takes a row from another one, which takes a free one in its place."""
    free = np.where(barred.T[columns] > 0, -np.inf, swaps)
    instead = np.argmax(free, axis=1)
    price = np.take_along_axis(free, instead[:, None], axis=1)[:, 0]
    slot = np.full(S.shape, -1)
    slot[rows, columns] = np.arange(len(rows))
    single = barred == 1
    seller = slot[np.arange(len(S))[:, None], owner]  # the slot (l, owner)
    cost = np.where(single & (seller >= 0), price[seller], -np.inf)
    table = swaps + cost.T[columns]
    moves = []
    for s, row, value in _best(table, tries):
        j, a = int(columns[s]), int(owner[row, columns[s]])
        new = int(instead[seller[row, j]])
        moves.append(Move(value, ((int(rows[s]), j), (row, a)), ((row, j), (new, a))))
    return moves


def _shifts(
    values: Worth, c: int, S: Array, owner: Array, barred: Array, allowance: Allowance, tries: int
) -> list[Move]:
    """An entry of one column for one of another, and rows that change their column."""
    counts = S.sum(axis=0)
    gain, loss = values.gain[c], values.loss[c]
    loss = np.where(counts > 1, loss, np.inf)
    room = counts < np.asarray(allowance.caps)
    moves = []
    leaving = _best(-loss, tries)
    entering = _best(np.where((barred > 0) | ~room, -np.inf, gain), tries)
    for i, j, lost in leaving:
        moves += [Move(g + lost, ((i, j),), ((row, q),)) for row, q, g in entering if q != j]
    there = np.take_along_axis(loss, owner, axis=1)
    table = np.where(
        (barred == 1) & room & np.isfinite(there), gain - np.where(np.isfinite(there), there, 0.0), -np.inf
    )
    moves += [Move(g, ((row, int(owner[row, q])),), ((row, q),)) for row, q, g in _best(table, tries)]
    return moves
