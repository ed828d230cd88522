"""The augmented Lagrangian of equation (5) and its parts."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from orthoprox._types import Array, Scalar
from orthoprox.problem import Point, Problem
from orthoprox.solvers._schedules import growing_penalty
from orthoprox.terms.envelope import envelope


def smooth_part(problem: Problem, point: Point, y: Array, z: Array, beta: Scalar) -> Scalar:
    """S(X, y, z, beta) = f(X) + <z, A(X) - y> + beta/2 |A(X) - y|^2."""
    gap = point.AX - y
    xp = array_namespace(gap)
    return problem.f.value_at(point.X, point.HX) + xp.sum(gap * (z + beta / 2 * gap))


def smooth_part_gradient(problem: Problem, point: Point, y: Array, z: Array, beta: Scalar) -> Array:
    """The gradient of S in X: grad f(X) + A*(z + beta (A(X) - y))."""
    pull = problem.A.adjoint(z + beta * (point.AX - y))
    return problem.f.gradient_at(point.X, point.HX) + pull


def lagrangian(problem: Problem, point: Point, y: Array, z: Array, beta: Scalar, tau: float) -> Scalar:
    """L(X, y, z, beta) = S - g(X) + h_mu(y), with mu = tau / beta."""
    smoothed = envelope(problem.h, y, tau / beta) if tau > 0 else problem.h.value(y)
    return smooth_part(problem, point, y, z, beta) - problem.g.value(point.X) + smoothed


def lagrangian_change(problem: Problem, now: Point, new: Point, y: Array, z: Array, beta: Scalar) -> Scalar:
    """L at a new X minus L at the present one, y and z held.

    Written in the differences, so that the sufficient-decrease test still means something where
    the two values agree to nearly all digits.
    """
    step = new.AX - now.AX
    xp = array_namespace(step)
    quadratic = xp.sum(step * (z + beta * (now.AX - y) + beta / 2 * step))
    concave = problem.g.value(new.X) - problem.g.value(now.X)
    return problem.f.change(now.X, now.HX, new.X, new.HX) + quadratic - concave


def prox_point(solver: Any, problem: Problem, state: Any) -> Array:
    """The partner of y where the zeros are exact, the paper's y-breve.

    By Lemma 2.5 it is the prox of y at the smoothing that made y, so it need not be kept.
    """
    if state.t == 0 or solver.tau == 0:
        return state.y
    beta = growing_penalty(solver.beta0, solver.xi, solver.p, state.t - 1)
    return problem.h.prox(state.y, solver.tau / beta)
