"""Moves that cross the constraints between columns: a row that is handed over, two rows that are shared at once.

Two columns that share one row are orthogonal only if one of them is zero there. From such a point no step leads to the
other column's having the row, and none to a further row that both share: a second one has to come at the same time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowances
from orthoprox.supports.moves import NONE, Moves, best_of, pair
from orthoprox.supports.points import Points, Worth, plane_gain
from orthoprox.supports.slots import Slots

_DEAR = 1e100  # what the last entry of a column costs


def crossing(C: Array, points: Points, allowances: Allowances, tries: int) -> list[Moves]:
    """Rows that are handed over and rows that are shared in pairs: a few of each point, by their estimates."""
    there = points.X != 0
    masks = there.astype(float)
    which = np.flatnonzero(np.any(masks.transpose(0, 2, 1) @ masks == 0, axis=(1, 2)))
    if len(which) == 0:  # all columns share rows with all others
        return []
    points, there, allowances = points.take(which), there[which], allowances.take(which)
    values = Points(points.X, there, points.values).worth(C)  # as if nothing were held at zero
    spare = _Spare.of(points, values, allowances)
    pairs = _Pairs.of(C, points.X, there, values)
    every = [_handed(values, there, points.S, spare, tries), pairs.of_one(spare, tries), pairs.of_each(spare, tries)]
    return [Moves(which[m.owner], m.estimate, m.leave, m.enter) for m in every]


class _Spare(NamedTuple):
    """The two entries that cost least where columns a and b get one more each, shape (N, r, r, 2); a may be b.

    Entries held at zero cost nothing.
    """

    rows: Array
    columns: Array
    cost: Array

    @staticmethod
    def of(points: Points, values: Worth, allowances: Allowances) -> _Spare:
        """The columns' own entries, or where these share out a total and have room, any."""
        X, S = points.X, points.S
        N, n, r = S.shape
        loss = np.where(S & (np.count_nonzero(X, axis=1)[:, None, :] > 1), values.loss, np.inf)
        # Of entries held at zero those of least promise come first: the order of features must not matter.
        order = np.where(S & (X == 0), -1.0 / (1.0 + np.maximum(values.gain, 0.0)), loss).transpose(0, 2, 1)
        least = np.argsort(order, axis=2, kind="stable")[:, :, :2]
        price = np.take_along_axis(order, least, axis=2)
        a, b = np.indices((r, r))
        second = np.where(a == b, least.shape[2] - 1, 0)
        rows = np.stack([least[:, a, 0], least[:, b, second]], axis=-1)
        columns = np.broadcast_to(np.stack([a, b], axis=-1), rows.shape)
        cost = np.stack([price[:, a, 0], price[:, b, second]], axis=-1)
        room = allowances.caps - S.sum(axis=1)
        fits = (room >= 1)[:, :, None] & (room >= 1)[:, None, :] & ((a != b) | (room >= 2)[:, :, None])
        fits &= allowances.slack[:, None, None]
        if fits.any() and n > 1:
            flat = order.reshape(N, r * n)
            two = np.argsort(flat, axis=1, kind="stable")[:, None, None, :2]
            price = np.take_along_axis(flat, two[:, 0, 0], axis=1)[:, None, None]
            rows, columns, cost = (
                np.where(fits[..., None], new, old)
                for new, old in ((two % n, rows), (two // n, columns), (price, cost))
            )
        return _Spare(rows, columns, np.maximum(cost, 0.0).sum(axis=3))

    def leave(self, k: Array, a: Array, b: Array) -> Array:
        """Entries that leave in moves."""
        rows, columns = self.rows[k, a, b], self.columns[k, a, b]
        return pair(rows[:, 0], columns[:, 0], rows[:, 1], columns[:, 1])


def _handed(values: Worth, there: Array, S: Array, spare: _Spare, tries: int) -> Moves:
    """A column with an entry held at zero gets a row of another one, which may take a free row in its place."""
    loss = np.where(np.count_nonzero(there, axis=1)[:, None, :] > 1, values.loss, np.inf)
    free = np.where(values.owners > 0, -np.inf, values.gain)
    instead = np.argmax(free, axis=1)
    more = np.maximum(np.take_along_axis(free, instead[:, None, :], axis=1), 0.0)
    price = np.where(there, np.minimum(loss - more, _DEAR), 0.0) @ values.apart
    idle = (S & ~there).any(axis=1)[:, None, :]
    gain = np.where((values.owners == 1) & idle & (price < _DEAR / 2), values.gain - price, -np.inf)
    k, row, q, value = best_of(gain, tries)
    owner = np.argmax(there[k, row] & (values.apart[k, q] > 0), axis=1)
    other = instead[k, owner]
    new = np.where((free[k, other, owner] > -np.inf) & ~S[k, other, owner], other, NONE)
    held = np.where(S[k, row, q], NONE, spare.rows[k, q, q, 0])
    return Moves(k, value, pair(row, owner, held, q), pair(row, q, new, owner))


class _Pairs(NamedTuple):
    """Two entries s and t of each point, whose rows two columns that share none may come to share at once."""

    slots: Slots
    x: Array
    """The entries, shape (N, p)."""
    g: Array
    """The gradient of each column in the row of an entry, shape (N, p, r)."""
    d: Array
    lam: Array
    open: Array
    """Whether the row of an entry belongs to no column but the entry's that shares no row with column q; (N, p, r)."""
    mixed: Array
    """C between the rows, shape (N, p, p)."""
    there: Array

    @staticmethod
    def of(C: Array, X: Array, there: Array, values: Worth) -> _Pairs:
        slots = Slots.of(there)
        k, rows = slots.index, slots.rows
        alone = (values.owners[k, rows] == 1) & (values.apart[k, slots.columns] > 0) & slots.real[:, :, None]
        mixed = C[rows[:, :, None], rows[:, None, :]]
        return _Pairs(slots, slots.gather(X), (C @ X)[k, rows], np.diag(C)[rows], values.lam, alone, mixed, there)

    def of_one(self, spare: _Spare, tries: int) -> Moves:
        """Both rows of one column: another one gets them, with entries orthogonal to those of the first."""
        E = self.slots.owned
        s, t = self.x[:, :, None], self.x[:, None, :]
        size = np.maximum(s * s + t * t, 1e-300)
        d = (t * t * self.d[:, :, None] + s * s * self.d[:, None, :] - 2 * s * t * self.mixed) / size
        one = (E @ E.transpose(0, 2, 1) > 0) & _once(size.shape[1])
        N, p, r = self.g.shape
        gains = np.empty((N, r, p, p))
        for q in range(r):
            g = (t * self.g[:, :, None, q] - s * self.g[:, None, :, q]) / np.sqrt(size)
            fits = one & self.open[:, :, None, q] & self.open[:, None, :, q]
            cost = spare.cost[:, q, q, None, None]
            gains[:, q] = np.where(fits, plane_gain(self.lam[:, q, None, None], d, g) - cost, -np.inf)
        k, q, place, value = best_of(gains.reshape(N, r, p * p), tries)
        rows, s, t = self.slots.rows, place // p, place % p
        return self._allowed(Moves(k, value, spare.leave(k, q, q), pair(rows[k, s], q, rows[k, t], q)))

    def of_each(self, spare: _Spare, tries: int) -> Moves:
        """One row of each of two columns: each gets the other's."""
        E = self.slots.owned
        to = E.transpose(0, 2, 1)
        s, t = self.x[:, :, None], self.x[:, None, :]
        size = np.maximum(s * s + t * t, 1e-300)
        g, fits = self.g @ to, self.open @ to > 0  # of the second's column in the row of the first
        g = (t * g - s * g.transpose(0, 2, 1)) / np.sqrt(size)
        lam = (E @ self.lam[:, :, None])[:, :, 0]
        lam = (t * t * lam[:, None, :] + s * s * lam[:, :, None]) / size
        d = (t * t * self.d[:, :, None] + s * s * self.d[:, None, :]) / size
        fits &= fits.transpose(0, 2, 1) & _once(size.shape[1])
        k, columns = self.slots.index[:, :, None], self.slots.columns
        cost = spare.cost[k, columns[:, :, None], columns[:, None, :]]
        k, s, t, value = best_of(np.where(fits, plane_gain(lam, d, g) - cost, -np.inf), tries)
        rows, a, b = self.slots.rows, columns[k, s], columns[k, t]
        return self._allowed(Moves(k, value, spare.leave(k, a, b), pair(rows[k, s], b, rows[k, t], a)))

    def _allowed(self, moves: Moves) -> Moves:
        """Those that give up neither what columns come to share nor the same entry twice."""
        k, leave, enter = moves.owner[:, None], moves.leave, moves.enter
        held = ~self.there[k, leave[:, :, 0], leave[:, :, 1]]
        apart = np.all(held[:, :, None] | (leave[:, :, None, 0] != enter[:, None, :, 0]), axis=(1, 2))
        return moves.take(np.isfinite(moves.estimate) & apart & np.any(leave[:, 0] != leave[:, 1], axis=1))


def _once(p: int) -> Array:
    """Each pair of p slots once."""
    return np.triu(np.ones((p, p), dtype=bool), 1)
