"""The bound by clipping: U = clip(C, -lam, lam), with the best lam."""

from __future__ import annotations

import math
from collections.abc import Callable
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
_CHUNK = 256  # columns of C at a time
_RATIO = math.sqrt(0.5)  # between one lam and the next in the first search
_LEVELS = 12
_GOLDEN = (math.sqrt(5) - 1) / 2
_SECTIONS = 8  # each narrows the interval for lam to 0.62 of it


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


def best_clip_wide(C: Scaled, allowance: Allowance) -> float:
    """A lam for which the bound of a wide matrix is small.

    Lam falls until the bound has risen twice or too much of C is above it; then it is refined between its neighbours.
    """
    top = float(np.max(C.diagonal))
    found = [(top * allowance.total, top, *entries_above(C, top, 1))]
    for level in range(1, 2 * _LEVELS):
        lam = top * _RATIO**level
        kept, rows = entries_above(C, lam, _ENTRIES)
        if kept is None or (len(rows) > FEW and largest_block(kept) > FEW):
            break
        found.append((rough_sum(kept, min(allowance.r, len(rows))) + lam * allowance.total, lam, kept, rows))
        if len(found) > 2 and found[-1][0] > found[-2][0] > found[-3][0]:
            break
    best = min(range(len(found)), key=lambda i: found[i][0])
    _, floor, kept, rows = found[min(best + 1, len(found) - 1)]
    ceiling = found[max(best - 1, 0)][1]

    def bound(lam: float) -> float:
        return rough_sum(shrink(kept, lam - floor), min(allowance.r, len(rows))) + lam * allowance.total

    return search(bound, [ceiling, found[best][1], floor], _SECTIONS) if len(rows) else ceiling


def entries_above(C: Scaled, lam: float, limit: int) -> tuple[Any, Array]:
    """C - clip(C, -lam, lam) on the rows where it is not zero, sparse, and these rows; None where there is too much.

    As abs(C_ij) <= sqrt(C_ii C_jj), an entry above lam has a variance above lam in its row or column. So only these
    columns are computed, and of them only rows whose variance is large enough. A safety factor covers the rounding of
    the variances.
    """
    variance = C.diagonal * (1 + 1e-9) + C.error
    top = float(np.max(variance))
    heads = np.flatnonzero(variance > lam)
    rows = np.flatnonzero(variance * top > lam * lam)
    if len(heads) == 0:
        return sparse.csr_array((0, 0)), rows[:0]
    A = _collect(C, lam, limit, heads, rows)
    if A is None:
        return None, rows
    used = np.flatnonzero(np.diff(A.indptr))
    return A[used][:, used], rows[used]


def _collect(C: Scaled, lam: float, limit: int, heads: Array, rows: Array) -> Any:
    """The same with all the rows, from some columns at a time; None where more than ``limit`` entries are above lam."""
    parts: list[Any] = []
    for begin in range(0, len(heads), _CHUNK):
        part = C.cross(rows, heads[begin : begin + _CHUNK])
        i, j = np.nonzero(np.abs(part) > lam)
        parts.append(sparse.csc_array((shrink(part[i, j], lam), (i, j)), shape=part.shape))
        if sum(part.nnz for part in parts) > limit:
            return None
    A = sparse.coo_array(sparse.hstack(parts))
    place: Array = np.searchsorted(rows, heads)
    i, j = A.row, place[A.col]
    once = ~np.isin(rows, heads)[i] | (i <= j)  # a pair of heads was computed twice
    A = sparse.coo_array((A.data[once], (i[once], j[once])), shape=(len(rows), len(rows)))
    return sparse.csr_array(A + A.T - sparse.diags_array(A.diagonal()))


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
