"""Exchanges of entries of supports, and which of them promise most."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.supports.newton import Slots
from orthoprox.supports.points import Points, Worth, plane_gain

_NONE = -1  # in place of the second entry of a move that has one


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
            k = np.flatnonzero(entries[:, t, 0] != _NONE)
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


def promising(C: Array, points: Points, allowance: Allowance, tries: int, hope: float) -> Moves:
    """The few moves of each point with the best estimates; none that would lose more than a share of the variance."""
    values, slots = points.worth(C), Slots.of(points.S)
    swaps = _swap_table(C, points, values, slots)
    owner = np.argmax(points.S[:, :, None, :] & (values.apart > 0)[:, None, :, :], axis=3)  # the first of them
    free = np.where(values.owners.transpose(0, 2, 1)[slots.index, slots.columns] > 0, -np.inf, swaps)
    kinds = [_swaps(free, slots, tries), _takeovers(swaps, free, slots, values, owner, tries)]
    if allowance.slack:
        kinds += _shifts(values, points.S, owner, allowance, tries)
    every = Moves(
        *(np.concatenate([getattr(k, name) for k in kinds]) for name in ("owner", "estimate", "leave", "enter"))
    )
    every = every.take(every.estimate > -hope * points.values[every.owner])
    order = np.lexsort((-every.estimate, every.owner))
    whose = every.owner[order]
    place = np.arange(len(order)) - np.searchsorted(whose, whose)
    return every.take(order[place < tries])


def _swap_table(C: Array, points: Points, values: Worth, slots: Slots) -> Array:
    """What a column gains when a slot (i, j) goes to row l: shape (N, p, n); minus infinity where l is taken."""
    k, rows, columns = slots.index, slots.rows, slots.columns
    x, d = points.X[k, rows, columns], np.diag(C)
    lam = values.lam[k, columns][:, :, None]
    left = lam - values.loss[k, rows, columns][:, :, None]
    short = np.sqrt(np.maximum(1.0 - x * x, 1e-9))[:, :, None]
    g = (values.G.transpose(0, 2, 1)[k, columns] - C[rows] * x[:, :, None]) / short
    table = left - lam + plane_gain(left, d, g)
    alone = points.S.sum(axis=1)[k, columns] == 1
    if alone.any():
        table = np.where(alone[:, :, None], d - lam, table)
    table[points.S.transpose(0, 2, 1)[k, columns]] = -np.inf
    return table


def _best(table: Array, tries: int) -> tuple[Array, Array, Array, Array]:
    """The largest finite numbers of tables, shape (N, a, b), a few of each: whose they are, where, and the numbers."""
    N, _, width = table.shape
    flat = table.reshape(N, -1)
    most = min(tries, flat.shape[1])
    first = np.argpartition(flat, flat.shape[1] - most, axis=1)[:, -most:]
    k = np.repeat(np.arange(N), most)
    e = first.ravel()
    value = flat[k, e]
    there = np.isfinite(value)
    k, e = k[there], e[there]
    return k, e // width, e % width, value[there]


def _pair(i: Array, j: Array, i2: Array | None = None, j2: Array | None = None) -> Array:
    """Entries of moves, shape (M, 2, 2)."""
    none = np.full(i.shape, _NONE)
    return np.stack([i, j, none if i2 is None else i2, none if j2 is None else j2], axis=-1).reshape(-1, 2, 2)


def _swaps(free: Array, slots: Slots, tries: int) -> Moves:
    """One entry of a column for another one."""
    k, s, row, value = _best(free, tries)
    j = slots.columns[k, s]
    return Moves(k, value, _pair(slots.rows[k, s], j), _pair(row, j))


def _takeovers(swaps: Array, free: Array, slots: Slots, values: Worth, owner: Array, tries: int) -> Moves:
    """A column takes a row from another one, which takes a free one in its place."""
    N, p, _ = swaps.shape
    rows, columns, index = slots.rows, slots.columns, slots.index
    instead = np.argmax(free, axis=2)
    price = np.take_along_axis(free, instead[:, :, None], axis=2)[:, :, 0]
    slot = np.full(owner.shape, -1)
    slot[index, rows, columns] = np.arange(p)
    seller = np.take_along_axis(slot, owner, axis=2)  # (N, n, r): the slot (l, owner)
    single = (values.owners == 1) & (seller >= 0)
    cost = np.where(single, np.take_along_axis(price, seller.reshape(N, -1), axis=1).reshape(seller.shape), -np.inf)
    k, s, row, value = _best(swaps + cost.transpose(0, 2, 1)[index, columns], tries)
    j = columns[k, s]
    a, new = owner[k, row, j], instead[k, seller[k, row, j]]
    return Moves(k, value, _pair(rows[k, s], j, row, a), _pair(row, j, new, a))


def _shifts(values: Worth, S: Array, owner: Array, allowance: Allowance, tries: int) -> list[Moves]:
    """An entry of one column for one of another, and rows that change their column."""
    counts = S.sum(axis=1)[:, None, :]
    gain, barred = values.gain, values.owners
    loss = np.where(counts > 1, values.loss, np.inf)
    room = counts < np.asarray(allowance.caps)
    k, i, j, lost = _best(-loss, tries)
    other, row, q, gained = _best(np.where((barred > 0) | ~room, -np.inf, gain), tries)
    a, b = np.nonzero((k[:, None] == other) & (j[:, None] != q))
    across = Moves(k[a], lost[a] + gained[b], _pair(i[a], j[a]), _pair(row[b], q[b]))
    there = np.take_along_axis(loss, owner, axis=2)
    known = (barred == 1) & room & np.isfinite(there)
    k, row, q, value = _best(np.where(known, gain - np.where(known, there, 0.0), -np.inf), tries)
    return [across, Moves(k, value, _pair(row, owner[k, row, q]), _pair(row, q))]
