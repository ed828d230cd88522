"""Riemannian gradient descent with Barzilai-Borwein step sizes, and the penalty functions it minimises."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._deadline import is_over
from orthoprox._linalg import inner, norm, rounding
from orthoprox._types import Array, Scalar
from orthoprox.problem import Point, Problem
from orthoprox.solvers._curve import Curve
from orthoprox.solvers._linesearch import barzilai_borwein
from orthoprox.solvers._schedules import entry_slope, in_units_of_map
from orthoprox.terms import ProximableTerm

FIRST_STEP_SIZE = 1e-3
REFRESH = 50
"""Line searches carry products with the data along; every this many inner steps they are recomputed."""
_MEMORY, _DECREASE, _SHRINK, _TRIALS, _HALVINGS = 0.85, 1e-6, 0.2, 3, 20


@dataclass(frozen=True, eq=False)
class PenaltyFunction:
    """Psi(X) = f(X) - <xi, X> + h(y) + nu/2 |A(X) - c - y|^2, with a fixed y or the best one for each X.

    A fixed y makes h(y) a constant, which is left out. With the best y, prox(A(X) - c, 1/nu), the last two parts are
    a Moreau envelope of h: Psi is differentiable, and its gradient is that with y fixed. MADMM has c = -U, its scaled
    multiplier; ManIAL has c = Z/nu, of the opposite sign. The linear -<xi, X> is an upper bound of -g.
    """

    problem: Problem
    xi: Array
    nu: float
    c: Array
    fixed: Array | None = None

    def partner(self, AX: Array) -> Array:
        """The y that goes with A(X)."""
        return self.problem.h.prox(AX - self.c, 1 / self.nu) if self.fixed is None else self.fixed

    def gradient(self, point: Point, y: Array) -> Array:
        pull = self.problem.A.adjoint(self.nu * (point.AX - self.c - y))
        return self.problem.f.gradient_at(point.X, point.HX) - self.xi + pull

    def value(self, point: Point, y: Array) -> float:
        gap = point.AX - self.c - y
        smooth = self.problem.f.value_at(point.X, point.HX) - inner(self.xi, point.X)
        outer = 0.0 if self.fixed is not None else self.problem.h.value(y)
        return float(smooth + outer + self.nu / 2 * inner(gap, gap))

    def change(self, now: Point, y: Array, new: Point, y_new: Array) -> float:
        """Psi(new) - Psi(now), written in differences to keep their digits."""
        f = self.problem.f
        gap, gap_new = now.AX - self.c - y, new.AX - self.c - y_new
        smooth = f.change(now.X, now.HX, new.X, new.HX) - inner(self.xi, new.X - now.X)
        outer = 0.0 if self.fixed is not None else self.problem.h.value(y_new) - self.problem.h.value(y)
        return float(smooth + outer + self.nu / 2 * inner(gap_new - gap, gap_new + gap))


@dataclass(frozen=True, eq=False)
class Descent:
    """The end of a descent, and the step size to continue with."""

    point: Point
    y: Array
    G: Array
    """The Riemannian gradient."""
    steps: int
    length: float
    mean: float
    """The running mean of the values, with which the line search compares."""


def rgbb(
    merit: PenaltyFunction, start: Point, *, length: float, ell: float, tolerance: float, most: int, done: int = 0
) -> Descent:
    """Minimise Psi over the manifold from a point, by gradient steps of Barzilai-Borwein size.

    The line search is nonmonotone (Zhang and Hager): it accepts a step size where Psi falls enough below a running
    mean of its values. It tries three and accepts the third in any case, unless Psi rises much there.

    Parameters
    ----------
    length : float
        The first step size tried.
    ell : float
        A Lipschitz constant of the gradient of Psi; step sizes stay in ``[1e-3, 1e3] / ell``.
    tolerance : float
        Stop when the Riemannian gradient is this small.
    most : int
        Stop after this many steps.
    done : int
        Inner steps before this call; every ``REFRESH`` of all of them the products are recomputed.
    """
    problem, M = merit.problem, merit.problem.M
    shortest, longest = 1e-3 / ell, 1e3 / ell
    now, a = start, min(max(length, shortest), longest)
    y = merit.partner(now.AX)
    G = M.tangent(now.X, merit.gradient(now, y))
    value, lead, weight = merit.value(now, y), 0.0, 1.0  # lead: how far the running mean is above Psi(X)
    k = 0
    while k < most and not float(norm(G)) <= tolerance and not is_over():
        new, y_new, change = _search(merit, now, y, G, a, value, lead)
        k += 1
        if (done + k) % REFRESH == 0:
            new = problem.at(new.X)
        G_new = M.tangent(new.X, merit.gradient(new, y_new))
        quotient = float(barzilai_borwein(new.X - now.X, G_new - G, "short" if k % 2 else "long"))
        a = min(max(quotient, shortest), longest) if quotient > 0 else a
        weight_new = _MEMORY * weight + 1
        lead, value = _MEMORY * weight * (lead - change) / weight_new, value + change
        now, y, G, weight = new, y_new, G_new, weight_new
        if not math.isfinite(value):
            break  # no shorter step helped; the driver stops there
    return Descent(now, y, G, k, a, value + lead)


def _search(
    merit: PenaltyFunction, now: Point, y: Array, G: Array, a: float, value: float, lead: float
) -> tuple[Point, Array, float]:
    """The point at the first acceptable step size along -G; one product with the data for all trials."""
    curve = Curve(merit.problem, now, -1.0 * G)
    square = float(inner(G, G))
    slack = rounding(G, value)

    def trial(a: Scalar) -> tuple[Point, Array, float]:
        new = curve.at(a)
        y_new = merit.partner(new.AX)
        return new, y_new, merit.change(now, y, new, y_new)

    outcome = trial(a)
    for _ in range(_TRIALS - 1):
        if outcome[2] <= lead - _DECREASE * a * square + slack:
            return outcome
        a = _SHRINK * a
        outcome = trial(a)
    for _ in range(_HALVINGS):
        if outcome[2] <= lead + 0.1 * abs(value + lead) + slack:
            break
        a = a / 2
        outcome = trial(a)
    return outcome


def matching_penalty(problem: Problem, L: float) -> float:
    """The penalty whose curvature is that of f, L_f/|A|^2; by the slope of h when f has none. At least 4 W_h."""
    return max(in_units_of_map(problem, L) or slope_penalty(problem.h), 2 * least_penalty(problem.h)) or 1.0


def slope_penalty(h: ProximableTerm) -> float:
    """Ten times the slope of h in an entry, OADMM's penalty for it; 0 for an h without a slope."""
    slope = entry_slope(h)
    return 10 * slope if math.isfinite(slope) else 0.0


def least_penalty(h: ProximableTerm) -> float:
    """Twice W_h, which makes the prox single-valued. Zero for an h that jumps, where no penalty does."""
    return 2 * h.weak_convexity if math.isfinite(h.weak_convexity) else 0.0
