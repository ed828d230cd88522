"""The leading directions of a quadratic f: where it is lowest over all subspaces."""

from __future__ import annotations

import math
from typing import NamedTuple

from orthoprox._linalg import rounding
from orthoprox._namespace import array_namespace
from orthoprox._subspace import leading_eigenvectors
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.terms import QuadraticTerm

ROUGH = 1e-3
"""Relative change of the Ritz values at which a start is near enough: where they are so close, any of them will do."""
_STEPS = 10
_MANY_STEPS = 300


class Directions(NamedTuple):
    """Orthonormal columns, None where f is not finite, and the products that took, in products with r columns."""

    V: Array | None
    work: int


def has_directions(problem: Problem) -> bool:
    """Whether f is quadratic and depends on the span of X alone, so that its Hessian acts from the left."""
    f = problem.f
    return isinstance(f, QuadraticTerm) and f.rotation_invariant and f.left and f.upper_curvature is not None


def find_directions(problem: Problem, count: int, *, tolerance: float = ROUGH, steps: int = _STEPS) -> Directions:
    """The eigenvectors of the Hessian of f with the least eigenvalues, the least one first.

    A positive upper curvature of f shifts the Hessian, so that the eigenvalues that are sought are the largest in
    magnitude. Beyond the r-th, directions in which the shifted Hessian is zero are left out: every vector of a large
    subspace is one, and LAPACK would decide which.
    """
    f, n, r = problem.f, problem.M.n, problem.M.r
    shift = f.upper_curvature or 0.0
    found = leading_eigenvectors(
        lambda Q: shift * Q - f.product(Q), n, count, problem.like, tolerance=tolerance, steps=steps
    )
    work = math.ceil(found.columns / r)
    if found.vectors is None:
        return Directions(None, work)
    xp = array_namespace(found.values)
    known = int(xp.count_nonzero(found.values > rounding(found.values, n * float(xp.max(xp.abs(found.values))))))
    return Directions(found.vectors[:, : max(r, known)], work)


def principal_components(problem: Problem, tolerance: float = 1e-12) -> Array:
    """The r leading directions as columns, as accurately as a result asks for."""
    V = find_directions(problem, problem.M.r, tolerance=tolerance, steps=_MANY_STEPS).V
    if V is None:
        raise ValueError("The products with the data are not finite. Divide the data by a constant first.")
    return V
