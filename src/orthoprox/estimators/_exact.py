"""From a solution that is sparse up to rounding to one with exact zeros and exactly orthonormal columns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.driver import Result, Status
from orthoprox.estimators._greedy import greedy_support, is_worth_it
from orthoprox.estimators._stop import is_small
from orthoprox.manifolds import Stiefel
from orthoprox.problem import Certificate, Point, Problem, criticality
from orthoprox.solvers._polish import Polished, polish, polishable
from orthoprox.terms import L1, GroupL2, LargestK

_ROUNDS = 15
_FILLS = 3


def enough_weight(lipschitz: float) -> float:
    """A weight with which l1 minus largest-k is a constraint: ten times L_f, the most that an entry is worth."""
    return 10.0 * lipschitz


def with_penalty(problem: Problem, result: Result[Any], tol: float) -> Result[Any]:
    """The zeros of y made exact, F minimised near there: for a problem with a penalty that is not a constraint."""
    X, y, z = result.X, result.y, result.z
    if isinstance(problem.h, GroupL2):
        return _moved(problem, result, problem.at(_on_rows(problem, X, y)), z, tol)
    if np.array_equal(X != 0, y != 0) or np.all(y != 0) or not polishable(problem):
        return result
    on = (y != 0) | np.all(y == 0, axis=0)  # a column that the penalty has wiped out goes by X
    tries = (y, _apart(np.where(on, X, 0.0), on))
    found = next(found for found in (_polished(problem, start, z) for start in tries) if found is not None)
    return _moved(problem, result, found.point, found.z, tol)


def with_total(problem: Problem, result: Result[Any], k: int, tol: float) -> Result[Any]:
    """At most k nonzeros in all: the largest ones of y, with f minimised on them."""
    if np.count_nonzero(result.X) <= k:
        return result
    sizes = np.abs(result.X) + np.where(result.y != 0, 1.0, 0.0)
    return _on_support(problem, result, _largest_of_all(sizes, k), tol)


def with_caps(problem: Problem, result: Result[Any], caps: list[int], tol: float) -> Result[Any]:
    """At most so many nonzeros in each column: the largest ones of X, then as many as there is room for.

    The first cap goes to the column with the largest variance, and so on.
    """
    order = by_variance(problem, result.X)
    result = replace(result, X=result.X[:, order], y=result.y[:, order], z=result.z[:, order])
    if np.any(np.count_nonzero(result.X, axis=0) > caps):
        result = _on_support(problem, result, _largest(np.abs(result.X), caps), tol)
    for _ in range(_FILLS):
        on = _filled(problem, result.X, caps)
        if np.array_equal(on, result.X != 0):
            break
        result = _on_support(problem, result, on, tol)
    return result


def or_entry_by_entry(problem: Problem, result: Result[Any], k: int, caps: list[int] | None, tol: float) -> Result[Any]:
    """The result, or what a greedy choice of nonzeros leads to where they are few and that is better."""
    n, r = result.X.shape
    if not is_worth_it(n, r, k):
        return result
    C = -problem.f.gradient(np.eye(n, dtype=result.X.dtype))
    on = greedy_support(C, r, k, caps)
    start = np.zeros_like(result.X)
    for j in range(r):
        rows = np.flatnonzero(on[:, j])
        start[rows, j] = np.linalg.eigh(C[np.ix_(rows, rows)])[1][:, -1]
    other = _on_support(problem, replace(result, X=start), on, tol)
    return other if other.objective < result.objective else result


def trimmed(problem: Problem, X: Array, k: int, caps: list[int] | None) -> Array:
    """An orthonormal matrix near X with at most k nonzeros in all, or so many in each column: where to begin."""
    on = _largest_of_all(np.abs(X), k) if caps is None else _largest(np.abs(X), caps)
    return X if np.array_equal(on, X != 0) else _near(problem, X, on, rounds=0)[1].point.X


def by_variance(problem: Problem, X: Array) -> Array:
    """The order in which the columns of X explain most: f is minus half the sum of their variances."""
    return np.argsort(np.sum(X * problem.f.product(X), axis=0), kind="stable")


def _on_support(problem: Problem, result: Result[Any], on: Array, tol: float) -> Result[Any]:
    """The least f over the orthonormal matrices with zeros off a set, by Newton's method from near X."""
    there, found = _near(problem, result.X, on, rounds=_ROUNDS)
    return _moved(there, result, found.point, found.z, tol)


