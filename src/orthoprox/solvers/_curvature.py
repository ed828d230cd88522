"""Estimates of the Lipschitz constant of grad f, for an f that does not know its own."""

from __future__ import annotations

from collections.abc import Callable

from orthoprox._linalg import inner, norm, rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of, either
from orthoprox.problem import Problem
from orthoprox.terms import SmoothTerm

LARGEST = 1e30
"""Where doubling ends: with a wrong gradient no L is large enough."""


def local_lipschitz(problem: Problem, X: Array) -> float:
    """How fast the gradient of f changes near X along a random direction: a first guess for backtracking.

    Zero where it changes by rounding only: a linear function has no curvature, whether or not it says so.
    """
    D = backend_of(X).eps(X) ** (1 / 3) * problem.M.random(1, like=X)
    G, ahead = problem.f.gradient(X), problem.f.gradient(X + D)
    change = norm(ahead - G)
    return float(change / norm(D)) if change > rounding(X, norm(G) + norm(ahead)) else 0.0


def lipschitz_near(problem: Problem, X: Array) -> Scalar:
    """L_f, or a local estimate near X; 1 where neither f nor h(A(X)) curves, so that steps have a length."""
    L = problem.f.lipschitz
    if L is None:
        L = local_lipschitz(problem, X)
    return either((problem.A.norm > 0) | (L > 0), L, 1.0)


def descends(f: SmoothTerm, X: Array, X_new: Array, L: Scalar) -> Scalar:
    """Whether ``f(X_new) <= f(X) + <grad f(X), X_new - X> + L/2 |X_new - X|^2`` holds, up to rounding."""
    return _descends(f, X, f.value_and_gradient(X), X_new, L)


def _descends(f: SmoothTerm, X: Array, at_X: tuple[Scalar, Array], X_new: Array, L: Scalar) -> Scalar:
    xp = array_namespace(X)
    D = X_new - X
    value, G = at_X
    bound = inner(G, D) + L / 2 * inner(D, D)
    slack = rounding(X, xp.abs(value) + xp.abs(bound))
    change = f.value(X_new) - value
    # A smaller step does not help where a value is not finite: let it through, the driver stops there.
    return (change <= bound + slack) | ~xp.isfinite(change)


def larger_lipschitz(f: SmoothTerm, X: Array, X_new: Array, L: Scalar) -> Scalar:
    """Twice an L with which f does not descend; where that is zero, the curvature that f shows between the points."""
    D = X_new - X
    value, G = f.value_and_gradient(X)
    shown = 2 * (f.value(X_new) - value - inner(G, D)) / inner(D, D)
    return either(L > 0, 2.0 * L, shown)


def backtrack_lipschitz(f: SmoothTerm, X: Array, move: Callable[[Scalar], Array], L: Scalar) -> tuple[Array, Scalar]:
    """Raise L until f lies below its quadratic model at ``move(L)``; return that point and L."""
    at_X = f.value_and_gradient(X)

    def too_small(run: tuple[Array, Scalar]) -> Scalar:
        return ~_descends(f, X, at_X, *run) & (run[1] < LARGEST)

    def raised(run: tuple[Array, Scalar]) -> tuple[Array, Scalar]:
        L = larger_lipschitz(f, X, *run)
        return move(L), L

    X_new = move(L)
    return backend_of(X).while_loop(too_small, raised, (X_new, L))
