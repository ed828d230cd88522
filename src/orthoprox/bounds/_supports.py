"""Few features: the k-sparse eigenvalues of U by going through all supports, and the split that makes most of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.bounds._allowance import Allowance
from orthoprox.bounds._eigen import upper_eigenvalues

_CHUNK = 20_000  # supports at a time
_TRIED = 32  # supports tried first
_STALL = 10  # iterations without progress before the step is halved
_HALVINGS = 6
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


def peaks_of(allowance: Allowance) -> Peaks:
    """The peaks for an allowance: any supports of the sizes that it has."""
    columns = {size: Column(all_supports(allowance.n, size)) for size in allowance.sizes}

    def peaks(U: Array) -> list[Peak]:
        found = {size: column.peak(U) for size, column in columns.items()}
        _, sizes = allowance.most({size: peak.value for size, peak in found.items()})
        return [found[size] for size in sizes]

    return peaks


@dataclass(frozen=True, eq=False)
class Descent:
    """What a minimisation over U found."""

    value: float
    U: Array
    share: Array
    """How often each feature (row) was in the best support of each column."""
    components: Array | None
    """Orthonormal columns met that beat the target, if any."""
    variance: float
    """Their variance; the target where there are none."""


def descend(C: Array, U: Array, peaks: Peaks, target: float, iterations: int) -> Descent:
    """Minimise the sum of the r largest eigenvalues of C - U plus the peaks of U, a convex function, over U.

    Subgradient steps of Polyak's length towards ``target`` or the best components met, shortened when they stall. Ends
    early once the target is reached.
    """
    best, best_U, factor, stalled, share = math.inf, U, 1.0, 0, 0.0
    met = _Met(C, target)
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
        stalled = 0 if value < best - _PROGRESS * abs(best - met.low) else stalled + 1
        if value < best:
            best, best_U = value, U
            met.try_on([peak.support for peak in found])
        length = float(np.sum(G * G))
        if best <= met.low or length <= _FLAT * r or factor < 0.5**_HALVINGS:
            break
        if stalled > _STALL:
            factor, stalled, U = factor / 2, 0, best_U
        else:
            U = U - factor * (value - met.low) / length * G
    return Descent(best, best_U, np.asarray(share), met.X, met.low)


class _Met:
    """The best orthonormal columns on the supports that a descent meets, and their variance."""

    def __init__(self, C: Array, low: float) -> None:
        self.C, self.low = C, low
        self.X: Array | None = None
        self._tried: set[bytes] = set()

    def try_on(self, supports: Sequence[Array]) -> None:
        key = b"".join(sorted(support.tobytes() for support in supports))
        if key in self._tried:
            return
        self._tried.add(key)
        X = orthonormal_on(self.C, supports)
        if X is not None and (variance := float(np.sum(X * (self.C @ X)))) > self.low:
            self.X, self.low = X, variance


def orthonormal_on(C: Array, supports: Sequence[Array]) -> Array | None:
    """Orthonormal columns on given supports with a large variance, one after the other; None where there are none."""
    X = np.zeros((len(C), len(supports)))
    for _ in range(3):
        for j, support in enumerate(supports):
            others = np.delete(X, j, axis=1)[support]
            left, s, _ = np.linalg.svd(others, full_matrices=True)
            free = left[:, int(np.count_nonzero(s > 1e-9)) :]
            if free.shape[1] == 0:
                return None
            x = free @ np.linalg.eigh(free.T @ C[np.ix_(support, support)] @ free)[1][:, -1]
            X[:, j] = 0.0
            X[support, j] = x
    return X
