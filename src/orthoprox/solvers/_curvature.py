"""A Lipschitz constant for an f that came without one."""

from __future__ import annotations

from collections.abc import Callable

from array_api_compat import array_namespace

from orthoprox._linalg import norm
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.problem import Problem
from orthoprox.terms import SmoothTerm


def local_lipschitz(problem: Problem, X: Array) -> float:
    """How fast the gradient of f changes near X along a random direction: a first guess for backtracking."""
    D = backend_of(X).eps(X) ** (1 / 3) * problem.M.random(1, like=X)
    change = problem.f.gradient(X + D) - problem.f.gradient(X)
    return max(float(norm(change) / norm(D)), 1e-12)


def descends(f: SmoothTerm, X: Array, X_new: Array, L: Scalar) -> Scalar:
    """Whether ``f(X_new) <= f(X) + <grad f(X), X_new - X> + L/2 |X_new - X|^2`` holds, up to rounding."""
    xp = array_namespace(X)
    D = X_new - X
    value = f.value(X)
    bound = xp.sum(f.gradient(X) * D) + L / 2 * xp.sum(D * D)
    slack = 32 * backend_of(X).eps(X) * (xp.abs(value) + xp.abs(bound))
    change = f.value(X_new) - value
    # A value that is not finite cannot be mended by a smaller step: let it through, the driver stops there.
    return (change <= bound + slack) | ~xp.isfinite(change)


def doubled(f: SmoothTerm, X: Array, moved: Callable[[Scalar], Array], L: Scalar) -> tuple[Array, Scalar]:
    """``moved(L)`` and L, where L was doubled until f lies below its quadratic model there."""

    def too_small(run: tuple[Array, Scalar]) -> Scalar:
        return ~descends(f, X, *run) & (run[1] < 1e30)  # a wrong gradient must not double without end

    def again(run: tuple[Array, Scalar]) -> tuple[Array, Scalar]:
        return moved(2.0 * run[1]), 2.0 * run[1]

    X_new = moved(L)
    return backend_of(X).while_loop(too_small, again, (X_new, L))