def _near(problem: Problem, X: Array, on: Array, rounds: int) -> tuple[Problem, Polished]:
    """So many Newton steps on a set, from the orthonormal matrix on it that is near X; and the problem they solve."""
    w = enough_weight(problem.f.lipschitz or 0.0)
    # On the set l1 minus largest-k vanishes, and off it the weight is what keeps the zeros.
    k = int(np.count_nonzero(on))
    there = Problem(M=problem.M, f=problem.f, g=LargestK(k, w), h=L1(w), offset=problem.offset)
    Y = np.where(on, X, 0.0)
    for start in (Y, _apart(Y, on)):
        found = _polished(there, start, 0.0 * Y, on | (start != 0), rounds)
        if found is not None:
            return there, found
    raise AssertionError("columns without a common row are orthogonal")


def _polished(problem: Problem, y: Array, z: Array, on: Array | None = None, rounds: int = _ROUNDS) -> Polished | None:
    unit = (problem.f.lipschitz or 1.0) * math.sqrt(problem.M.r)
    return polish(
        problem,
        y,
        z,
        radius=0.1 * math.sqrt(problem.M.r),
        rounds=rounds,
        tolerance=max(1e-10, 64 * float(np.finfo(y.dtype).eps)) * unit,
        on=None if on is None else on.astype(y.dtype),
        free=on is not None,
    )


def _moved(problem: Problem, result: Result[Any], point: Point, z: Array, tol: float) -> Result[Any]:
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


def _largest(sizes: Array, counts: list[int]) -> Array:
    """In every column, where its so many largest entries are; of equal ones the first."""
    rank = np.argsort(np.argsort(-sizes, axis=0, kind="stable"), axis=0, kind="stable")
    return (rank < np.asarray(counts)) & (sizes > 0)


def _largest_of_all(sizes: Array, k: int) -> Array:
    """Where the k largest entries are."""
    return _largest(sizes.reshape(-1, 1), [k]).reshape(sizes.shape)


def _filled(problem: Problem, X: Array, caps: list[int]) -> Array:
    """The nonzeros of X and, where a column has room, entries along which f falls most steeply; one a row.

    Where two zeros of a row may move at once, their product is of second order and no linearisation of X'X = I
    sees it.
    """
    there = X != 0
    room = np.asarray(caps) - np.count_nonzero(there, axis=0)
    slope = np.where(there | (room <= 0), 0.0, np.abs(problem.M.tangent(X, problem.f.gradient(X))))
    first = np.argmax(slope, axis=1)[:, None] == np.arange(X.shape[1])
    return there | _largest(slope * first, list(np.maximum(room, 0)))


def _on_rows(problem: Problem, X: Array, y: Array) -> Array:
    """The nearest orthonormal matrix with the zero rows of y; at least as many rows as columns stay."""
    sizes = np.minimum(np.linalg.norm(X, axis=1), np.linalg.norm(y, axis=1))
    rows = sizes > math.sqrt(np.finfo(X.dtype).eps)  # less than that is rounding
    if np.count_nonzero(rows) < problem.M.r:
        rows = _largest_of_all(np.linalg.norm(X, axis=1) + 2.0 * rows, problem.M.r)
    found = np.zeros_like(X)
    found[rows] = Stiefel(int(np.count_nonzero(rows)), problem.M.r).project(X[rows])
    return found


def _apart(Y: Array, on: Array) -> Array:
    """An orthonormal matrix near Y whose columns have no row in common: each row goes to its largest entry.

    A column that would be left without a row gets one first.
    """
    sizes = np.where(on, np.abs(Y), -1.0)
    rows, columns = linear_sum_assignment(np.where(on, np.abs(Y), -float(Y.size)), maximize=True)
    owner = np.argmax(sizes, axis=1)
    owner[rows] = columns
    X = np.where(on & (owner[:, None] == np.arange(Y.shape[1])), Y, 0.0)
    empty = np.all(X == 0, axis=0)
    X[rows, columns] = np.where(empty[columns], 1.0, X[rows, columns])
    return X / np.linalg.norm(X, axis=0)
