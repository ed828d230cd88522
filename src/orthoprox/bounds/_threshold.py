"""The bound by clipping: U = clip(C, -lam, lam), with the best lam."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._eigen import largest_block, rough_sum
from orthoprox.bounds._source import Scaled

sparse: Any = scipy.sparse
_EPS = float(np.finfo(np.float64).eps)
FEW = 1500
"""Up to this many features all of C is stored, and up to this many rows a connected block is decomposed."""
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
_CLOSER = 1.1  # and where blocks are too large
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

    def allow(self, kept: Any) -> bool:
        """Whether entries above a lam, None where there are too many, fall into blocks that are small enough."""
        return kept is not None and (kept.shape[0] <= self.block or largest_block(kept) <= self.block)


@dataclass(frozen=True, eq=False)
class Clip:
    """A level, and C less C clipped there, on the rows where that is not zero."""

    lam: float
    kept: Any
    rows: Array
    rounded: bool = False
    """Whether it was made from C clipped below, so that entries are rounded twice."""


def shrink(A: Any, lam: float) -> Any:
    """C - clip(C, -lam, lam): entries move towards zero by lam, and small ones vanish."""
    if not sparse.issparse(A):
        return A - np.clip(A, -lam, lam)
    A = sparse.csr_array(A, copy=True)
    A.data = A.data - np.clip(A.data, -lam, lam)
    A.eliminate_zeros()
    return A


def penalty(lam: float, allowance: Allowance) -> float:
    """Lam times the number of nonzeros, rounded up."""
    return lam * allowance.total * (1 + 2 * _EPS)


def best_clip(C: Array, allowance: Allowance) -> float:
    """A lam for which the bound of a stored matrix is small."""

    def bound(lam: float) -> float:
        A = shrink(C, lam)
        if len(C) > _DENSE and np.count_nonzero(A) < A.size // 8:
            A = sparse.csr_array(A)
        return rough_sum(A, allowance.r) + lam * allowance.total

    top = float(np.max(np.abs(C)))
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
    if clip.rounded and _least_bound(C, clip.lam, allowance) >= known:  # blocks are too large below
        return None
    while True:
        lam, lower = _best_above(clip, top, allowance), max(clip.lam * _RATIO, least)
        falling = lam * _RATIO < clip.lam and lower < clip.lam  # the best is at the lower end, or next to it
        below = _within(C, lower, limits) if falling else None
        if below is None or below.lam > _LOWER * clip.lam:
            exact = lam == clip.lam and not clip.rounded
            return clip if exact else Clip(lam, *entries_above(C, lam, limits.kept))
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
    kept, rows = entries_above(C, lam, limits.kept)
    if kept is None or limits.allow(kept):
        return None if kept is None else Clip(lam, kept, rows)
    above = _with_small_blocks(kept, lam, limits)
    return Clip(above, shrink(kept, above - lam), rows, rounded=True)


def _with_small_blocks(kept: Any, floor: float, limits: Limits) -> float:
    """A level above a floor at which blocks are small enough: the least of floor * _CLOSER**i, by bisection."""
    low, high = 0, 1
    while not limits.allow(shrink(kept, (_CLOSER**high - 1) * floor)):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = limits.allow(shrink(kept, (_CLOSER**middle - 1) * floor))
        low, high = (low, middle) if fits else (middle, high)
    return floor * _CLOSER**high * (1 + 4 * _EPS)  # where rounding in between leaves no more


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
    """C - clip(C, -lam, lam) on the rows where it is not zero, sparse, and these rows; None where there is too much.

    As abs(C_ij) <= sqrt(C_ii C_jj), an entry above lam has a variance above lam in its row or column. So only these
    columns are computed, and of them only rows whose variance is large enough. A safety factor covers the rounding of
    the variances.
    """
    variance = C.diagonal * (1 + 1e-9) + C.error
    order = np.argsort(-variance, kind="stable")
    variance = variance[order]
    parts: list[tuple[Array, Array, Array]] = []
    begin, heads = 0, int(np.count_nonzero(variance > lam))
    while begin < heads:
        last = int(np.count_nonzero(variance * variance[begin] > lam * lam))
        alike = int(np.count_nonzero(variance > _ALIKE * variance[begin]))  # which need about as many rows
        end = min(begin + _CHUNK, max(alike, begin + _CHUNK // 8), heads)
        part = C.cross(order[begin:last], order[begin:end])  # pairs with a larger variance were looked at before
        i, j = np.nonzero(np.abs(part) > lam)
        i, j = i[i >= j], j[i >= j]  # each pair once
        parts.append((shrink(part[i, j], lam), i + begin, j + begin))
        begin = end
        if 2 * sum(len(i) for _, i, _ in parts) > limit:
            return None, order[:0]
    if not parts:
        return sparse.csr_array((0, 0)), order[:0]
    values, i, j = (np.concatenate(pieces) for pieces in zip(*parts, strict=True))
    there = np.zeros(C.n, dtype=bool)
    there[i] = there[j] = True
    used, place = np.flatnonzero(there), np.cumsum(there) - 1
    i, j = place[i], place[j]
    A = sparse.coo_array((values, (i, j)), shape=(len(used), len(used)))
    return sparse.csr_array(A + A.T - sparse.diags_array(A.diagonal())), order[used]


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
