"""Good components on given supports: what a bound is compared with while it is improved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orthoprox._types import Array
from orthoprox.active import Budget, greedy, minimise_near
from orthoprox.manifolds import Stiefel
from orthoprox.problem import Problem
from orthoprox.terms import Quadratic

_BUDGET = Budget(steps=20, radius=0.3, tolerance=1e-9)  # in units in which the largest variance is about 1


class Incumbent:
    """The best components met so far, in columns, and a variance that they or the user's have."""

    def __init__(self, C: Array, low: float) -> None:
        self.C, self.low = C, low
        self.X: Array | None = None
        self._tried: set[tuple[bytes, bool]] = set()

    def try_on(self, supports: Sequence[Array], thoroughly: bool = False) -> None:
        """See whether components on these supports are better: one after the other, or by Newton's method too."""
        key = b"".join(sorted(support.tobytes() for support in supports)), thoroughly
        if key in self._tried:
            return
        self._tried.add(key)
        X = one_after_the_other(self.C, supports)
        self._take(X)
        if thoroughly and len(np.unique(np.concatenate(supports))) < sum(map(len, supports)):
            for start in (X, np.linalg.eigh(self.C)[1][:, -len(supports) :]):
                self._take(None if start is None else _together(self.C, start, supports))

    def try_greedy(self, sizes: Sequence[int]) -> None:
        """Begin with supports that are chosen one entry at a time."""
        support = greedy(self.C, len(sizes), sum(sizes), list(sizes))
        self.try_on([np.flatnonzero(column) for column in support.T], thoroughly=True)

    def _take(self, X: Array | None) -> None:
        if X is not None and (variance := float(np.sum(X * (self.C @ X)))) > self.low:
            self.X, self.low = X, variance


def one_after_the_other(C: Array, supports: Sequence[Array]) -> Array | None:
    """Each column the best one on its support that is orthogonal to the others; None where there is none."""
    X = np.zeros((len(C), len(supports)))
    for _ in range(3):
        for j, support in enumerate(supports):
            others = np.delete(X, j, axis=1)[support]
            left, s, _ = np.linalg.svd(others, full_matrices=True)
            free = left[:, int(np.count_nonzero(s > 1e-9)) :]
            if free.shape[1] == 0:
                return None
            x = free @ np.linalg.eigh(free.T @ C[support[:, None], support] @ free)[1][:, -1]
            X[:, j] = 0.0
            X[support, j] = x
    return X


def _together(C: Array, X: Array, supports: Sequence[Array]) -> Array | None:
    """All columns at once, by Newton's method on the supports from near X."""
    mask = np.zeros(X.shape)
    for j, support in enumerate(supports):
        mask[support, j] = 1.0
    problem = Problem(M=Stiefel(*X.shape), f=Quadratic(-C))
    found = minimise_near(problem, X * mask, _BUDGET, support=mask)
    if found is None or float(np.max(np.abs(found.point.X.T @ found.point.X - np.eye(X.shape[1])))) > 1e-12:
        return None
    return np.where(mask > 0, found.point.X, 0.0)
