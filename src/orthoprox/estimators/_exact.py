"""Turn a solution that is sparse up to rounding into one with exact zeros and exactly orthonormal columns."""

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
    has_active_sets,
    largest,
    minimise_near,
    shortest_subgradient,
)
from orthoprox.allowance import Allowance
from orthoprox.driver import Result
from orthoprox.estimators._input import Samples
from orthoprox.estimators._stages import status_after
from orthoprox.estimators._stop import is_critical
from orthoprox.manifolds import Stiefel
from orthoprox.maps import Gram
from orthoprox.maps.sparse import is_sparse
from orthoprox.problem import Certificate, Point, Problem, criticality
from orthoprox.terms import ExplainedVariance, GroupL2

_STEPS = 15
_CHEAP_STEPS = 100  # with few features; what these leave undone takes much longer with all
_FILLS = 3
_ROUGH = math.sqrt(1e-5)  # of the gradient, for the start of a search: what is left gains about its square

Count = int | Sequence[int]
"""The number of nonzeros in all, or in each component."""


def exact_penalty_weight(lipschitz: float) -> float:
    """A weight that makes l1 minus largest-k an exact penalty: ten times L_f, the most that an entry can gain."""
    return 10.0 * lipschitz


def polish_penalised(problem: Problem, result: Result[Any], tol: float) -> Result[Any]:
    """Make the zeros of y exact and minimise F near there, for a penalty that is not a constraint."""
    X, y, z = result.X, result.y, result.z
    if isinstance(problem.h, GroupL2):
        return _judge(problem, result, _move(problem, result, problem.at(_project_rows(problem, X, y)), z), tol)
    if np.array_equal(X != 0, y != 0) or np.all(y != 0) or not has_active_sets(problem):
        return result
    support = (y != 0) | np.all(y == 0, axis=0)  # a column that the penalty has wiped out takes its entries from X
    budget = _budget(problem, y, _STEPS)
    active = minimise_near(problem, y, budget, z=z)
    if active is None:
        active = minimise_near(problem, disjoint(X, support), budget, z=z)
    assert active is not None  # columns without a common row are orthogonal
    return _judge(problem, result, _move(problem, result, active.point, active.z), tol)


def polish_to_count(problem: Problem, result: Result[Any], count: Count, tol: float) -> Result[Any]:
    """Keep at most ``count`` nonzeros: minimise f on the largest entries, then fill up to each cap.

    The first cap applies to the component with the largest variance, and so on.
    """
    return _judge(problem, result, _to_count(problem, result, count), tol)


def near_count(problem: Problem, result: Result[Any], count: Count) -> Array:
    """A point with at most ``count`` nonzeros near a solver's, as a start for a search, which goes on to the end.

    The first cap applies to the component with the largest variance, and so on.
    """
    X, y = result.X, result.y
    if not isinstance(count, int):
        order = order_by_variance(problem, X)
        X, y = X[:, order], y[:, order]
    support = largest(np.abs(X) + np.where(y != 0, 1.0, 0.0), count)
    if not np.array_equal(support, X != 0):
        X = _newton_on_support(problem, X, support, _STEPS, _ROUGH).point.X
    for _ in range(0 if isinstance(count, int) else _FILLS):
        support = _fill_support(problem, X, count)
        if np.array_equal(support, X != 0):
            break
        X = _newton_on_support(problem, X, support, _STEPS, _ROUGH).point.X
    return X


def _fill_support(problem: Problem, X: Array, count: Count) -> Array:
    """The support of X with the entries along which f falls most steeply."""
    return fill(X != 0, np.abs(problem.M.tangent(X, problem.f.gradient(X))), count)


def _to_count(problem: Problem, result: Result[Any], count: Count) -> Result[Any]:
    if isinstance(count, int):
        if np.count_nonzero(result.X) <= count:
            return result
        sizes = np.abs(result.X) + np.where(result.y != 0, 1.0, 0.0)
        return _minimise_on_support(problem, result, largest(sizes, count))
    order = order_by_variance(problem, result.X)
    result = replace(result, X=result.X[:, order], y=result.y[:, order], z=result.z[:, order])
    if np.any(np.count_nonzero(result.X, axis=0) > count):
        result = _minimise_on_support(problem, result, largest(np.abs(result.X), count))
    for _ in range(_FILLS):
        support = _fill_support(problem, result.X, count)
        if np.array_equal(support, result.X != 0):
            break
        result = _minimise_on_support(problem, result, support)
    return result


def improve_rows(data: Samples, X: Array) -> Array:
    """Newton's method on the nonzeros of X, with the features that have some: many others make every product long."""
    rows = np.flatnonzero(np.any(X != 0, axis=1))
    if 2 * len(rows) > len(X):
        return X
    f = _variance_of(data, rows)
    problem = Problem.of(f, over=Stiefel(len(rows), X.shape[1]))
    Y = np.zeros_like(X)
    Y[rows] = _newton_on_support(problem, X[rows], X[rows] != 0, _CHEAP_STEPS).point.X
    return Y


def _variance_of(data: Samples, features: Array) -> ExplainedVariance:
    """The variance of some features; sparse ones are multiplied once, for their covariances."""
    part, weight = data.features(features), 1 / data.n_samples
    if not isinstance(data, Samples) or not is_sparse(data.X):  # others are in blocks
        return ExplainedVariance(part.B, weight=weight)
    H = data.covariance.block(features) * data.degrees_of_freedom
    H = ((H + H.T) / 2).astype(data.like.dtype)
    norm = math.sqrt(max(float(np.linalg.eigvalsh(H)[-1]), 0.0)) * (1 + math.sqrt(np.finfo(H.dtype).eps))
    B = part.map_of_norm(norm)
    return ExplainedVariance(B, weight=weight, gram=Gram(B, H=H, norm=norm**2))


