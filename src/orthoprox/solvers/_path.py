"""The homotopy towards a problem with g: that without g first, with the least weight of h at which h - g vanishes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from array_api_compat import array_namespace, device

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.problem import Point, Problem
from orthoprox.solvers._schedules import entry_slope
from orthoprox.terms import EntrywiseTerm, LargestK, Zero

_STAGES = 12
_NARROW = 1.03
_TRIES = 4  # at one weight


@dataclass(frozen=True)
class Path:
    """The present share of the weight of h, and between which shares h - g begins to vanish."""

    level: float
    low: float
    """The largest share known at which h - g does not vanish."""
    high: float
    """The least share known at which it does; infinite as long as there is none."""
    stage: int
    closing: bool
    """Whether the share is found and only an exact solution is missing."""
    finished: bool

    @staticmethod
    def over() -> Path:
        return Path(1.0, 0.0, math.inf, 0, False, True)


def has_path(problem: Problem) -> bool:
    """Whether there is a g to leave out, and an h whose slopes at zero are known."""
    return not isinstance(problem.g, Zero) and isinstance(problem.h, EntrywiseTerm)


def first_level(problem: Problem) -> Path:
    """Where to begin: the slope of h a thousandth of the curvature of f."""
    slope = entry_slope(problem.h)
    level = 1e-3 * (problem.f.lipschitz or 0.0) / slope if slope > 0 else 1.0
    return Path(level, 0.0, math.inf, 0, False, False) if 0 < level < 1 else Path.over()


def vanishes(problem: Problem, y: Array) -> bool:
    """Whether h - g is zero at y, which is not."""
    whole = float(problem.h.value(y))
    return whole > 0 and whole - float(problem.g.value(y)) <= 1e-12 * whole


def next_level(path: Path, problem: Problem, y: Array) -> Path:
    """Double the share until h - g vanishes at y, then narrow the interval in which it begins to."""
    if vanishes(problem, y):
        low, high = path.low, min(path.high, path.level)
    else:
        low, high = max(path.low, path.level), path.high
    stage = path.stage + 1
    if math.isinf(high):
        return Path.over() if path.level >= 1.0 else Path(min(2 * path.level, 1.0), low, high, stage, False, False)
    if stage >= _STAGES or high <= _NARROW * low:
        return Path(high, low, high, stage, True, False)
    return Path(math.sqrt(low * high) if low > 0 else high / 2, low, high, stage, False, False)


def has_empty_column(y: Array) -> bool:
    """Whether a column of y is zero."""
    xp = array_namespace(y)
    return bool(xp.any(xp.all(y == 0, axis=0)))


def refilled(problem: Problem, now: Point, y: Array, z: Array) -> tuple[Point, Array, Array]:
    """Where to go on from the end of the homotopy for l1 minus largest-k: there, or at a matrix near X with k nonzeros.

    At large weights l1 has local minima with more nonzeros than one a column, and where a column of y has been wiped
    out no orthonormal matrix has its zeros. The objective decides.
    """
    if not isinstance(problem.g, LargestK) or problem.g.k < problem.M.r:
        return now, y, z
    few = int(array_namespace(y).count_nonzero(y)) <= problem.g.k
    if few and not has_empty_column(y):
        return now, y, z
    other = problem.at(apart(now.X, problem.g.k))
    if float(problem.objective(other)) >= float(problem.objective(now)):
        return now, y, z
    return other, other.X, 0.0 * z


def apart(X: Array, k: int) -> Array:
    """An orthonormal matrix near X with at most k nonzeros, k at least r: no two of them in a row, one in every column.

    First every column gets an entry, the largest that is left in a row that is left; then the largest of other rows.
    """
    xp, (n, r) = array_namespace(X), X.shape
    size, on = xp.abs(X), xp.zeros_like(X)
    for _ in range(r):
        free = (xp.sum(on, axis=1, keepdims=True) == 0) & (xp.sum(on, axis=0, keepdims=True) == 0)
        on = on + xp.astype(backend_of(X).top_k_mask(xp.where(free, size, -1.0), 1), X.dtype)
    place = xp.arange(n * r, device=device(X))
    best = xp.max(size, axis=1, keepdims=True)
    own = xp.reshape(place % r, (n, r)) == xp.argmax(size, axis=1, keepdims=True)
    rest = xp.where(xp.sum(on, axis=1, keepdims=True) == 0, best, -1.0)
    rows = backend_of(X).top_k_mask(rest, min(k, n) - r) & (rest > 0)
    on = on + xp.astype(own & rows, X.dtype)
    Y = xp.where((on > 0) & (X == 0), 1.0, X) * on
    return Y / xp.sqrt(xp.sum(Y * Y, axis=0, keepdims=True))


def raised(path: Path, exact: bool) -> Path:
    """A little more weight where the exact solution had too many entries; where there was none yet, the same at first.

    Past the whole weight the homotopy is over.
    """
    stage = path.stage + 1
    if not exact and stage % _TRIES != 0:
        return replace(path, stage=stage)
    level = _NARROW * path.level
    return Path.over() if level >= 1.0 else replace(path, level=level, stage=stage)
