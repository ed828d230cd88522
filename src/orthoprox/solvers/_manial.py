"""What the two variants of ManIAL share: the state, the multiplier and the penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from orthoprox._fields import require
from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._rgbb import FIRST_LENGTH, Penalised, lipschitz_near, matching_penalty, rgbb


@dataclass(frozen=True, kw_only=True, eq=False)
class ManIALState:
    """Where ManIAL is. The Lagrangian has -<Z, A(X) - Y>, so -Z is the multiplier of the other methods."""

    t: int
    now: Point
    Y: Array
    Z: Array
    nu: float
    delta: float
    """The last primal residual, relative."""
    first_gap: float
    """The primal residual after the first iteration."""
    L: float
    length: float
    inner: int
    """Inner steps taken so far."""


def check_manial(solver: Any) -> None:
    """What keeps the outer loop defined."""
    s = solver
    require(s.nu0 is None or s.nu0 > 0, f"nu0 must be positive; given {s.nu0}.")
    require(s.rho > 1, f"rho must be above 1; given {s.rho}.")
    require(0 < s.tau < 1, f"tau must lie in (0, 1); given {s.tau}.")
    require(s.tol is None or s.tol > 0, f"tol must be positive; given {s.tol}.")
    require(s.most_inner >= 1, f"most_inner must be at least 1; given {s.most_inner}.")
    require(s.least_gradient >= 0, f"least_gradient must not be negative; given {s.least_gradient}.")
    require(
        s.dual_step in ("classical", "damped"), f"dual_step must be 'classical' or 'damped'; given {s.dual_step!r}."
    )


def open_settings(solver: Any, problem: Problem) -> dict[str, float]:
    """The settings that were left open, as the authors' experiments have them: nu0 = L_f, tol = 1e-10 n r."""
    chosen = {}
    if solver.nu0 is None and problem.f.lipschitz is not None:
        chosen["nu0"] = matching_penalty(problem, problem.f.lipschitz)
    if solver.tol is None:
        chosen["tol"] = default_tolerance(problem)
    return chosen


def default_tolerance(problem: Problem) -> float:
    return 1e-10 * problem.M.n * problem.M.r


def manial_init(solver: Any, problem: Problem, X0: Array) -> ManIALState:
    L = lipschitz_near(problem, X0)
    nu = matching_penalty(problem, L) if solver.nu0 is None else solver.nu0
    least = 2 * problem.h.weak_convexity
    require(nu >= least, f"nu0 must be at least 2 W_h = {least:.6g} for this h; given {nu}.")
    now = problem.at(X0)
    return ManIALState(
        t=0,
        now=now,
        Y=now.AX,
        Z=0.0 * now.AX,
        nu=nu,
        delta=math.inf,
        first_gap=math.inf,
        L=L,
        length=FIRST_LENGTH,
        inner=0,
    )


def manial_step(solver: Any, problem: Problem, state: ManIALState, *, tolerance: float, most: int) -> ManIALState:
    """One outer iteration: an inexact minimisation over X, the best Y, the multiplier, the penalty."""
    nu, Z = state.nu, state.Z

    # X: y is eliminated by its prox, which leaves a smooth function
    merit = Penalised(problem, problem.g.subgradient(state.now.X), nu, Z / nu)
    found = rgbb(
        merit,
        state.now,
        length=state.length,
        ell=state.L + nu * problem.A.norm**2,
        tolerance=tolerance,
        most=most,
        done=state.inner,
    )

    # Y and Z
    AX = found.point.AX
    Y = merit.partner(AX)
    gap = float(norm(AX - Y))
    first_gap = gap if state.t == 0 else state.first_gap
    Z_new = Z - dual_length(solver, state, gap, first_gap) * (AX - Y)

    delta = gap / (1 + float(norm(AX)) + float(norm(Y)))
    return ManIALState(
        t=state.t + 1,
        now=found.point,
        Y=Y,
        Z=Z_new,
        nu=_penalty(solver, problem, state, found.point, Z_new, delta),
        delta=delta,
        first_gap=first_gap,
        L=state.L,
        length=found.length,
        inner=state.inner + found.steps,
    )


def dual_length(solver: Any, state: ManIALState, gap: float, first_gap: float) -> float:
    """The penalty itself, or the shorter length for which the multipliers are bounded by their sum."""
    if solver.dual_step == "classical" or gap == 0:
        return state.nu
    k = state.t + 1
    return state.nu * min(1.0, first_gap * math.log(2) ** 2 / (gap * k**2 * math.log(k + 1)))


def _penalty(solver: Any, problem: Problem, state: ManIALState, point: Point, Z: Array, delta: float) -> float:
    """Grow when the residual does not shrink; fall when only stationarity is missing."""
    nu0 = matching_penalty(problem, state.L) if solver.nu0 is None else solver.nu0
    tol = default_tolerance(problem) if solver.tol is None else solver.tol
    least = max(min(0.01, nu0), 2 * problem.h.weak_convexity)
    if delta >= tol:
        return min(solver.rho * state.nu, 1000 * nu0) if delta > solver.tau * state.delta else state.nu
    return max(state.nu / solver.rho, least) if kkt_residual(problem, point, Z) > 10 * tol else state.nu


def kkt_residual(problem: Problem, point: Point, Z: Array) -> float:
    """How far (X, Z) is from stationary, relative: the larger of the parts for X and for Y."""
    gradient = problem.f.gradient_at(point.X, point.HX)
    pull = gradient - problem.g.subgradient(point.X) - problem.A.adjoint(Z)
    of_X = norm(problem.M.tangent(point.X, pull)) / (1 + norm(gradient))
    s = 1.0 if problem.h.weak_convexity == 0 else min(1.0, 0.5 / problem.h.weak_convexity)
    of_Y = norm(point.AX - problem.h.prox(point.AX - s * Z, s)) / s / (1 + norm(point.AX))
    return max(float(of_X), float(of_Y))


def manial_certificate(state: ManIALState) -> Certificate:
    return Certificate(state.now, state.Y, -1.0 * state.Z)