def finish_on_support(problem: Problem, result: Result[Any], tol: float) -> Result[Any]:
    """Minimise f on the nonzeros of X, to the last digit."""
    return _judge(problem, result, _minimise_on_support(problem, result, result.X != 0), tol)


def judge(problem: Problem, result: Result[Any], tol: float) -> Result[Any]:
    """The result with what is measured at its X, which is least on its nonzeros already."""
    return _judge(problem, result, measure(problem, result, result.X), tol)


def measure(problem: Problem, result: Result[Any], X: Array) -> Result[Any]:
    """The result with another X, perhaps of another size, measured by a problem for that size."""
    point = problem.at(X)
    return _move(problem, result, point, _subgradient(problem, point, np.zeros_like(X)))


def trim(problem: Problem, X: Array, allowance: Allowance) -> Array:
    """An orthonormal matrix near X with the nonzeros allowed, as a start: X itself if it has no more.

    Caps must not rise; where they fall, the column with most nonzeros comes first.
    """
    if len(set(allowance.caps)) > 1:
        X = X[:, np.argsort(-np.count_nonzero(X, axis=0), kind="stable")]
    support = allowance.choose(np.abs(X)[None])[0] & (X != 0)
    return X if np.array_equal(support, X != 0) else _newton_on_support(problem, X, support, steps=0).point.X


def order_by_variance(problem: Problem, X: Array) -> Array:
    """The columns of X by falling variance: f is minus half the sum of their variances."""
    return np.argsort(np.sum(X * problem.f.product(X), axis=0), kind="stable")


def _minimise_on_support(problem: Problem, result: Result[Any], support: Array) -> Result[Any]:
    """Minimise f over the orthonormal matrices that vanish off a support, by Newton's method from near X."""
    active = _newton_on_support(problem, result.X, support, _STEPS)
    return _move(problem, result, active.point, _subgradient(problem, active.point, active.z))


def _subgradient(problem: Problem, point: Point, z: Array) -> Array:
    """A subgradient of the whole problem: l1 and largest-k cancel on the support, and l1 holds the zeros."""
    return shortest_subgradient(problem, point, ActiveSet.at(problem, point.X), z).z


def _newton_on_support(problem: Problem, X: Array, support: Array, steps: int, accuracy: float = 0.0) -> ActivePoint:
    """Newton steps on a support, from an orthonormal matrix near X that vanishes off it."""
    budget = _budget(problem, X, steps, accuracy)
    Y = np.where(support, X, 0.0)
    active = minimise_near(problem, Y, budget, support=support.astype(X.dtype))
    if active is None:
        Y = disjoint(Y, support)
        active = minimise_near(problem, Y, budget, support=(support | (Y != 0)).astype(X.dtype))
    if active is None:
        active = minimise_near(problem, Y, budget, support=(Y != 0).astype(X.dtype))
    assert active is not None  # columns without a common row are orthogonal
    return _without_rounding(problem, active)


def _without_rounding(problem: Problem, active: ActivePoint) -> ActivePoint:
    """The point without what is left of entries that X'X = I holds at zero, as where two columns share a single row."""
    X = active.point.X
    tiny = np.abs(X) <= np.finfo(X.dtype).eps  # too small to be seen in X'X
    if not np.any(tiny & (X != 0)):
        return active
    return replace(active, point=problem.at(np.where(tiny, 0.0, X)))


def _budget(problem: Problem, X: Array, steps: int, accuracy: float = 0.0) -> Budget:
    root = math.sqrt(problem.M.r)
    scale = (problem.f.lipschitz or 1.0) * root
    return Budget(steps=steps, radius=0.1 * root, tolerance=max(rounding(X, scale), accuracy * scale))


def _move(problem: Problem, result: Result[Any], point: Point, z: Array) -> Result[Any]:
    """Move the result to another point and measure it there."""
    return replace(
        result,
        X=point.X,
        y=point.X,
        z=z,
        objective=float(problem.objective(point)),
        criticality_parts=criticality(problem, Certificate(point, point.X, z)),
        infeasibility=float(problem.M.infeasibility(point.X)),
    )


def _judge(problem: Problem, run: Result[Any], moved: Result[Any], tol: float) -> Result[Any]:
    """The status of a run after it was moved."""
    if moved is run:
        return run
    at = Certificate(problem.at(moved.X), moved.y, moved.z)
    critical = tol > 0 and is_critical(problem, at, moved.criticality_parts, tol)
    return replace(moved, status=status_after(run.status, critical=critical))


def _project_rows(problem: Problem, X: Array, y: Array) -> Array:
    """The nearest orthonormal matrix with the zero rows of y, keeping at least as many rows as columns."""
    sizes = np.minimum(np.linalg.norm(X, axis=1), np.linalg.norm(y, axis=1))
    rows = sizes > math.sqrt(np.finfo(X.dtype).eps)  # smaller rows are rounding error
    if np.count_nonzero(rows) < problem.M.r:
        sizes = np.linalg.norm(X, axis=1) + 2.0 * rows
        rows = largest(sizes[:, None], problem.M.r)[:, 0]
    Y = np.zeros_like(X)
    Y[rows] = Stiefel(int(np.count_nonzero(rows)), problem.M.r).project(X[rows])
    return Y
