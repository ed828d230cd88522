"""Few features: the k-sparse eigenvalues of U by going through all supports, and the split that makes most of them."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._allocations import largest_sum, sizes_of
from orthoprox.bounds._eigen import upper_eigenvalues
from orthoprox.bounds._incumbent import Incumbent

_CHUNK = 20_000  # supports at a time
_TRIED = 32  # supports tried first
_STALL = 20  # iterations without progress before the step is halved
_HALVINGS = 8
_PROGRESS = 1e-4  # of the gap
_FLAT = 1e-14  # the square of a subgradient that is zero


def count_supports(n: int, sizes: Sequence[int]) -> int:
    """How many supports there are of these sizes."""
    return sum(math.comb(n, size) for size in sizes)


def all_supports(n: int, size: int) -> Array:
    """The supports of one size, one in each row."""
    return np.array(list(itertools.combinations(range(n), size)), dtype=np.intp)


def values_on(U: Array, supports: Array) -> Array:
    """The largest eigenvalues of the submatrices of U on the supports."""
    return _by_chunks(lambda A: np.linalg.eigvalsh(A)[:, -1], U, supports)


def upper_values_on(U: Array, supports: Array) -> Array:
    """Numbers not below them, in floating-point arithmetic too."""
    return _by_chunks(lambda A: upper_eigenvalues(A)[:, -1], U, supports)


def _by_chunks(largest: Callable[[Array], Array], U: Array, supports: Array) -> Array:
    chunks = (supports[i : i + _CHUNK] for i in range(0, len(supports), _CHUNK))
    found = [largest(U[S[:, :, None], S[:, None, :]]) for S in chunks]
    return np.concatenate(found) if found else np.empty(0)


@dataclass(frozen=True, eq=False)
class Peak:
    """The best unit vector on the supports of a column."""

    value: float
    support: Array
    x: Array


class Column:
    """The supports that a column may have, and the best of them for one U after another.

    Values found for an earlier U bound those for the next: the largest eigenvalue of U_SS rises by at most that of the
    change. So most supports need no new eigenvalue.
    """

    def __init__(self, supports: Array) -> None:
        self.supports = supports
        self._U: Array | None = None
        self._values: Array = np.empty(0)

    def peak(self, U: Array) -> Peak:
        """The support with the largest value, and the eigenvector there."""
        if self._U is not None:
            rise = max(0.0, float(np.linalg.eigvalsh(U - self._U)[-1]))
            first = np.argpartition(-self._values, min(_TRIED, len(self._values)) - 1)[:_TRIED]
            tried = values_on(U, self.supports[first])
            might = self._values + rise >= np.max(tried)
            might[first] = False
            rest = np.flatnonzero(might)
            if len(rest) <= len(self.supports) // 2:
                ids, values = np.append(first, rest), np.append(tried, values_on(U, self.supports[rest]))
                return self._at(U, self.supports[ids[np.argmax(values)]])
        self._U, self._values = U, values_on(U, self.supports)
        return self._at(U, self.supports[np.argmax(self._values)])

    def _at(self, U: Array, support: Array) -> Peak:
        w, V = np.linalg.eigh(U[np.ix_(support, support)])
        return Peak(float(w[-1]), support, V[:, -1])


Peaks = Callable[[Array], list[Peak]]
"""The peaks of all columns at a U, for the allocation where they are highest in all."""


def peaks_of(n: int, allowance: Allowance) -> Peaks:
    """The peaks for an allowance of n features: any supports of the sizes that it has."""
    columns = {size: Column(all_supports(n, size)) for size in sizes_of(allowance)}

    def peaks(U: Array) -> list[Peak]:
        found = {size: column.peak(U) for size, column in columns.items()}
        _, sizes = largest_sum(allowance, {size: peak.value for size, peak in found.items()})
        return [found[size] for size in sizes]

    return peaks


@dataclass(frozen=True, eq=False)
class Descent:
    """What a minimisation over U found."""

    value: float
    U: Array
    share: Array
    """How often each feature (row) was in the best support of each column."""


def descend(C: Array, U: Array, peaks: Peaks, incumbent: Incumbent, iterations: int, end: float) -> Descent:
    """Minimise the sum of the r largest eigenvalues of C - U plus the peaks of U, a convex function, over U.

    Subgradient steps of Polyak's length towards the variance of the incumbent, or a value between it and the best one
    so far, which is raised when steps stall. Ends early where the incumbent is proved optimal, and at the time ``end``.
    """
    best, best_U, hope, stalled = math.inf, U, math.inf, 0
    share: Array = 0.0
    best_supports: list[Array] = []
    # With U = C each column has its own optimum, which is best where these are orthogonal.
    if sum(peak.value for peak in peaks(C)) <= _sum_of_largest(C - U, peaks(U)):
        U = C
    for _ in range(iterations):
        found = peaks(U)
        r = len(found)
        w, V = np.linalg.eigh(C - U)
        value = float(np.sum(w[-r:])) + sum(peak.value for peak in found)
        G = -V[:, -r:] @ V[:, -r:].T
        inside = np.zeros((len(C), r))
        for j, peak in enumerate(found):
            G[peak.support[:, None], peak.support] += np.outer(peak.x, peak.x)
            inside[peak.support, j] = 1.0
        share = share + inside
        stalled = 0 if value < best - _PROGRESS * abs(best - incumbent.low) else stalled + 1
        if value < best:
            best, best_U = value, U
            best_supports = [peak.support for peak in found]
            incumbent.try_on(best_supports)
        length = float(np.sum(G * G))
        gap = best - incumbent.low
        if gap <= 0 or length <= _FLAT * r or time.perf_counter() > end:
            break
        if stalled > _STALL:  # hope for half as much, from the best point
            hope, stalled, U = min(hope, gap) / 2, 0, best_U
            if hope < 0.5**_HALVINGS * gap:
                break
        else:
            U = U - (value - best + min(hope, gap)) / length * G
    incumbent.try_on(best_supports, thoroughly=True)
    return Descent(best, best_U, np.asarray(share))


def _sum_of_largest(A: Array, found: list[Peak]) -> float:
    return float(np.sum(np.linalg.eigvalsh(A)[-len(found) :])) + sum(peak.value for peak in found)
