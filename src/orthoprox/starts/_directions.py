"""The leading directions of a quadratic f: where it is lowest over all subspaces."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.problem import Problem
from orthoprox.terms import QuadraticTerm

ROUGH = 1e-3
"""Relative change of the Ritz values at which a start is near enough: where they are so close, any of them will do."""
_SPARE = 10  # directions beside those that are wanted, which speed up the iteration
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

    Subspace iteration from a fixed start with a Rayleigh-Ritz step each time, until no Ritz value changes by more than
    ``tolerance`` times the largest in magnitude. A positive upper curvature of f shifts the Hessian, so that the
    eigenvalues that are sought are the largest in magnitude.

    References
    ----------
    .. [1] Y. Saad, "Numerical Methods for Large Eigenvalue Problems", 2nd edition, SIAM 2011, chapter 5.
    """
    f, n, like = problem.f, problem.M.n, problem.like
    xp, shift = array_namespace(like), f.upper_curvature or 0.0
    width = min(n, count + _SPARE)
    draw = np.random.default_rng(0).standard_normal((n, width))
    Q, V = backend_of(like).from_numpy(draw, like), None
    values: Array | None = None
    used = 0
    while used < steps and (V is None or not is_over()):
        Q = xp.linalg.qr(Q, mode="reduced")[0]
        HQ = shift * Q - f.product(Q)
        used += 1
        if not bool(xp.all(xp.isfinite(HQ))):
            return Directions(None, used)
        HQ = HQ / _unit(HQ)  # a power of two: the same bits in any units
        ritz, W = xp.linalg.eigh((Q.T @ HQ + HQ.T @ Q) / 2)
        W = xp.flip(W, axis=1)
        V, Q = Q @ W, HQ @ W
        before, values = values, xp.flip(ritz, axis=0)[:count]
        if before is not None and float(xp.max(xp.abs(values - before))) <= tolerance * float(xp.max(xp.abs(values))):
            break
    assert V is not None  # the first step is always made
    return Directions(V[:, :count], math.ceil(used * width / problem.M.r))


def principal_components(problem: Problem, tolerance: float = 1e-12) -> Array:
    """The r leading directions as columns, as accurately as a result asks for."""
    V = find_directions(problem, problem.M.r, tolerance=tolerance, steps=_MANY_STEPS).V
    if V is None:
        raise ValueError("The products with the data are not finite. Divide the data by a constant first.")
    return V


def _unit(a: Array) -> float:
    """The power of two next to the largest entry; 1 where that is zero or not finite."""
    xp = array_namespace(a)
    largest = float(xp.max(xp.abs(a)))
    return math.ldexp(1.0, math.frexp(largest)[1]) if 0 < largest < math.inf else 1.0
