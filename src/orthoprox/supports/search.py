"""The search for orthonormal components with few nonzeros that keep the most variance."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.covariance import Covariance, DenseCovariance
from orthoprox.supports.allowance import Allowance
from orthoprox.supports.levels import Effort, search_levels
from orthoprox.supports.points import Points
from orthoprox.supports.progress import Progress
from orthoprox.supports.splice import search_splices
from orthoprox.supports.wide import entering_features, first_features, leading_vectors

EFFORTS = {
    "fast": Effort(fresh=6, anew=8, patience=1, race=4, keep=1, tries=2, rounds=4),
    "balanced": Effort(),
    "thorough": Effort(fresh=64, anew=48, patience=4, race=24, keep=4, tries=6, rounds=20),
}
"""How far a search goes."""
_ENTRIES = 100  # the most entries for a search level by level, whose Newton steps grow with their cube
_FEATURES = 100  # and features
_FORMED = 1500  # the most features of a covariance that is formed
_ENLARGED = 5  # how often a working set may grow


def find_components(
    C: Covariance,
    allowance: Allowance,
    *,
    effort: str | Effort = "balanced",
    seed: int = 0,
    start: Array | None = None,
    progress: Progress | None = None,
) -> Array:
    """Orthonormal X, shape (n, r), with few nonzeros and a large tr(X'CX).

    Few entries of few features are searched for level by level (``search_levels``), more by exchanging many at once
    (``search_splices``), many features in working sets.

    Parameters
    ----------
    C : Covariance
    allowance : Allowance
        How many nonzeros there may be.
    effort : {"fast", "balanced", "thorough"} or Effort
    seed : int
        For the random turns of candidates.
    start : array, shape (n, r), optional
        A point to improve, with no more nonzeros than allowed; the result is at least as good.
    progress : Progress, optional
        Where rounds are counted and the best point so far is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.covariance import DenseCovariance
    >>> from orthoprox.supports import Allowance, find_components
    >>> C = DenseCovariance(np.array([[2.0, 1.0, 0.1], [1.0, 2.0, 0.0], [0.1, 0.0, 1.0]]))
    >>> X = find_components(C, Allowance(3, (2, 2)))
    >>> X.T.round(2) ** 2 > 0.4
    array([[ True,  True, False],
           [False, False,  True]])
    """
    effort = EFFORTS[effort] if isinstance(effort, str) else effort
    progress = Progress(most=10**9) if progress is None else progress
    rng = np.random.default_rng(seed)
    inside = np.arange(C.n)
    if C.n > _FEATURES or allowance.total > _ENTRIES:
        V = leading_vectors(C, allowance.r)
        inside = first_features(C, V, allowance)
    X = _search(_restrict(C, inside), _cut(allowance, len(inside)), effort, rng, progress)
    X = _embed(X, inside, C.n)
    for _ in range(_ENLARGED if len(inside) < C.n else 0):
        more = entering_features(C, X, inside, allowance)
        if len(more) == 0 or progress.over:
            break
        inside = np.union1d(inside, more)
        part = _restrict(C, inside)
        points = search_splices(part, X[inside], allowance, effort, rng, progress, start=X[inside])
        X = _embed(points.X[0], inside, C.n)
    return X


def _search(
    C: Covariance, allowance: Allowance, effort: Effort, rng: np.random.Generator, progress: Progress
) -> Array:
    if C.n <= _FEATURES and allowance.total <= _ENTRIES:
        V = leading_vectors(C, min(C.n, 2 * allowance.r))
        points: Points = search_levels(C.dense(), V, allowance, effort, rng, progress)
    else:
        V = leading_vectors(C, min(C.n, allowance.r))
        points = search_splices(C, V, allowance, effort, rng, progress)
    return points.X[0]


def _restrict(C: Covariance, inside: Array) -> Covariance:
    part = C if len(inside) == C.n else C.restrict(inside)
    return DenseCovariance(part.dense()) if part.n <= _FORMED else part


def _cut(allowance: Allowance, n: int) -> Allowance:
    return Allowance(allowance.total, tuple(min(cap, n) for cap in allowance.caps))


def _embed(X: Array, inside: Array, n: int) -> Array:
    Y = np.zeros((n, X.shape[1]))
    Y[inside] = X
    return Y
