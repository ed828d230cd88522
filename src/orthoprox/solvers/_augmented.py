"""The augmented Lagrangian of equation (5) and its parts."""

from __future__ import annotations

from orthoprox._linalg import inner
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.problem import Point, Problem
from orthoprox.solvers._schedules import PenaltyRule
from orthoprox.terms.envelope import envelope


def smooth_part(problem: Problem, point: Point, y: Array, z: Array, beta: Scalar) -> Scalar:
    """S(X, y, z, beta) = f(X) + <z, A(X) - y> + beta/2 |A(X) - y|^2."""
    gap = point.AX - y
    return problem.f.value_at(point.X, point.HX) + inner(gap, z + beta / 2 * gap)


def smooth_part_gradient(problem: Problem, point: Point, y: Array, z: Array, beta: Scalar) -> Array:
    """The gradient of S in X: grad f(X) + A*(z + beta (A(X) - y))."""
    pull = problem.A.adjoint(z + beta * (point.AX - y))
    return problem.f.gradient_at(point.X, point.HX) + pull


def lagrangian(problem: Problem, point: Point, y: Array, z: Array, beta: Scalar, tau: float) -> Scalar:
    """L(X, y, z, beta) = S - g(X) + h_mu(y), with mu = tau / beta."""
    smoothed = envelope(problem.h, y, tau / beta) if tau > 0 else problem.h.value(y)
    return smooth_part(problem, point, y, z, beta) - problem.g.value(point.X) + smoothed


def lagrangian_change(problem: Problem, now: Point, new: Point, y: Array, z: Array, beta: Scalar) -> Scalar:
    """L at a new X minus L at the current one, with y and z fixed.

    Written in differences: the test for sufficient decrease still works where the two values agree to nearly all
    digits.
    """
    step = new.AX - now.AX
    quadratic = inner(step, z + beta * (now.AX - y) + beta / 2 * step)
    concave = problem.g.value(new.X) - problem.g.value(now.X)
    return problem.f.change(now.X, now.HX, new.X, new.HX) + quadratic - concave


def prox_point(problem: Problem, y: Array, penalty: PenaltyRule, t: Scalar) -> Array:
    """The paper's y-breve, the partner of y where the zeros are exact; y is that of iteration t.

    By Lemma 2.5 it is the prox of y at the smoothing of the step that computed y, so a state need not keep it.
    """
    if penalty.tau == 0:
        return y
    return unless_first(t, y, problem.h.prox(y, penalty.tau / penalty.at(abs(t - 1))))


def unless_first(t: Scalar, first: Array, later: Array) -> Array:
    """One array before the first iteration, another after it; t may be a number that a compiled program computes."""
    if isinstance(t, int):
        return first if t == 0 else later
    return array_namespace(first).where(t == 0, first, later)
