"""What the two smoothing methods share: how the smoothing shrinks, and the smoothed objective."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from orthoprox._fields import require
from orthoprox._linalg import inner, rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._schedules import default_penalty, default_smoothing
from orthoprox.terms.envelope import envelope

SCHEDULES = ("power", "oadmm")


@dataclass(frozen=True)
class Smoothing:
    """How the smoothing shrinks: as ``mu0 k^-p``, or as ``1/beta`` with OADMM's penalty."""

    schedule: str
    mu0: float | None
    p: float
    beta0: float | None
    xi: float

    def check(self) -> None:
        """Refuse settings outside their ranges."""
        require(self.schedule in SCHEDULES, f"schedule must be one of {SCHEDULES}; given {self.schedule!r}.")
        require(self.mu0 is None or self.mu0 > 0, f"mu0 must be positive; given {self.mu0}.")
        require(self.p > 0, f"p must be positive; given {self.p}.")
        require(self.beta0 is None or self.beta0 > 0, f"beta0 must be positive; given {self.beta0}.")
        require(self.xi >= 0, f"xi must not be negative; given {self.xi}.")
        wrong, right = ("mu0", "beta0") if self.schedule == "oadmm" else ("beta0", "mu0")
        require(
            getattr(self, wrong) is None,
            f"{wrong} does not belong to schedule = {self.schedule!r}, where {right} sets the first smoothing.",
        )

    def first(self, problem: Problem, AX: Array, name: str) -> float:
        """The smoothing of the first iteration; refused where the prox would not be unique."""
        most = 0.5 / problem.h.weak_convexity if problem.h.weak_convexity > 0 else math.inf
        if self.schedule == "oadmm":
            if self.beta0 is None:
                raise ValueError(f"{name} has no beta0 yet: pass one, or use solver.for_problem(problem).")
            mu0 = 1 / self.beta0
        else:
            mu0 = min(default_width(problem, AX), most) if self.mu0 is None else self.mu0
        require(
            not mu0 > most * (1 + 1e-12),  # this form admits a NaN, which the driver reports
            f"The first smoothing, mu0 or 1/beta0, must be at most 1/(2 W_h) = {most:.6g} for this h; given {mu0:.6g}.",
        )
        return mu0

    def at(self, mu0: Scalar, t: Scalar) -> Scalar:
        """The smoothing of step t + 1: ``mu0 (t + 1)^-p``, or ``1/beta`` with OADMM's penalty of iteration t."""
        if self.schedule == "oadmm":
            return mu0 / (1.0 + self.xi * t**self.p)
        return mu0 / (t + 1.0) ** self.p


def oadmm_penalty(problem: Problem) -> float:
    """OADMM's default beta0, at its default sigma."""
    return default_penalty(problem, default_smoothing(1.1))


def default_width(problem: Problem, AX: Array) -> float:
    """A tenth of the median magnitude in A(X), divided by the slope of h in one entry.

    Smoothing rounds off the kink of ``w |y|`` over a width ``mu w``, which should be small beside the entries.
    """
    rows, columns = problem.shape
    slope = problem.h.lipschitz_constant(problem.shape) / math.sqrt(rows * columns)
    if slope == 0:
        return 1e30  # nothing to smooth, so the smoothed h should add no curvature
    xp = array_namespace(AX)
    sizes = xp.sort(xp.reshape(xp.abs(AX), (-1,)))
    count = sizes.shape[0]
    median = float(sizes[(count - 1) // 2] + sizes[count // 2]) / 2
    return 0.1 * (median or float(xp.mean(sizes)) or 1.0) / slope


def objective_gradient(problem: Problem, point: Point, z: Array) -> Array:
    """``grad f(X) - dg(X) + A*(z)``, with the z = grad h_mu(A(X)) of the smoothed h."""
    smooth = problem.f.gradient_at(point.X, point.HX) - problem.g.subgradient(point.X)
    return smooth + problem.A.adjoint(z)


def prox_certificate(problem: Problem, now: Point, mu: Scalar) -> Certificate:
    """X with the prox of A(X), and the gradient of the smoothed h there."""
    v = problem.h.prox(now.AX, mu)
    return Certificate(now, v, (now.AX - v) / mu)


def objective_near(problem: Problem, now: Point, mu: Scalar) -> tuple[Array, Callable[[Point], Scalar], Scalar]:
    """The objective ``f - g + h_mu(A(.))`` near a point.

    Returns
    -------
    G, change, slack
        Its gradient there, -g linearised; its value elsewhere minus its value there, with g itself; and what
        rounding may add to such a change.
    """
    f, g, h, xp = problem.f, problem.g, problem.h, array_namespace(now.X)
    v = h.prox(now.AX, mu)
    z = (now.AX - v) / mu
    g_now, h_now = g.value(now.X), h.value(v) + mu / 2 * inner(z, z)

    def change(new: Point) -> Scalar:
        rest = (envelope(h, new.AX, mu) - h_now) - (g.value(new.X) - g_now)
        return f.change(now.X, now.HX, new.X, new.HX) + rest

    size = xp.abs(f.value_at(now.X, now.HX)) + xp.abs(g_now) + xp.abs(h_now)
    return objective_gradient(problem, now, z), change, rounding(now.X, size + 1e-300)
