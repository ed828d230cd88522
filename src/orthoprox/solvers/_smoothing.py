"""What the two smoothing methods share: how the smoothing shrinks, and the smoothed objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from array_api_compat import array_namespace

from orthoprox._fields import require
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._schedules import default_penalty, default_smoothing
from orthoprox.terms.envelope import envelope

SCHEDULES = ("power", "oadmm")


def check_smoothing(solver: Any) -> None:
    """The ranges of the settings that say how the smoothing shrinks."""
    s = solver
    require(s.schedule in SCHEDULES, f"schedule must be one of {SCHEDULES}; given {s.schedule!r}.")
    require(s.mu0 is None or s.mu0 > 0, f"mu0 must be positive; given {s.mu0}.")
    require(s.p > 0, f"p must be positive; given {s.p}.")
    require(s.beta0 is None or s.beta0 > 0, f"beta0 must be positive; given {s.beta0}.")
    require(s.xi >= 0, f"xi must not be negative; given {s.xi}.")
    wrong, right = ("mu0", "beta0") if s.schedule == "oadmm" else ("beta0", "mu0")
    require(
        getattr(s, wrong) is None,
        f"{wrong} does not belong to schedule = {s.schedule!r}, where {right} sets the first smoothing.",
    )


def oadmm_penalty(problem: Problem) -> float:
    """The beta0 that OADMM takes by default, with its default sigma."""
    return default_penalty(problem, default_smoothing(1.1))


def first_smoothing(solver: Any, problem: Problem, AX: Array) -> float:
    """The smoothing of the first iteration, as given or chosen; refused where the prox would not be unique."""
    most = 0.5 / problem.h.weak_convexity if problem.h.weak_convexity > 0 else math.inf
    if solver.schedule == "oadmm":
        if solver.beta0 is None:
            raise ValueError(f"{solver.name} has no beta0 yet: pass one, or use solver.for_problem(problem).")
        mu0: float = 1 / solver.beta0
    else:
        mu0 = min(default_width(problem, AX), most) if solver.mu0 is None else solver.mu0
    require(
        not mu0 > most * (1 + 1e-12),  # asked this way round, a start that is not a number is left to the driver
        f"The first smoothing, mu0 or 1/beta0, must be at most 1/(2 W_h) = {most:.6g} for this h; given {mu0:.6g}.",
    )
    return mu0


def default_width(problem: Problem, AX: Array) -> float:
    """A tenth of the median magnitude in A(X), divided by the slope of h in one entry.

    The kink of ``w |y|`` is rounded off over a width ``mu w``: this makes it small beside the entries.
    """
    rows, columns = problem.shape
    slope = problem.h.lipschitz_constant(problem.shape) / math.sqrt(rows * columns)
    if slope == 0:
        return 1e30  # nothing to smooth: let the smoothed h add no curvature
    xp = array_namespace(AX)
    sizes = xp.sort(xp.reshape(xp.abs(AX), (-1,)))
    count = sizes.shape[0]
    median = float(sizes[(count - 1) // 2] + sizes[count // 2]) / 2
    return 0.1 * (median or float(xp.mean(sizes)) or 1.0) / slope


def smoothing(solver: Any, mu0: Scalar, t: Scalar) -> Scalar:
    """The smoothing of step t + 1: ``mu0 (t + 1)^-p``, or ``1/beta`` with OADMM's penalty of iteration t."""
    if solver.schedule == "oadmm":
        return mu0 / (1.0 + solver.xi * t**solver.p)
    return mu0 / (t + 1.0) ** solver.p


def smoothed_gradient(problem: Problem, point: Point, z: Array) -> Array:
    """``grad f(X) - dg(X) + A*(z)``, with the z = grad h_mu(A(X)) of the smoothed h."""
    smooth = problem.f.gradient_at(point.X, point.HX) - problem.g.subgradient(point.X)
    return smooth + problem.A.adjoint(z)


def smoothed_certificate(solver: Any, problem: Problem, state: Any) -> Certificate:
    """X with the prox of A(X) and the gradient of the smoothed h there, at the smoothing of the coming step."""
    mu, AX = smoothing(solver, state.mu0, state.t), state.now.AX
    v = problem.h.prox(AX, mu)
    return Certificate(state.now, v, (AX - v) / mu)


def smoothed_objective(problem: Problem, now: Point, mu: Scalar) -> tuple[Array, Callable[[Point], Scalar], Scalar]:
    """The objective ``f - g + h_mu(A(.))`` about a point.

    Returns
    -------
    G, change, rounding
        Its gradient there, -g linearised; its value elsewhere minus its value there, with g as it is; and what
        rounding may add to such a change.
    """
    f, g, h, xp = problem.f, problem.g, problem.h, array_namespace(now.X)
    v = h.prox(now.AX, mu)
    z = (now.AX - v) / mu
    concave, rounded = g.value(now.X), h.value(v) + mu / 2 * xp.sum(z * z)

    def change(new: Point) -> Scalar:
        rest = (envelope(h, new.AX, mu) - rounded) - (g.value(new.X) - concave)
        return f.change(now.X, now.HX, new.X, new.HX) + rest

    size = xp.abs(f.value_at(now.X, now.HX)) + xp.abs(concave) + xp.abs(rounded)
    return smoothed_gradient(problem, now, z), change, 16.0 * backend_of(now.X).eps(now.X) * (size + 1e-300)
