"""Exchanges of entries of supports, and which of them promise most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowances
from orthoprox.supports.points import Points, Worth, places, plane_gain
from orthoprox.supports.slots import Slots

_ROWS = 10  # of each column that an entry may go to, those of largest gain
_DEAR = 1e100  # what the last entry of a column costs
NONE = -1
"""In place of the second entry of a move that has one."""


@dataclass(frozen=True, eq=False)
class Moves:
    """M exchanges: one or two entries leave, and as many enter."""

    owner: Array
    """Whose it is, shape (M,)."""
    estimate: Array
    leave: Array
    """Row and column of both entries, shape (M, 2, 2); the second may be missing."""
    enter: Array

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, which: Array) -> Moves:
        return Moves(self.owner[which], self.estimate[which], self.leave[which], self.enter[which])

    def each(self, entries: Array) -> Iterator[tuple[Array, Array, Array]]:
        """First and second entries as moves, rows and columns, those that there are."""
        for t in range(2):
            k = np.flatnonzero(entries[:, t, 0] != NONE)
            if len(k):
                yield k, entries[k, t, 0], entries[k, t, 1]

    def supports(self, S: Array) -> Array:
        """The masks after each move."""
        S = S[self.owner]
        for k, i, j in self.each(self.leave):
            S[k, i, j] = False
        for k, i, j in self.each(self.enter):
            S[k, i, j] = True
        return S


def promising(
    C: Array,
    points: Points,
    allowances: Allowances,
    tries: int,
    hope: float,
    further: Sequence[Moves] = (),
    skip: Array | None = None,
) -> Moves:
    """The few moves of each point with the best estimates; none that would lose more than a share of the variance.

    Parameters
    ----------
    further : sequence of Moves
        Others to choose from.
    skip : array, shape (N,), optional
        How many of the best moves of each point are known to lead nowhere.
    """
    values, slots = points.worth(C), Slots.of(points.S)
    table = _SwapTable(C, points, values, slots)
    free = table.into(np.where(values.owners > 0, -np.inf, values.gain))
    kinds = [_swaps(free, slots, tries), _takeovers(table, free, points.S, tries)]
    slack = allowances.slack
    if slack.any():
        kinds += _shifts(values, points.S, np.flatnonzero(slack), allowances.caps, tries)
    least = -hope * points.values
    every, rank = _ranked(kinds, least)
    if skip is None:
        return every.take(rank < tries)
    every, rank = _ranked([*further, every.take((rank >= skip[every.owner]) & (rank < tries))], least)
    return every.take(rank < tries - skip[every.owner])


def _ranked(kinds: Sequence[Moves], least: Array) -> tuple[Moves, Array]:
    """The moves of large estimates by owner and falling estimate, and their places."""
    names = ("owner", "estimate", "leave", "enter")
    every = Moves(*(np.concatenate([getattr(k, name) for k in kinds]) for name in names))
    good = np.flatnonzero(every.estimate > least[every.owner])
    every = every.take(good[np.lexsort((-every.estimate[good], every.owner[good]))])
    return every, places(every.owner)


@dataclass(frozen=True, eq=False)
class _Swaps:
    """What columns gain when a slot goes to another row, for a few rows of each column."""

    rows: Array
    """Shape (N, p, m)."""
    gains: Array
    """Minus infinity where there is no such swap."""


class _SwapTable:
    """Swaps of the slots of points."""

    def __init__(self, C: Array, points: Points, values: Worth, slots: Slots) -> None:
        self.C, self.values, self.slots = C, values, slots
        k, columns = slots.index, slots.columns
        x = points.X[k, slots.rows, columns]
        lam = values.lam[k, columns]
        self.x, self.lam = x[:, :, None], lam[:, :, None]
        self.left = np.where(slots.real, lam - values.loss[k, slots.rows, columns], 0.0)[:, :, None]
        self.short = np.sqrt(np.maximum(1.0 - x * x, 1e-9))[:, :, None]
        self.alone = points.S.sum(axis=1)[k, columns] == 1

    def into(self, promise: Array) -> _Swaps:
        """Swaps into the rows that promise most in each column; promises of rows left out are minus infinity."""
        slots, most = self.slots, min(_ROWS, promise.shape[1])
        promise = promise.transpose(0, 2, 1)
        if most < promise.shape[2]:
            rows = np.argpartition(-promise, most - 1, axis=2)[:, :, :most]
            promise = np.take_along_axis(promise, rows, axis=2)
        else:
            rows = np.broadcast_to(np.arange(most), promise.shape)
        d, G = np.diag(self.C)[rows], np.take_along_axis(self.values.G.transpose(0, 2, 1), rows, axis=2)
        k, columns = slots.index, slots.columns
        rows, d, G, there = rows[k, columns], d[k, columns], G[k, columns], (promise > -np.inf)[k, columns]
        g = (G - self.C[slots.rows[:, :, None], rows] * self.x) / self.short
        h = (self.left - d) / 2
        gains = d - self.lam + h + np.sqrt(h * h + g * g)  # the larger eigenvalue of [[left, g], [g, d]], less lam
        if self.alone.any():
            gains = np.where(self.alone[:, :, None], d - self.lam, gains)
        return _Swaps(rows, np.where(there & slots.real[:, :, None], gains, -np.inf))

    def trades(self, rows: Array, columns: Array, sold: Array) -> Array:
        """What a column gains when its slot ``sold`` in one of the rows goes to the row of the slot that gets this one.

        Minus infinity where another column bars that row too.
        """
        k, slots = self.slots.index[:, :, None], self.slots
        new = slots.rows[:, :, None]
        x, left, lam = (number[:, :, 0][k, sold] for number in (self.x, self.left, self.lam))
        d = np.diag(self.C)[new]
        g = self.values.G[k, new, columns] - self.C[rows, new] * x
        gains = left - lam + plane_gain(left, d, g / self.short[:, :, 0][k, sold])
        gains = np.where(self.alone[k, sold], d - lam, gains)
        return np.where(self.values.owners[k, new, columns] == 1, gains, -np.inf)


def best_of(table: Array, tries: int) -> tuple[Array, Array, Array, Array]:
    """The largest finite numbers of tables, shape (N, a, b), a few of each: whose they are, where, and the numbers."""
    N, _, width = table.shape
    flat, every = table.reshape(N, -1).copy(), np.arange(N)
    most = min(tries, flat.shape[1])
    e, value = np.empty((N, most), dtype=int), np.empty((N, most))
    for t in range(most):  # much faster than a partition, since they are few
        e[:, t] = np.argmax(flat, axis=1)
        value[:, t] = flat[every, e[:, t]]
        flat[every, e[:, t]] = -np.inf
    k, e, value = np.repeat(every, most), e.ravel(), value.ravel()
    there = np.isfinite(value)
    k, e = k[there], e[there]
    return k, e // width, e % width, value[there]


def pair(i: Array, j: Array, i2: Array | None = None, j2: Array | None = None) -> Array:
    """Entries of moves, shape (M, 2, 2)."""
    none = np.full(i.shape, NONE)
    return np.stack([i, j, none if i2 is None else i2, none if j2 is None else j2], axis=-1).reshape(-1, 2, 2)


def _swaps(free: _Swaps, slots: Slots, tries: int) -> Moves:
    """One entry of a column for another one."""
    k, s, place, value = best_of(free.gains, tries)
    j = slots.columns[k, s]
    return Moves(k, value, pair(slots.rows[k, s], j), pair(free.rows[k, s, place], j))


def _takeovers(table: _SwapTable, free: _Swaps, S: Array, tries: int) -> Moves:
    """A column takes a row from another one, which takes a free one in its place or the one that is given up for it."""
    slots, values = table.slots, table.values
    k, columns = slots.index, slots.columns
    taken = table.into(np.where(values.owners == 1, values.gain, -np.inf))
    instead = np.argmax(free.gains, axis=2)
    price = np.take_along_axis(free.gains, instead[:, :, None], axis=2)[:, :, 0]
    instead = np.take_along_axis(free.rows, instead[:, :, None], axis=2)[:, :, 0]
    slot = np.zeros(S.shape, dtype=int)
    slot[k, slots.rows, columns] = np.arange(slots.rows.shape[1])
    K = k[:, :, None]
    seller = np.argmax(S[K, taken.rows] & (values.apart > 0)[k, columns][:, :, None, :], axis=3)  # a column
    sold = slot[K, taken.rows, seller]  # its slot
    price, back = price[K, sold], table.trades(taken.rows, seller, sold)
    which, s, place, value = best_of(taken.gains + np.maximum(price, back), tries)
    row, j, a = taken.rows[which, s, place], columns[which, s], seller[which, s, place]
    given = slots.rows[which, s]
    traded = back[which, s, place] > price[which, s, place]
    new = np.where(traded, given, instead[which, sold[which, s, place]])
    return Moves(which, value, pair(given, j, row, a), pair(row, j, new, a))


def _shifts(values: Worth, S: Array, which: Array, caps: Array, tries: int) -> list[Moves]:
    """An entry of one column for one of another, and rows that change their column, of some points."""
    S, gain, barred, apart = S[which], values.gain[which], values.owners[which], values.apart[which]
    counts = S.sum(axis=1)[:, None, :]
    loss = np.where(counts > 1, values.loss[which], np.inf)
    room = counts < caps[which][:, None, :]
    k, i, j, lost = best_of(-loss, tries)
    other, row, q, gained = best_of(np.where((barred > 0) | ~room, -np.inf, gain), tries)
    a, b = np.nonzero((k[:, None] == other) & (j[:, None] != q))
    across = Moves(which[k[a]], lost[a] + gained[b], pair(i[a], j[a]), pair(row[b], q[b]))
    # What the column that shares no row with q loses in row l: there is one where one bars it.
    price = np.where(S, np.minimum(loss, _DEAR), 0.0) @ apart
    k, row, q, value = best_of(np.where((barred == 1) & room, gain - price, -np.inf), tries)
    owner = np.argmax(S[k, row] & (apart[k, q] > 0), axis=1)
    return [across, Moves(which[k], value, pair(row, owner), pair(row, q))]
