"""Riemannian gradient descent with Barzilai-Borwein step sizes, and the penalty functions it minimises."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from orthoprox._linalg import inner, norm, rounding
from orthoprox._types import Array, Scalar
from orthoprox.backends import Backend, backend_of, either, larger, speculation
from orthoprox.problem import Point, Problem
from orthoprox.solvers._curve import Along, Curve, placeholders, products_along
from orthoprox.solvers._linesearch import barzilai_borwein
from orthoprox.solvers._schedules import entry_slope, in_units_of_map
from orthoprox.terms import ProximableTerm, Zero

FIRST_STEP_SIZE = 1e-3
REFRESH = 50
"""Line searches carry products with the data along; every this many inner steps they are recomputed."""
MOST_ROUNDS = 32
"""Rounds of the longest program; a longer descent is taken with its branches."""
_MEMORY, _DECREASE, _SHRINK, _TRIALS, _HALVINGS = 0.85, 1e-6, 0.2, 3, 20


@dataclass(frozen=True, eq=False)
class PenaltyFunction:
    """Psi(X) = f(X) - <xi, X> + h(y) + nu/2 |A(X) - c - y|^2, with a fixed y or the best one for each X.

    A fixed y makes h(y) a constant, which is left out. With the best y, prox(A(X) - c, 1/nu), the last two parts are
    a Moreau envelope of h: Psi is differentiable, and its gradient is that with y fixed. MADMM has c = -U, its scaled
    multiplier; ManIAL has c = Z/nu, of the opposite sign. The linear -<xi, X> is an upper bound of -g.
    """

    problem: Problem
    xi: Array | None
    """A subgradient of g; None without g."""
    nu: Scalar
    c: Array
    fixed: Array | None = None

    def partner(self, AX: Array) -> Array:
        """The y that goes with A(X)."""
        return self.problem.h.prox(AX - self.c, 1 / self.nu) if self.fixed is None else self.fixed

    def gradient(self, point: Point, y: Array) -> Array:
        pull = self.problem.A.adjoint(self.nu * (point.AX - self.c - y))
        smooth = self.problem.f.gradient_at(point.X, point.HX)
        return (smooth if self.xi is None else smooth - self.xi) + pull

    def value(self, point: Point, y: Array) -> Scalar:
        gap = point.AX - self.c - y
        smooth = self.problem.f.value_at(point.X, point.HX)
        if self.xi is not None:
            smooth = smooth - inner(self.xi, point.X)
        outer = 0.0 if self.fixed is not None else self.problem.h.value(y)
        return backend_of(y).known(smooth + outer + self.nu / 2 * inner(gap, gap), y)

    def change(self, now: Point, y: Array, new: Point, y_new: Array) -> Scalar:
        """Psi(new) - Psi(now), written in differences to keep their digits."""
        f = self.problem.f
        gap, gap_new = now.AX - self.c - y, new.AX - self.c - y_new
        smooth = f.change(now.X, now.HX, new.X, new.HX)
        if self.xi is not None:
            smooth = smooth - inner(self.xi, new.X - now.X)
        outer = 0.0 if self.fixed is not None else self.problem.h.value(y_new) - self.problem.h.value(y)
        return backend_of(y).known(smooth + outer + self.nu / 2 * inner(gap_new - gap, gap_new + gap), y)


def slope_of_g(problem: Problem, X: Array) -> Array | None:
    """A subgradient of g at X; None without g, of which there is nothing to subtract."""
    return None if isinstance(problem.g, Zero) else problem.g.subgradient(X)


@dataclass(frozen=True, eq=False)
class Descent:
    """The end of a descent, and the step size to continue with."""

    point: Point
    y: Array
    G: Array
    """The Riemannian gradient."""
    steps: Scalar
    length: Scalar
    mean: Scalar
    """The running mean of the values, with which the line search compares."""


class At(NamedTuple):
    """Where a descent is: a point, and a search from there along -G."""

    now: Point
    y: Array
    G: Array
    k: Scalar
    """Steps so far."""
    value: Scalar
    lead: Scalar
    """How far the running mean is above Psi(X)."""
    weight: Scalar
    """Of the running mean."""
    length: Scalar
    """The step size with which the search began."""
    a: Scalar
    """The one to try next."""
    trials: Scalar
    """Trials of this search so far."""
    along: Along


def rgbb(
    merit: PenaltyFunction, start: Point, *, length: Scalar, ell: Scalar, tolerance: Scalar, most: int, done: Scalar = 0
) -> Descent:
    """Minimise Psi over the manifold from a point, by gradient steps of Barzilai-Borwein size.

    The line search is nonmonotone (Zhang and Hager): it accepts a step size where Psi falls enough below a running
    mean of its values. It tries three and accepts the third in any case, unless Psi rises much there.

    Descent and line search are one loop, a trial in each round: in a program both would have rounds that do nothing.

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
        Inner steps before this call; every ``REFRESH`` of all of them the products are recomputed. A program does
        so at the end of the descent, since it would need a second product in each round.
    """
    problem, backend = merit.problem, backend_of(start.X)
    rounds = _Rounds(merit, backend, 1e-3 / ell, 1e3 / ell, tolerance, most, done)
    y = merit.partner(start.AX)
    G = problem.M.tangent(start.X, merit.gradient(start, y))
    a = rounds.clip(length)
    lead, weight = backend.known(0.0, G), backend.known(1.0, G)
    begun = At(start, y, G, 0, merit.value(start, y), lead, weight, a, a, 0, placeholders(problem, start))
    longest = min(most + most // 2, MOST_ROUNDS)
    end = backend.while_loop(rounds.go_on, rounds.try_one, begun, longest=longest, until_over=True)
    now = end.now
    if speculation() is not None:
        due = (done + end.k) // REFRESH > done // REFRESH
        now = backend.cond(due, problem.at, lambda _: now, now.X)
    return Descent(now, end.y, end.G, end.k, end.length, end.value + end.lead)


class _Rounds(NamedTuple):
    """The rounds of a descent."""

    merit: PenaltyFunction
    backend: Backend
    shortest: Scalar
    longest: Scalar
    tolerance: Scalar
    most: int
    done: Scalar

    def clip(self, length: Scalar) -> Scalar:
        """The nearest admissible step size."""
        length = larger(self.shortest, length)
        return either(self.longest < length, self.longest, length)

    def go_on(self, at: At) -> Any:
        """Whether there is more to do. Where no shorter step made the value finite there is not: the driver stops."""
        finite = (at.k == 0) | (abs(at.value) < math.inf)
        return (at.k < self.most) & finite & ~(norm(at.G) <= self.tolerance)

    def try_one(self, at: At) -> At:
        """The next trial; one product with the data for all trials of a search."""
        merit, backend = self.merit, self.backend
        D = -1.0 * at.G
        along = backend.cond(at.trials == 0, self._multiply, _keep, D, at.along)
        new = Curve(merit.problem, at.now, D, along=along).at(at.a)
        y_new = merit.partner(new.AX)
        change = merit.change(at.now, at.y, new, y_new)
        enough = at.lead - _DECREASE * at.a * backend.known(inner(at.G, at.G), at.G)
        bearable = at.lead + 0.1 * abs(at.value + at.lead)
        bound = either(at.trials < _TRIALS - 1, enough, bearable) + rounding(at.G, at.value)
        accepted = (change <= bound) | (at.trials >= _TRIALS + _HALVINGS - 1)
        return backend.cond(accepted, self._advance, _shorten, at, new, y_new, change, along)

    def _multiply(self, D: Array, along: Along) -> Along:
        return products_along(self.merit.problem, D)

    def _advance(self, at: At, new: Point, y_new: Array, change: Scalar, along: Along) -> At:
        """The step to a new point, and the length with which to go on there."""
        problem, backend, k = self.merit.problem, self.backend, at.k + 1
        if speculation() is None:
            due = (self.done + k) % REFRESH == 0
            new = backend.cond(due, lambda new: problem.at(new.X), lambda new: new, new)
        G_new = problem.M.tangent(new.X, self.merit.gradient(new, y_new))
        quotient = backend.known(barzilai_borwein(new.X - at.now.X, G_new - at.G, k % 2 == 1), at.G)
        length = either(quotient > 0, self.clip(quotient), at.length)
        weight = _MEMORY * at.weight + 1
        lead = _MEMORY * at.weight * (at.lead - change) / weight
        return At(new, y_new, G_new, k, at.value + change, lead, weight, length, length, 0, along)


def _keep(D: Array, along: Along) -> Along:
    return along


def _shorten(at: At, new: Point, y_new: Array, change: Scalar, along: Along) -> At:
    """A shorter trial from the same point."""
    a = either(at.trials < _TRIALS - 1, _SHRINK * at.a, at.a / 2)
    return at._replace(a=a, trials=at.trials + 1, along=along)


def matching_penalty(problem: Problem, L: float) -> float:
    """The penalty whose curvature is that of f, L_f/|A|^2; by the slope of h when f has none. At least 4 W_h."""
    return max(in_units_of_map(problem, L) or slope_penalty(problem.h), 2 * least_penalty(problem.h)) or 1.0


def slope_penalty(h: ProximableTerm) -> float:
    """Ten times the slope of h in an entry, OADMM's penalty for it; 0 for an h without a slope."""
    slope = entry_slope(h)
    return 10 * slope if math.isfinite(slope) else 0.0


def least_penalty(h: ProximableTerm) -> Scalar:
    """Twice W_h, which makes the prox single-valued. Zero for an h that jumps, where no penalty does."""
    W = h.weak_convexity
    return either(W < math.inf, 2 * W, 0.0)
