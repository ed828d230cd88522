"""The bound by clipping: U = clip(C, -lam, lam), with the best lam."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from orthoprox._fields import cached_property
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._eigen import largest_block, rough_sum
from orthoprox.bounds._source import Scaled

sparse: Any = scipy.sparse
_EPS = float(np.finfo(np.float64).eps)
FEW = 1500
"""Up to this many rows a connected block is decomposed."""
_DENSE = 120  # up to this order an eigenvalue costs next to nothing
_ENTRIES = 3_000_000  # a thresholded matrix with more entries is not collected: a larger lam does it
_FIRST = 200  # features that say where to begin,
_START = 4e8  # with as many multiplications at most
_HALVINGS = 30
_EIGENVALUES = 0.4  # multiplications allowed for them, times the cube of the order: a tenth of what they take
_CHUNK = 256  # columns of C at a time
_ALIKE = 0.7  # of the largest variance among columns that are computed together
_PROBES = 50  # columns that tell how much is above a lam
_RISE = 1.2  # of lam, where too much is above it all the same,
_CLOSER = 1.025  # and where blocks are too large
_LOWER = 0.95  # a lam that is hardly lower than the last one is not worth a step
_RATIO = math.sqrt(0.5)  # between one lam and the next in the first search
_LEVELS = 12
_GOLDEN = (math.sqrt(5) - 1) / 2
_SECTIONS = 8  # each narrows the interval for lam to 0.62 of it


@dataclass(frozen=True)
class Limits:
    """How far a search for lam goes in a matrix with many features. Every lam has a valid bound."""

    work: float
    """Multiplications to compute entries."""
    kept: int
    """Entries above lam."""
    block: int
    """Features in a connected block, or in a matrix that is formed as a whole."""

    @classmethod
    def of(cls, work: float) -> Limits:
        """Those for so many multiplications, of entries and of eigenvalues."""
        block = FEW if math.isinf(work) else min(FEW, round((work / _EIGENVALUES) ** (1 / 3)))
        return cls(work, min(_ENTRIES, block**2), block)


@dataclass(frozen=True, eq=False)
class LargeEntries:
    """The entries of C that are larger than a level, in size: of each pair one, above the diagonal, row by row."""

    lam: float
    values: Array
    i: Array
    j: Array
    order: Array
    """The features to which rows and columns belong."""

    def above(self, lam: float) -> LargeEntries:
        """Those that are larger than a higher level."""
        there = np.flatnonzero(np.abs(self.values) > lam)
        return LargeEntries(lam, self.values[there], self.i[there], self.j[there], self.order)

    def fits(self, block: int) -> bool:
        """Whether no connected block has more rows than that."""
        n = len(self.order)
        neighbours = np.bincount(self.i, minlength=n) + np.bincount(self.j, minlength=n)
        if np.max(neighbours) > block + 1:  # of which a row itself may be two
            return False
        return n <= block or largest_block(self._half(self.values, np.arange(n), n)) <= block

    def clipped(self) -> tuple[Any, Array]:
        """C - clip(C, -lam, lam) on the rows where it is not zero, sparse, and these rows."""
        there = np.zeros(len(self.order), dtype=bool)
        there[self.i] = there[self.j] = True
        used = np.flatnonzero(there)
        A = self._half(shrink(self.values, self.lam), np.cumsum(there) - 1, len(used))
        return sparse.csr_array(A + A.T - sparse.diags_array(A.diagonal())), self.order[used]

    def _half(self, values: Array, place: Array, n: int) -> Any:
        starts = np.concatenate([[0], np.cumsum(np.bincount(place[self.i], minlength=n))])
        return sparse.csr_array((values, place[self.j], starts), shape=(n, n))


@dataclass(frozen=True, eq=False)
class Clip:
    """The entries above a level, and whether blocks are too large below it."""

    large: LargeEntries
    limited: bool = False

    @property
    def lam(self) -> float:
        return self.large.lam

    @cached_property
    def kept(self) -> Any:
        """C less C clipped at the level, on the rows where that is not zero."""
        return self.large.clipped()[0]


def shrink(A: Any, lam: float) -> Any:
    """C - clip(C, -lam, lam): entries move towards zero by lam, and small ones vanish."""
    if not sparse.issparse(A):
        return A - np.clip(A, -lam, lam)
    A = sparse.csr_array(A, copy=True)
    A.data = A.data - np.clip(A.data, -lam, lam)
    A.eliminate_zeros()
    return A


def shrink_stored(C: Array, lam: float, sizes: Array | None = None) -> Any:
    """The same of a stored matrix; sparse where that has few entries. The sizes of entries may be known."""
    n, sizes = len(C), np.abs(C) if sizes is None else sizes
    if n <= _DENSE:
        return shrink(C, lam)
    there = np.flatnonzero(sizes.ravel() > lam)
    if len(there) >= C.size // 8:
        return shrink(C, lam)
    starts = np.searchsorted(there, n * np.arange(n + 1))
    columns = there - n * np.repeat(np.arange(n), np.diff(starts))
    return sparse.csr_array((shrink(C.ravel()[there], lam), columns, starts), shape=C.shape)


def penalty(lam: float, allowance: Allowance) -> float:
    """Lam times the number of nonzeros, rounded up."""
    return lam * allowance.total * (1 + 2 * _EPS)


def best_clip(C: Array, allowance: Allowance) -> float:
    """A lam for which the bound of a stored matrix is small."""
    sizes = np.abs(C)

    def bound(lam: float) -> float:
        return rough_sum(shrink_stored(C, lam, sizes), allowance.r) + lam * allowance.total

    top = float(np.max(sizes))
    lams = [top * _RATIO**level for level in range(_LEVELS)]
    return search(bound, [*lams, 0.0], _SECTIONS if len(C) <= _DENSE else _SECTIONS // 2)


def best_clip_wide(C: Scaled, allowance: Allowance, limits: Limits, known: float = math.inf) -> Clip | None:
    """A lam for which the bound of a wide matrix is small; None where none has one below that ``known`` already.

    The features with the largest variances say where to begin. From there lam falls as long as that pays, within the
    limits; where they are passed it rises.
    """
    top = float(np.max(C.diagonal))
    least = max(least_level(C, limits.work), top * _RATIO ** (2 * _LEVELS))
    largest = np.argsort(-C.diagonal, kind="stable")[:_FIRST]
    floor = max(best_clip(C.block(largest), allowance), least, least_level(C, _START))
    clip = None
    while clip is None:
        if _least_bound(C, floor, allowance) >= known:
            return None
        clip = _within(C, floor, limits)
        floor = max(_RISE * floor, _quantile(C, limits.kept)) if clip is None else floor
    if clip.limited and _least_bound(C, clip.lam, allowance) >= known:
        return None
    while True:
        lam, lower = _best_above(clip, top, allowance), max(clip.lam * _RATIO, least)
        falling = lam * _RATIO < clip.lam and lower < clip.lam  # the best is at the lower end, or next to it
        below = _within(C, lower, limits) if falling and not clip.limited else None
        if below is None or below.lam > _LOWER * clip.lam:
            return clip if lam == clip.lam else Clip(clip.large.above(lam))
        clip = below


def _least_bound(C: Scaled, lam: float, allowance: Allowance) -> float:
    """What no bound at lam or above is below: eigenvalues add up to no less than entries on the diagonal."""
    largest = np.sort(C.diagonal)[-allowance.r :]
    return float(np.sum(np.maximum(largest - lam, 0.0))) + lam * allowance.total


def _quantile(C: Scaled, most: int) -> float:
    """About the lam with as many entries above it, judged by some columns."""
    some = np.argsort(-C.diagonal, kind="stable")[:: max(1, C.n // _PROBES)]
    sizes = np.abs(C.cross(np.arange(C.n), some)).ravel()
    last = min(int(len(sizes) * (most / C.n**2)), len(sizes) - 1)
    return float(np.partition(sizes, len(sizes) - 1 - last)[len(sizes) - 1 - last])


def _within(C: Scaled, lam: float, limits: Limits) -> Clip | None:
    """C clipped at lam, or above it where blocks are too large; None where there are too many entries."""
    large = large_entries(C, lam, limits.kept)
    if large is None or large.fits(limits.block):
        return None if large is None else Clip(large)
    return Clip(_with_small_blocks(large, limits.block), limited=True)


def _with_small_blocks(large: LargeEntries, block: int) -> LargeEntries:
    """The entries above a level at which blocks are small enough: the least of lam * _CLOSER**i, by bisection."""
    lam, low, high = large.lam, 0, 1
    while not (found := large.above(_CLOSER**high * lam)).fits(block):
        low, high, large = high, 2 * high, found
    while high - low > 1:
        middle = (low + high) // 2
        part = large.above(_CLOSER**middle * lam)
        if part.fits(block):
            high, found = middle, part
        else:
            low, large = middle, part
    return found


def _best_above(clip: Clip, top: float, allowance: Allowance) -> float:
    """The best lam between that of a clip, above which all entries are known, and the largest variance."""
    kept, floor = clip.kept, clip.lam
    if kept.shape[0] == 0:
        return floor

    def bound(lam: float) -> float:
        return rough_sum(shrink(kept, lam - floor), min(allowance.r, kept.shape[0])) + lam * allowance.total

    points = [floor]
    while points[-1] / _RATIO < top:
        points.append(points[-1] / _RATIO)
    return search(bound, [*points[:0:-1], floor], _SECTIONS // 2)


def least_level(C: Scaled, work: float) -> float:
    """The least lam for which the entries that may be above it take at most so many multiplications."""
    if math.isinf(work):
        return 0.0
    variance = np.sort(C.diagonal)[::-1]
    rank, low, high = np.arange(C.n), 0.0, float(variance[0])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        heads = variance[variance > middle]
        last = np.searchsorted(-variance, -(middle**2) / heads) if len(heads) else rank[:0]
        entries = float(np.sum(np.maximum(last - rank[: len(heads)], 0)))
        low, high = (low, middle) if entries * C.source.entry_work <= work else (middle, high)
    return high


def entries_above(C: Scaled, lam: float, limit: float) -> tuple[Any, Array]:
    """C - clip(C, -lam, lam) on the rows where it is not zero, sparse, and these rows; None where there is too much."""
    large = large_entries(C, lam, limit)
    return (None, np.empty(0, dtype=int)) if large is None else large.clipped()


def large_entries(C: Scaled, lam: float, limit: float) -> LargeEntries | None:
    """The entries that are larger than lam; None where there are more than a limit.

    As abs(C_ij) <= sqrt(C_ii C_jj), an entry above lam has a variance above lam in its row or column. So only these
    rows are computed, and of them only columns whose variance is large enough. A safety factor covers the rounding of
    the variances.
    """
    variance = C.diagonal * (1 + 1e-9) + C.error
    order = np.argsort(-variance, kind="stable")
    variance = variance[order]
    none = np.empty(0, dtype=int)
    parts: list[tuple[Array, Array, Array]] = [(np.empty(0), none, none)]
    begin, heads = 0, int(np.count_nonzero(variance > lam))
    while begin < heads:
        last = int(np.count_nonzero(variance * variance[begin] > lam * lam))
        alike = int(np.count_nonzero(variance > _ALIKE * variance[begin]))  # which need about as many columns
        end = min(begin + _CHUNK, max(alike, begin + _CHUNK // 8), heads)
        part = C.cross(order[begin:end], order[begin:last])  # pairs with a larger variance were looked at before
        i, j = np.nonzero(np.triu(np.abs(part) > lam))
        parts.append((part[i, j], i + begin, j + begin))
        begin = end
        if 2 * sum(len(i) for _, i, _ in parts) > limit:
            return None
    values, i, j = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    return LargeEntries(lam, values, i, j, order)


def search(bound: Callable[[float], float], points: list[float], sections: int) -> float:
    """The best of falling points, up to where the bound has risen twice, refined by golden sections."""
    values: list[float] = []
    for point in points:
        values.append(bound(point))
        if len(values) > 2 and values[-1] > values[-2] > values[-3]:
            break
    best = min(range(len(values)), key=values.__getitem__)
    high, low = points[max(best - 1, 0)], points[min(best + 1, len(points) - 1)]
    lam, value = points[best], values[best]
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    at = [bound(point) for point in inner]
    for _ in range(sections):
        i = 0 if at[0] < at[1] else 1
        if at[i] < value:
            lam, value = inner[i], at[i]
        if i == 0:
            high, inner[1], at[1] = inner[1], inner[0], at[0]
            inner[0] = high - _GOLDEN * (high - low)
            at[0] = bound(inner[0])
        else:
            low, inner[0], at[0] = inner[0], inner[1], at[1]
            inner[1] = low + _GOLDEN * (high - low)
            at[1] = bound(inner[1])
    return lam
