"""The range between order statistics, column by column."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index

from array_api_compat import device

from orthoprox._checks import check_weight
from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import ConvexTerm, ProximableTerm


@dataclass(frozen=True)
class ColumnRange(ProximableTerm, ConvexTerm):
    r"""The sum over columns of the mean of the k largest entries minus that of the k smallest.

    .. math:: w \sum_j R_k(y_j), \qquad R_k(y) = \frac{1}{k} \Bigl( \sum_{i \le k} y_{(m + 1 - i)} - y_{(i)} \Bigr)

    With k = 1 it is the range; a larger k is less at the mercy of a single entry. It is convex, the support function
    of the vectors with sum 0, entries in :math:`[-w/k, w/k]` and :math:`l_1` norm at most 2w. The prox pulls the
    largest entries down to a common height and the smallest up to another, each by at most :math:`\mu w / k`
    and by :math:`\mu w` in all; where the two heights would cross, all that lies between meets at one.

    Parameters
    ----------
    k : int
        How many entries are averaged at either end; at most half the number of rows.
    weight : float
        The factor w.

    References
    ----------
    F. Vrins, J. A. Lee, M. Verleysen, "A minimum-range approach to blind extraction of bounded sources", IEEE Trans.
    Neural Netw. 18, 2007 (ranges of averaged order statistics).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import ColumnRange
    >>> y = np.array([[5.0], [4.0], [1.0], [0.0], [-1.0]])
    >>> float(ColumnRange().value(y)), float(ColumnRange(k=2).value(y))
    (6.0, 5.0)
    >>> ColumnRange().prox(y, mu=2.0).T
    array([[3.5, 3.5, 1. , 0.5, 0.5]])
    """

    k: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        try:
            k = index(self.k)
        except TypeError:
            raise TypeError(f"The k of ColumnRange must be a whole number; given {self.k!r}.") from None
        require(k > 0 and not isinstance(self.k, bool), f"The k of ColumnRange must be positive; given {self.k!r}.")
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "weight", check_weight(self.weight, "ColumnRange"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * math.sqrt(2 * shape[1] / self.k)

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        ordered = self._sort(y)
        return self.weight / self.k * (xp.sum(ordered[: self.k, :]) - xp.sum(ordered[-self.k :, :]))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        ordered, cap, r = self._sort(y), mu * (self.weight / self.k), y.shape[1]
        both = _level(xp.concat((ordered, -xp.flip(ordered, axis=0)), axis=1), self.k, cap)
        top, bottom = both[:r], -both[r:]

        def separate() -> Array:
            lowered = xp.where(y > top, xp.maximum(y - cap, top), y)
            return xp.where(y < bottom, xp.minimum(y + cap, bottom), lowered)

        def merge() -> Array:
            # As much is taken above as is added below; twice everything, because half the rows is a whole number then.
            middle = _level(xp.repeat(ordered, 2, axis=0), y.shape[0], 2 * cap) + cap
            together = xp.where(y > middle, xp.maximum(y - cap, middle), xp.minimum(y + cap, middle))
            return xp.where(top < bottom, together, separate())

        return backend_of(y).cond(xp.any(top < bottom), merge, separate)

    def subgradient(self, y: Array) -> Array:
        # Among equal entries the first ones by index are chosen, at either end.
        xp = array_namespace(y)
        self._check(y)
        high = xp.argsort(xp.argsort(y, axis=0, descending=True, stable=True), axis=0, stable=True) < self.k
        low = xp.argsort(xp.argsort(y, axis=0, stable=True), axis=0, stable=True) < self.k
        return self.weight / self.k * (xp.astype(high, y.dtype) - xp.astype(low, y.dtype))

    def _sort(self, y: Array) -> Array:
        self._check(y)
        return array_namespace(y).sort(y, axis=0, descending=True, stable=False)

    def _check(self, y: Array) -> None:
        require(
            2 * self.k <= y.shape[0],
            f"The k of ColumnRange must be at most half the number of rows; given {self.k} and {y.shape[0]} rows.",
        )


def _level(y: Array, k: int, cap: Scalar) -> Array:
    """The t with ``sum(clip(y - t, 0, cap)) = k cap`` for each column of y, which descends.

    It lies between ``y_k - cap`` and ``y_k``: there the first k entries are above t and the others at most cap above
    it, so what the first k lack of the cap, which grows with t, is what the others have above t. Measured from y_k.
    """
    xp = array_namespace(y)
    (m, r), origin = y.shape, y[k - 1, :]
    others, first = y[k:, :] - origin, xp.flip(y[:k, :], axis=0) - origin - cap  # one descends, the other ascends
    flat = xp.reshape(others, (-1,))
    sums = xp.concat((0.0 * origin, xp.reshape(xp.cumulative_sum(others, axis=0), (-1,))))
    columns, nothing = xp.arange(r, device=device(y)), 0.0 * first
    one = 0 * columns + 1

    # How many of the others are above t: those at whose height the others have less than the first lack.
    low, high = 0 * one, (m - k + 1) * one
    for _ in range((m - k).bit_length()):
        half = xp.maximum((low + high) // 2, one)
        place = half * r + columns
        t = xp.take(flat, place - r)
        lack = xp.sum(xp.maximum(t - first, nothing), axis=0)
        above = xp.take(sums, place) - xp.astype(half, y.dtype) * t < lack
        low, high = xp.where(above, half, low), xp.where(above, high, half)
    have, count = xp.take(sums, low * r + columns), xp.astype(low, y.dtype)

    # And how many of the first are less than the cap above it: at least the last.
    number = xp.cumulative_sum(xp.ones_like(first), axis=0)
    total = xp.cumulative_sum(first, axis=0)
    short = xp.sum(xp.astype(have - count * first > number * first - total, columns.dtype), axis=0)
    short = xp.maximum(short, one)
    lacked = xp.take(xp.reshape(total, (-1,)), (short - 1) * r + columns)
    return origin + (have + lacked) / (count + xp.astype(short, y.dtype))
