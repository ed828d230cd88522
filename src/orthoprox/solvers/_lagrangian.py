"""An X-step of several Newton steps: the augmented Lagrangian, its y eliminated, minimised over the manifold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import array_namespace

from orthoprox._fields import replace
from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.problem import Point, Problem
from orthoprox.solvers._penalty import kinks
from orthoprox.solvers._trust import truncated
from orthoprox.terms import EntrywiseTerm, GroupL2, ProximableTerm, QuadraticTerm, Zero

_NEWTON_STEPS, _CG_STEPS = 10, 100
_SHARE, _ALONE = 0.3, 0.2  # of the primal residual, times the penalty: how small the gradient has to be; without f
_GROWTH, _CAUTIOUS, _SHRINK, _MOST = 1.5, 1.1, 0.6, 100.0


@dataclass(frozen=True, eq=False)
class Multiplied:
    """Where the method of multipliers is."""

    now: Point
    y: Array
    z: Array
    sigma: float
    """The penalty."""
    least: float
    """The first one."""
    gap: float
    """The last |A(X) - y|."""
    radius: float
    """Of the trust region."""
    products: int


def has_newton_steps(problem: Problem) -> bool:
    """Whether the derivative of h's prox is known, and f has a Hessian to multiply with."""
    known = isinstance(problem.h, (EntrywiseTerm, GroupL2)) and isinstance(problem.f, (QuadraticTerm, Zero))
    return known and math.isfinite(problem.h.lipschitz_constant(problem.shape))


def depends_on_span(problem: Problem) -> bool:
    """Whether the objective is the same at XQ for every orthogonal Q."""
    h = problem.h
    by_rows = isinstance(h, GroupL2) and h.by == "rows" and problem.A.left
    return by_rows and isinstance(problem.g, Zero) and problem.f.rotation_invariant


def bending(h: ProximableTerm, u: Array, mu: float) -> Callable[[Array], Array]:
    """The derivative of u - prox(u; mu), one of several at a kink: mu times the Hessian of the envelope of h."""
    if isinstance(h, EntrywiseTerm):
        bend = 1.0 - h.prox_slope(u, mu)
        return lambda D: bend * D
    assert isinstance(h, GroupL2)
    # A group longer than w = mu weight is shortened by w: along itself that is no change, across it w/|u|.
    xp, w = array_namespace(u), mu * h.weight
    norms = xp.sqrt(h.dots(u, u))
    stays = norms > w
    length = xp.where(stays, norms, 1.0)
    across, along = xp.where(stays, w / length, 1.0), xp.where(stays, u / length, 0.0)
    return lambda D: across * (D - along * h.dots(along, D))


def first_penalty(problem: Problem, now: Point) -> float:
    """Some times that of h's kinks; without f it is all the curvature there is."""
    return (8 if isinstance(problem.f, Zero) else 4) * (kinks(problem, now) or problem.f.lipschitz or 1.0)


def multiplied(problem: Problem, now: Point, z: Array, sigma: float) -> Multiplied:
    """The beginning, at a point and with a multiplier."""
    return Multiplied(now, now.AX, z, sigma, sigma, math.inf, 0.3 * math.sqrt(problem.M.r), 0)


def multiplier_step(problem: Problem, state: Multiplied, tolerance: float) -> Multiplied:
    """Newton steps in X until the gradient is small beside the primal residual, then y, z and perhaps the penalty."""
    M, f, g, h, A = problem.M, problem.f, problem.g, problem.h, problem.A
    xp = array_namespace(state.z)
    sigma, radius, products = state.sigma, state.radius, state.products
    xi = g.subgradient(state.now.X)
    shift = state.z / sigma

    def value(point: Point) -> tuple[float, Array]:
        y = h.prox(point.AX + shift, 1 / sigma)
        gap = point.AX + shift - y
        smooth = f.value_at(point.X, point.HX) - xp.sum(xi * point.X)
        return float(smooth + h.value(y) + sigma / 2 * xp.sum(gap * gap)), y

    now = state.now
    gain = float(norm(now.AX)) / math.sqrt(M.r)  # of A: residuals in A(X) times this are in the units of X
    here, y = value(now)
    alone = isinstance(f, Zero)
    share = _ALONE if alone else _SHARE
    # Where turning X changes nothing, the multiplier still bends the Lagrangian down that way: no step goes there.
    rho = 0.0 if depends_on_span(problem) else 0.5
    settled = False
    for _ in range(_NEWTON_STEPS):
        z = sigma * (now.AX + shift - y)
        G = f.gradient_at(now.X, now.HX) - xi + A.adjoint(z)
        XtG = now.X.T @ G
        Lam = (XtG + XtG.T) / 2
        pull = G - now.X @ (Lam if rho else XtG)
        size, gap = float(norm(pull)), float(norm(now.AX - y))
        settled = size <= max(share * sigma * gain * gap, tolerance)
        if settled:
            break
        bend, X = bending(h, now.AX + shift, 1 / sigma), now.X

        def apply(Q: Array, X: Array = X, Lam: Array = Lam, bend: Callable[[Array], Array] = bend) -> Array:
            W = A.adjoint(sigma * bend(A(Q))) - Q @ Lam
            HQ = f.product(Q)
            return M.direction(X, W if HQ is None else W + HQ, rho)

        accuracy = min(0.1, math.sqrt(3 * size / float(norm(G))))  # relative, so that units do not matter
        step = truncated(apply, pull, radius, accuracy, _CG_STEPS)
        products += step.used
        trial = problem.at(M.retract(X, step.D))
        there, y_there = value(trial)
        rounding = 16 * backend_of(X).eps(X) * abs(here)
        if -step.promised > rounding:
            kept = (there - here) / step.promised
        else:  # what values cannot tell is believed, but not to the edge, where flat directions lead
            kept = float(there <= here + rounding and not step.edge)
        if kept < 0.25:
            radius = 0.25 * min(radius, float(norm(step.D)))
        elif kept > 0.75 and step.edge:
            radius = min(2 * radius, math.sqrt(problem.M.r))
        if kept > 0.1:
            now, here, y = trial, there, y_there
        if radius < 1e-12:
            break
    gap = float(norm(now.AX - y))
    z = sigma * (now.AX + shift - y)
    # Steps that do not settle may be too few or the penalty too low; without f it is all the curvature there is.
    rounding = 64 * backend_of(now.X).eps(now.X) * float(norm(now.AX))
    if gap > max(_SHRINK * state.gap, rounding):
        growth = _GROWTH if settled or alone else _CAUTIOUS
        sigma = min(growth * sigma, (10 if alone else 1) * _MOST * state.least)
    radius = max(radius, 1e-2)
    return replace(state, now=now, y=y, z=z, sigma=sigma, gap=gap, radius=radius, products=products)
