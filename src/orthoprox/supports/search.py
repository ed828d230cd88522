"""The search for orthonormal components with few nonzeros that keep the most variance."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import Covariance, DenseCovariance
from orthoprox.supports.exchange import exchange
from orthoprox.supports.levels import Effort, refine, search_levels
from orthoprox.supports.points import Points, at
from orthoprox.supports.progress import Progress
from orthoprox.supports.splice import search_splices, splice
from orthoprox.supports.wide import entering_features, first_features, leading_vectors

EFFORTS = {
    "fast": Effort(fresh=6, anew=12, patience=0, waves=1, race=4, keep=1, tries=2, rounds=5),
    "balanced": Effort(),
    "thorough": Effort(fresh=32, anew=80, patience=3, waves=20, race=12, keep=4, tries=4, rounds=20),
}
"""How far a search goes."""
_INCLUDED = {"thorough": ("balanced", "thorough")}
"""Searches that an effort consists of: what takes longest never keeps less than the default."""
_FEATURES = 100  # the most for a search level by level
_LEVEL_COLUMNS = 6  # and columns: beyond, supports found for the whole matrix are better
_COLUMNS = 10  # the most for joint Newton steps, whose constraints are half their square
_ENTRIES = 100  # and entries, with whose cube these steps grow
_FORMED = 1000  # the most features of a covariance that is formed
_STEPS = 8  # of Newton's method at a start
_ENLARGED = 5  # how often a working set may grow
_REAL = 1e-8  # of the variance: a gain that is not rounding


def is_small(n: int, allowance: Allowance) -> bool:
    """Whether a problem is searched level by level."""
    return n <= _FEATURES and allowance.few and allowance.r <= _LEVEL_COLUMNS


def is_crowded(n: int, allowance: Allowance) -> bool:
    """Whether there are entries for more than half the features, so that columns share rows: a solver may do better."""
    return n <= _FORMED and not is_small(n, allowance) and 2 * allowance.total > n


def _is_joint(n: int, allowance: Allowance) -> bool:
    """Whether a matrix of all features and joint Newton steps on all entries can be afforded."""
    return n <= _FORMED and allowance.total <= _ENTRIES and allowance.r <= _COLUMNS


def find_components(
    C: Covariance,
    allowance: Allowance,
    *,
    effort: str | Effort = "balanced",
    seed: int = 0,
    start: Array | None = None,
    leading: Array | None = None,
    progress: Progress | None = None,
) -> Array:
    """Orthonormal X, shape (n, r), with few nonzeros and a large tr(X'CX).

    Few entries of few features are searched for level by level (``search_levels``), more by exchanging many at once
    (``search_splices``) and, up to a hundred, then a few at a time (``refine``); many features in working sets.
    A total is never worse than equal parts of it, which are searched for first.

    Parameters
    ----------
    C : Covariance
    allowance : Allowance
        How many nonzeros there may be.
    effort : {"fast", "balanced", "thorough"} or Effort
        How far it goes; ``thorough`` searches as ``balanced`` does first, and the better result stays.
    seed : int
        For the random turns of candidates.
    start : array, shape (n, r), optional
        An orthonormal point with no more nonzeros than allowed, to improve by exchanges instead of a search from
        scratch. The result is at least as good.
    leading : array, shape (n, r), optional
        The leading eigenvectors of C where they are known. Many features are searched among those that matter to them.
    progress : Progress, optional
        Where rounds are counted and the best point so far is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.covariance import DenseCovariance
    >>> from orthoprox.supports import Allowance, find_components
    >>> C = DenseCovariance(np.array([[2.0, 1.5, 0.1], [1.5, 2.0, 0.0], [0.1, 0.0, 1.0]]))
    >>> X = find_components(C, Allowance(3, (2, 2)))
    >>> X.T.round(2) ** 2 > 0.4
    array([[ True,  True, False],
           [False, False,  True]])
    """
    progress = Progress() if progress is None else progress
    start = None if start is None else np.asarray(start, dtype=np.float64)
    efforts = [EFFORTS[name] for name in included(effort)] if isinstance(effort, str) else [effort]
    for one in efforts:
        _find(C, allowance, one, seed, start, leading, progress)
    assert progress.best is not None  # one was offered
    return progress.best


def included(effort: str) -> tuple[str, ...]:
    """The efforts of the searches that an effort consists of."""
    return _INCLUDED.get(effort, (effort,))


def _find(
    C: Covariance,
    allowance: Allowance,
    effort: Effort,
    seed: int,
    start: Array | None,
    leading: Array | None,
    progress: Progress,
) -> None:
    """One search, among features that matter and then among those that would gain."""
    C = _formed(C, np.arange(C.n)) if C.n <= _FORMED else C
    inside = first_features(C, allowance, leading)
    if start is not None:
        inside = np.union1d(inside, np.flatnonzero(np.any(start != 0, axis=1)))
    part = _enter(C, inside, progress)
    if start is None:
        rng = np.random.default_rng(seed)
        progress.offer(_search(part, _cut(allowance, part.n), effort, rng, progress))
    else:
        progress.offer(_improve(part, start[inside], allowance, effort, progress))
    for _ in range(_ENLARGED if part.n < C.n else 0):
        X, value = progress.best, progress.value
        assert X is not None  # one was offered
        more = entering_features(C, X, inside, allowance)
        if len(more) == 0 or progress.ends():
            break
        inside, before = np.union1d(inside, np.union1d(more, np.flatnonzero(np.any(X != 0, axis=1)))), inside
        part = _enter(C, inside, progress, (before, part))
        progress.offer(_improve(part, X[inside], allowance, effort, progress))
        if progress.value <= value * (1 + _REAL):  # those left promise less than these, which have gained nothing
            break


def _search(
    C: Covariance, allowance: Allowance, effort: Effort, rng: np.random.Generator, progress: Progress
) -> Points:
    """From scratch."""
    if is_small(C.n, allowance):
        return search_levels(C.dense(), leading_vectors(C, min(C.n, 2 * allowance.r)), allowance, effort, rng, progress)
    # Each has its own random numbers: equal parts of a total are found as if they were asked for.
    for_parts, for_whole = rng.spawn(2)
    caps = allowance.equal_caps() if allowance.slack else allowance
    V = leading_vectors(C, min(C.n, (2 if _is_joint(C.n, caps) else 1) * allowance.r))
    points = _search_many(C, V, caps, effort, for_parts, progress)
    return _search_many(C, V, allowance, effort, for_whole, progress, points) if allowance.slack else points


def _search_many(
    C: Covariance,
    V: Array,
    allowance: Allowance,
    effort: Effort,
    rng: np.random.Generator,
    progress: Progress,
    parts: Points | None = None,
) -> Points:
    """By splices, and if there are not too many entries, by exchanges with joint Newton steps."""
    points = search_splices(C, V, allowance, effort, rng, progress, parts)
    if not _is_joint(C.n, allowance):
        return points
    return refine(C.dense(), V, points, allowance, effort, rng, progress)


def _improve(C: Covariance, X: Array, allowance: Allowance, effort: Effort, progress: Progress) -> Points:
    """From a point, by exchanges."""
    allowance = _cut(allowance, C.n)
    points = splice(C, at(C, X[None], allowance), allowance, effort.keep, progress)
    if _is_joint(C.n, allowance):
        points = points.improve(C.dense(), _STEPS)
    if _is_joint(C.n, allowance) and progress.tick():
        points = exchange(C.dense(), points, Allowances.of([allowance]), effort.tries, effort.rounds, 1)
    return points.best(1)


def _enter(
    C: Covariance, inside: Array, progress: Progress, known: tuple[Array, Covariance] | None = None
) -> Covariance:
    """The covariance of some features, among which the search goes on; that of a part of them may be known."""
    every = len(inside) == C.n
    progress.features, progress.n = None if every else inside, C.n
    if len(inside) > _FORMED:
        return C if every else C.restrict(inside)
    if known is None:
        return _formed(C, inside)
    before, part = known
    old = np.isin(inside, before, assume_unique=True)
    new, D = np.flatnonzero(~old), np.empty((len(inside), len(inside)))
    D[np.ix_(old, old)] = part.dense()
    D[:, new] = C.cross(inside, inside[new])
    D[new] = D[:, new].T
    D[np.ix_(new, new)] = (D[np.ix_(new, new)] + D[np.ix_(new, new)].T) / 2
    return DenseCovariance(D, root=C.factor(inside))


def _formed(C: Covariance, inside: Array) -> Covariance:
    """The covariance of some features as an array, with products through the samples where these are few."""
    part = C if len(inside) == C.n else C.restrict(inside)
    return part if isinstance(part, DenseCovariance) else DenseCovariance(part.dense(), root=C.factor(inside))


def _cut(allowance: Allowance, n: int) -> Allowance:
    return Allowance(allowance.total, tuple(min(cap, n) for cap in allowance.caps))
