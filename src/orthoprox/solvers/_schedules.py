"""Growing penalties, and the settings that both variants of OADMM share."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

from orthoprox._fields import require
from orthoprox._types import Scalar
from orthoprox.backends import larger
from orthoprox.problem import Problem
from orthoprox.terms import ProximableTerm, SeparableSum


def growing_penalty(beta0: float, xi: float, p: float, t: Scalar) -> Scalar:
    """beta^t = beta^0 (1 + xi t^p) (Algorithm 1, S1)."""
    return beta0 * (1.0 + xi * t**p)


def default_smoothing(sigma: float) -> float:
    """The least tau that is admissible, 4 / (2 - sigma)."""
    return 4 / (2 - sigma) if sigma < 2 else math.inf


@dataclass(frozen=True)
class PenaltyRule:
    """The settings of OADMM's penalty and smoothing: beta grows from beta0, and mu = tau / beta."""

    beta0: float | None
    p: float
    xi: float
    sigma: float
    tau: float
    strict_theory: bool

    def check(self) -> None:
        """The ranges of Theorems 4.8 and 4.13; without ``strict_theory`` only what keeps the steps defined."""
        hint = "; strict_theory=False lets you leave the range"
        beta0, p, xi, sigma, tau = self.beta0, self.p, self.xi, self.sigma, self.tau
        require(beta0 is None or beta0 > 0, f"beta0 must be positive; given {beta0}.")
        if self.strict_theory:
            require(0 < p < 1, f"p must lie in (0, 1); given {p}{hint}.")
            require(0 < xi <= 1, f"xi must lie in (0, 1]; given {xi}{hint}.")
            require(1 <= sigma < 2, f"sigma must lie in [1, 2); given {sigma}{hint}.")
            least = default_smoothing(sigma)
            require(tau >= least * (1 - 1e-12), f"tau must be at least 4/(2 - sigma) = {least:.6g}; given {tau}{hint}.")
        else:
            require(p >= 0 and xi >= 0, f"p and xi must not be negative; given p = {p}, xi = {xi}.")
            require(0 < sigma < 2, f"sigma must lie in (0, 2); given {sigma}.")
            require(tau >= 0, f"tau must not be negative; given {tau}.")

    def at(self, t: Scalar) -> Scalar:
        """beta^t."""
        assert self.beta0 is not None  # check_for has seen to it
        return growing_penalty(self.beta0, self.xi, self.p, t)

    def check_for(self, problem: Problem, name: str) -> None:
        """beta^0 >= 2 tau W_h, so that the smoothed h is (1/mu)-smooth from the first iteration on."""
        if self.beta0 is None:
            raise ValueError(f"{name} has no beta0 yet: pass one, or use solver.for_problem(problem).")
        if not isinstance(self.beta0, (int, float)):
            return  # one of many runs, each of which was checked alone
        least = 2 * self.tau * problem.h.weak_convexity
        require(
            not self.strict_theory or self.beta0 >= least * (1 - 1e-12),
            f"beta0 must be at least 2 tau W_h = {least:.6g} for this h; given {self.beta0}. "
            "Raise it, leave it out, or pass strict_theory=False.",
        )


def default_penalty(problem: Problem, tau: float) -> float:
    """Ten times the weight of h as in the paper's experiments, but at least the curvature of f and 2 tau W_h."""
    of_f = in_units_of_map(problem, problem.f.lipschitz or 0.0)
    return max(10 * entry_slope(problem.h), of_f, 2 * tau * problem.h.weak_convexity) or 1.0


def in_units_of_map(problem: Problem, L: float) -> float:
    """A curvature in X as a penalty on A(X): L/|A|^2. Zero for A = 0, where any penalty will do."""
    square = problem.A.norm**2
    return L / square if square > 0 else 0.0


def entry_slope(h: ProximableTerm) -> Scalar:
    """The Lipschitz constant of h in a single entry."""
    if isinstance(h, SeparableSum):
        return h.weight * functools.reduce(larger, map(entry_slope, h.parts))
    return h.lipschitz_constant((1, 1))
