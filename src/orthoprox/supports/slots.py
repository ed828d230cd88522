"""The entries of several supports side by side, and the constraint that columns are orthonormal, along them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from orthoprox._fields import cached_property
from orthoprox._types import Array
from orthoprox.supports.systems import inverse

_WIDTH = 12  # supports are padded to a multiple of so many entries
_RIDGE = 1e-12  # beside the squares of entries of X: two columns that share no row make a Gram matrix singular
_EPS = float(np.finfo(np.float64).eps)

_CARRIED = ("owned", "_constraints", "_times")  # what stays the same for some of the points

Normals = tuple[Array, Array]


@lru_cache
def _pairs(r: int) -> tuple[Array, Array]:
    """The constraints x_a'x_b = 1 or 0, one for each pair a <= b, as places in an r by r matrix; and back."""
    a, b = np.triu_indices(r)
    back = np.empty((r, r), dtype=int)
    back[a, b] = back[b, a] = np.arange(len(a))
    return a * r + b, back


@dataclass(frozen=True, eq=False)
class Slots:
    """The entries of N supports with at most p entries each, as places row * r + column of shape (N, p).

    Where a support has fewer, the last slots are not real: they are an entry off the support, on which nothing acts.
    """

    entries: Array
    real: Array
    n: int
    r: int

    @staticmethod
    def of(S: Array, width: int = 0) -> Slots:
        """The entries of masks, shape (N, n, r), and slots up to a width that are not real."""
        N, n, r = S.shape
        flat = S.reshape(N, n * r)
        counts = np.count_nonzero(flat, axis=1)
        p = max(int(counts.max(initial=0)), min(width, n * r))
        k, found = np.nonzero(flat)
        real = np.arange(p) < counts[:, None]
        if len(k) == N * p:
            return Slots(found.reshape(N, p), real, n, r)
        entries = np.repeat(np.argmin(flat, axis=1)[:, None], p, axis=1)
        entries[real] = found
        return Slots(entries, real, n, r)

    @staticmethod
    def by_width(S: Array) -> Iterator[tuple[Array, Slots]]:
        """Masks of about the same size together: which they are, and their slots.

        How an entry is rounded depends on how far its support is padded, and must not on what else is in a batch: the
        width follows from the size of a support alone.
        """
        widths = -(-np.count_nonzero(S, axis=(1, 2)) // _WIDTH) * _WIDTH
        for width in np.unique(widths):
            some = np.flatnonzero(widths == width)
            yield some, Slots.of(S[some], int(width))

    def __len__(self) -> int:
        return len(self.entries)

    def take(self, which: Array) -> Slots:
        some = Slots(self.entries[which], self.real[which], self.n, self.r)
        vars(some).update({name: vars(self)[name][which] for name in _CARRIED if name in vars(self)})
        return some

    @property
    def rows(self) -> Array:
        return self.entries // self.r

    @property
    def columns(self) -> Array:
        return self.entries % self.r

    @cached_property
    def index(self) -> Array:
        return np.arange(len(self.entries))[:, None]

    @cached_property
    def _places(self) -> Array:
        """Where the entries are in an array of shape (N, n, r), laid out in a row."""
        return self.index * (self.n * self.r) + self.entries

    @cached_property
    def owned(self) -> Array:
        """One where a slot is an entry of a column, else zero; shape (N, p, r)."""
        return np.asarray((np.where(self.real, self.columns, -1)[:, :, None] == np.arange(self.r)) * 1.0)

    @cached_property
    def _constraints(self) -> Array:
        """The constraints on a slot's column and each column, as places in a Jacobian; shape (N, p, r)."""
        p = self.entries.shape[1]
        return _pairs(self.r)[1][self.columns] * p + np.arange(p)[:, None]

    @cached_property
    def _times(self) -> Array:
        """How many times X enters the Jacobian there: twice for a column's own length."""
        return self.owned + self.real[:, :, None]

    @cached_property
    def _rows(self) -> Array:
        return self.rows + self.n * self.index

    def gather(self, W: Array) -> Array:
        """The entries of W, shape (N, n, r), on the supports."""
        return W.reshape(-1)[self._places] * self.real

    def add(self, X: Array, d: Array) -> Array:
        """X with d, shape (N, p), added on the supports."""
        Y = X.copy()
        Y.reshape(-1)[self._places] += d
        return Y

    def violation(self, X: Array) -> Array:
        """X'X - I, one number for each constraint, shape (N, q)."""
        E = X.transpose(0, 2, 1) @ X - np.eye(self.r)
        return np.take(E.reshape(len(X), self.r**2), _pairs(self.r)[0], axis=1)

    def matrices(self, y: Array) -> Array:
        """Lam of shape (N, r, r) with J'y = (X Lam) on the supports, for multipliers y of shape (N, q)."""
        return np.take(y, _pairs(self.r)[1], axis=1) * (1.0 + np.eye(self.r))

    def jacobian(self, X: Array) -> Array:
        """The derivative of the constraints along the entries, shape (N, q, p)."""
        N, p = self.entries.shape
        J = np.zeros((N, self.r * (self.r + 1) // 2, p))
        places = self._constraints + J[0].size * self.index[:, :, None]
        J.reshape(-1)[places] = X.reshape(-1, self.r)[self._rows] * self._times
        return J

    def normals(self, X: Array) -> Normals:
        """The Jacobian J of the constraints and the inverse of JJ'."""
        J = self.jacobian(X)
        G = J @ J.transpose(0, 2, 1)
        diagonal = G.reshape(len(G), G[0].size)[:, :: G.shape[1] + 1]
        diagonal += _RIDGE + _EPS * diagonal.sum(axis=1, keepdims=True)
        return J, inverse(G)
