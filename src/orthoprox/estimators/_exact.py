"""From a solution that is sparse up to rounding to one with exact zeros and exactly orthonormal columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._linalg import rounding
from orthoprox._types import Array
from orthoprox.active import (
    ActivePoint,
    ActiveSet,
    Budget,
    disjoint,
    fill,
    greedy,
    has_active_sets,
    largest,
    minimise_near,
    shortest_subgradient,
)
from orthoprox.driver import Result, Status
from orthoprox.estimators._stop import is_small
from orthoprox.manifolds import Stiefel
from orthoprox.problem import Certificate, Point, Problem, criticality
from orthoprox.terms import GroupL2

_STEPS = 15
_FILLS = 3
_FEW = 8  # nonzeros a component, on average, up to which a greedy choice may win
_FEATURES = 300  # up to which it is quick

Count = int | Sequence[int]
"""How many nonzeros in all, or in each component."""


def enough_weight(lipschitz: float) -> float:
    """A weight with which l1 minus largest-k is a constraint: ten times L_f, the most that an entry is worth."""
    return 10.0 * lipschitz


def with_penalty(problem: Problem, result: Result[Any], tol: float) -> Result[Any]:
    """The zeros of y made exact, F minimised near there: for a problem with a penalty that is not a constraint."""
    X, y, z = result.X, result.y, result.z
    if isinstance(problem.h, GroupL2):
        return _relocate(problem, result, problem.at(_on_rows(problem, X, y)), z, tol)
    if np.array_equal(X != 0, y != 0) or np.all(y != 0) or not has_active_sets(problem):
        return result
    wanted = (y != 0) | np.all(y == 0, axis=0)  # a column that the penalty has wiped out goes by X
    budget = _budget(problem, y, _STEPS)
    found = minimise_near(problem, y, budget, z=z)
    if found is None:
        found = minimise_near(problem, disjoint(X, wanted), budget, z=z)
    assert found is not None  # columns without a common row are orthogonal
    return _relocate(problem, result, found.point, found.z, tol)


def with_count(problem: Problem, result: Result[Any], count: Count, tol: float) -> Result[Any]:
    """At most this many nonzeros: the largest entries, f minimised on them, then as many as there is room for.

    Of caps the first one goes to the component with the largest variance, and so on.
    """
    if isinstance(count, int):
        if np.count_nonzero(result.X) <= count:
            return result
        sizes = np.abs(result.X) + np.where(result.y != 0, 1.0, 0.0)
        return _on_support(problem, result, largest(sizes, count), tol)
    order = by_variance(problem, result.X)
    result = replace(result, X=result.X[:, order], y=result.y[:, order], z=result.z[:, order])
    if np.any(np.count_nonzero(result.X, axis=0) > count):
        result = _on_support(problem, result, largest(np.abs(result.X), count), tol)
    for _ in range(_FILLS):
        slope = np.abs(problem.M.tangent(result.X, problem.f.gradient(result.X)))
        support = fill(result.X != 0, slope, count)
        if np.array_equal(support, result.X != 0):
            break
        result = _on_support(problem, result, support, tol)
    return result


def or_greedy(problem: Problem, result: Result[Any], count: Count, tol: float) -> Result[Any]:
    """The result, or what a greedy choice of nonzeros leads to where they are few and that is better."""
    n, r = result.X.shape
    k, caps = (count, None) if isinstance(count, int) else (sum(count), count)
    if n > _FEATURES or k > _FEW * r or k >= n * r:
        return result
    C = -problem.f.gradient(np.eye(n, dtype=result.X.dtype))
    support = greedy(C, r, k, caps)
    start = np.zeros_like(result.X)
    for j in range(r):
        rows = np.flatnonzero(support[:, j])
        start[rows, j] = np.linalg.eigh(C[np.ix_(rows, rows)])[1][:, -1]
    other = _on_support(problem, replace(result, X=start), support, tol)
    return other if other.objective < result.objective else result


def trim(problem: Problem, X: Array, count: Count) -> Array:
    """An orthonormal matrix near X with at most this many nonzeros: where to begin."""
    support = largest(np.abs(X), count)
    return X if np.array_equal(support, X != 0) else _minimise(problem, X, support, steps=0).point.X


def by_variance(problem: Problem, X: Array) -> Array:
    """The order in which the columns of X explain most: f is minus half the sum of their variances."""
    return np.argsort(np.sum(X * problem.f.product(X), axis=0), kind="stable")


def _on_support(problem: Problem, result: Result[Any], support: Array, tol: float) -> Result[Any]:
    """The least f over the orthonormal matrices with zeros off a support, by Newton's method from near X."""
    found = _minimise(problem, result.X, support, _STEPS)
    # The subgradient of the whole problem there: l1 takes back what largest-k takes away, and holds the zeros.
    z = shortest_subgradient(problem, found.point, ActiveSet.at(problem, found.point.X), found.z).z
    return _relocate(problem, result, found.point, z, tol)


def _minimise(problem: Problem, X: Array, support: Array, steps: int) -> ActivePoint:
    """Newton steps on a support, from the orthonormal matrix on it that is near X."""
    budget = _budget(problem, X, steps)
    Y = np.where(support, X, 0.0)
    found = minimise_near(problem, Y, budget, support=support.astype(X.dtype))
    if found is None:
        Y = disjoint(Y, support)
        found = minimise_near(problem, Y, budget, support=(support | (Y != 0)).astype(X.dtype))
    if found is None:
        found = minimise_near(problem, Y, budget, support=(Y != 0).astype(X.dtype))
    assert found is not None  # columns without a common row are orthogonal
    return found


def _budget(problem: Problem, X: Array, steps: int) -> Budget:
    root = math.sqrt(problem.M.r)
    scale = (problem.f.lipschitz or 1.0) * root
    return Budget(steps=steps, radius=0.1 * root, tolerance=max(1e-10 * scale, rounding(X, scale)))


def _relocate(problem: Problem, result: Result[Any], point: Point, z: Array, tol: float) -> Result[Any]:
    """The same result at another point, measured there: it may turn out to be a critical one."""
    at = Certificate(point, point.X, z)
    parts = criticality(problem, at)
    found = tol > 0 and result.status is not Status.INTERRUPTED and is_small(problem, at, parts, tol)
    return replace(
        result,
        X=point.X,
        y=point.X,
        z=z,
        objective=float(problem.objective(point)),
        criticality_parts=parts,
        infeasibility=float(problem.M.infeasibility(point.X)),
        status=Status.CONVERGED if found else result.status,
    )


def _on_rows(problem: Problem, X: Array, y: Array) -> Array:
    """The nearest orthonormal matrix with the zero rows of y; at least as many rows as columns stay."""
    sizes = np.minimum(np.linalg.norm(X, axis=1), np.linalg.norm(y, axis=1))
    rows = sizes > math.sqrt(np.finfo(X.dtype).eps)  # less than that is rounding
    if np.count_nonzero(rows) < problem.M.r:
        sizes = np.linalg.norm(X, axis=1) + 2.0 * rows
        rows = largest(sizes[:, None], problem.M.r)[:, 0]
    found = np.zeros_like(X)
    found[rows] = Stiefel(int(np.count_nonzero(rows)), problem.M.r).project(X[rows])
    return found
