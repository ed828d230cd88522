"""Stochastic OADMM: OADMM-EP with the gradient of one batch at a time, and a recursive average of these gradients.

G. Yuan, "ADMM for Nonsmooth Composite Optimization under Orthogonality Constraints", arXiv 2405.15129 (OADMM-EP).

A. Cutkosky, F. Orabona, "Momentum-based variance reduction in non-convex SGD", NeurIPS 2019 (the average).
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import ClassVar, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._types import Array
from orthoprox.problem import Certificate, Point, Problem, extrapolate
from orthoprox.solvers._augmented import prox_point
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.solvers._schedules import PenaltyRule, default_penalty, default_smoothing
from orthoprox.terms import Mean, QuadraticTerm, SmoothTerm
from orthoprox.terms.envelope import envelope_prox


@dataclass(frozen=True, kw_only=True, eq=False)
class StochasticOADMMState:
    """The state of stochastic OADMM: that of OADMM-EP, and the average with the X it belongs to."""

    t: int
    now: Point
    before: Point
    y: Array
    z: Array
    average: Array
    """The estimate of the gradient of f at ``at``."""
    at: Array


@dataclass(frozen=True, kw_only=True)
class StochasticOADMM(Solver[StochasticOADMMState]):
    r"""OADMM-EP for an f that is a mean of many terms: a step takes the gradient of one of them.

    The gradient of f in the step of X is replaced by

    .. math:: d^t = \nabla f_i(X^t) + (1 - a^t) (d^{t-1} - \nabla f_i(X^{t-1})), \qquad a^t = \min(1, (c/\ell^{t-1})^2),

    with i drawn at random and :math:`\ell = \beta |A|^2 + L_f`: as the penalty grows, steps shorten and older gradients
    count for more. For a quadratic f_i this is one product with its data. All else is as in OADMM-EP, and with a single
    term the iterates are the same.

    ``step`` draws one of the parts of ``problem.f``, a ``terms.Mean``; any other f is a single part. For batches
    that come from elsewhere call ``advance`` with each. It is not in ``SOLVERS``: F and Crit, which a run measures,
    take a pass over the data. Give ``record=Recorder(every=...)``.

    Parameters
    ----------
    beta0, p, xi, sigma, tau
        As in OADMM-EP; p at most 1/2.
    theta : float
        The proximal factor, above 1. A larger one shortens the steps, and more of the older gradients can be used.
    alpha : float
        Extrapolation; there is no proof for other than 0.
    c : float, optional
        Where the weight of a new gradient begins to fall. At least, and by default, the larger one of
        ``8 L / (theta - 1)`` and ``max(1, sqrt(2 xi (1 + xi)))`` times the first l, where L is the root of the mean of
        the squared constants of the f_i. Infinity takes the last gradient alone.
    lipschitz : float, optional
        L_f and L, where f does not know them.
    seed : int
        Of the draws.
    strict_theory : bool
        Keep to the ranges in which the mean of Crit over T steps is proved to be at most a constant times
        ``T^(-1/3) sqrt(log T)`` in expectation (``docs/streams.md``).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Iterations, Problem, Recorder, solve
    >>> from orthoprox.solvers import StochasticOADMM
    >>> from orthoprox.terms import L1, Mean
    >>> B = np.random.default_rng(0).standard_normal((200, 6))
    >>> problem = Problem.of(Mean.of_rows(B, 20, weight=1 / 200) + 0.1 * L1(), over=(6, 2))
    >>> solve(problem, StochasticOADMM(), stop=Iterations(100), record=Recorder(every=50)).X.shape
    (6, 2)
    """

    name: ClassVar[str] = "oadmm-stochastic"
    summary: ClassVar[str] = "OADMM-EP with gradients of one batch at a time, averaged"
    complexity: ClassVar[str] = "O(eps^-3) up to logarithms, in expectation"
    scope: ClassVar[Scope] = Scope()
    compilable: ClassVar[bool] = False

    beta0: float = DERIVED
    p: float = 1 / 3
    xi: float = 0.5
    theta: float = 3.0
    sigma: float = 1.1
    tau: float = DERIVED
    alpha: float = 0.0
    c: float = DERIVED
    lipschitz: float | None = None
    seed: int = 0
    strict_theory: bool = True

    def __post_init__(self) -> None:
        derive(self, tau=lambda: default_smoothing(self.sigma))
        self._penalty.check()
        hint = "; strict_theory=False lets you leave the range"
        strict = self.strict_theory
        require(self.theta > (1 if strict else 0), f"theta must be above 1; given {self.theta}{hint}.")
        require(self.alpha == 0 if strict else 0 <= self.alpha < 1, f"alpha must be 0; given {self.alpha}{hint}.")
        require(not strict or self.p <= 0.5, f"p must be at most 1/2; given {self.p}{hint}.")
        require(self.c is None or self.c > 0, f"c must be positive; given {self.c}.")
        known = self.lipschitz is None or 0 <= self.lipschitz < math.inf
        require(known, f"lipschitz must be finite and not negative; given {self.lipschitz}.")

    @property
    def _penalty(self) -> PenaltyRule:
        return PenaltyRule(self.beta0, self.p, self.xi, self.sigma, self.tau, self.strict_theory)

    def for_problem(self, problem: Problem) -> Self:
        L, spread = self._constants(problem)
        beta0 = default_penalty(problem, self.tau) if self.beta0 is None else self.beta0
        first = beta0 * problem.A.norm**2 + L
        least = max(8 * spread / max(self.theta - 1, 1e-3), first * max(1.0, math.sqrt(2 * self.xi * (1 + self.xi))))
        require(
            self.c is None or not self.strict_theory or self.c >= least * (1 - 1e-12),
            f"c must be at least {least:.6g} for this problem; given {self.c}. Raise it, leave it out, or pass "
            "strict_theory=False.",
        )
        return replace(self, beta0=beta0, c=least if self.c is None else self.c, lipschitz=L)

    def _constants(self, problem: Problem) -> tuple[float, float]:
        """L_f, and the root of the mean of the squared constants of its parts."""
        f = problem.f
        L = f.lipschitz if self.lipschitz is None else self.lipschitz
        if L is None:
            raise UnsupportedProblem(
                f"{self.name} needs the Lipschitz constant of the gradient of f, which this f does not know. "
                "Pass lipschitz=, or choose another solver."
            )
        spread = f.mean_square_lipschitz if isinstance(f, Mean) and self.lipschitz is None else L
        return L, L if spread is None else spread

    def init(self, problem: Problem, X0: Array) -> StochasticOADMMState:
        self._penalty.check_for(problem, self.name)
        require(self.c is not None, f"{self.name} has no c yet: pass one, or use solver.for_problem(problem).")
        point = problem.at(X0)
        return StochasticOADMMState(t=0, now=point, before=point, y=point.AX, z=0.0 * point.AX, average=0.0 * X0, at=X0)

    def step(self, problem: Problem, state: StochasticOADMMState) -> StochasticOADMMState:
        return self.advance(problem, state, self.draw(problem, state.t))

    def draw(self, problem: Problem, t: int) -> SmoothTerm:
        """The part of f that step t takes: each with the same probability, whatever was drawn before."""
        f = problem.f
        return f.part(random.Random(f"{self.seed} {t}").randrange(len(f.parts))) if isinstance(f, Mean) else f

    def advance(self, problem: Problem, state: StochasticOADMMState, batch: SmoothTerm) -> StochasticOADMMState:
        """One iteration with the gradient of a batch: a smooth term whose expectation is f."""
        h, A, z = problem.h, problem.A, state.z

        # S1: the penalty grows, the smoothing shrinks
        beta = self._penalty.at(state.t)
        mu = self.tau / beta

        # S2: average the gradients, linearise, project
        point = extrapolate(state.now, state.before, self.alpha)
        average = _averaged(batch, point.X, state.at, state.average, self.weight_of_new(problem, state.t))
        G = average + A.adjoint(z + beta * (point.AX - state.y)) - problem.g.subgradient(state.now.X)
        X = problem.M.project(point.X - G / (self.theta * self._curvature(problem, state.t)))

        # S3: minimise the smoothed h; S4: over-relaxed dual ascent
        AX = A(X)
        y = envelope_prox(h, AX + z / beta, mu, beta)[0]
        z = z + self.sigma * beta * (AX - y)
        now = Point(X, problem.f.product(X), AX)
        return StochasticOADMMState(t=state.t + 1, now=now, before=state.now, y=y, z=z, average=average, at=point.X)

    def weight_of_new(self, problem: Problem, t: int) -> float:
        """The weight a^t of the new gradient in the average; 1 in the first step."""
        return min(1.0, (self.c / self._curvature(problem, t - 1)) ** 2) if t > 0 else 1.0

    def _curvature(self, problem: Problem, t: int) -> float:
        """l^t = beta^t |A|^2 + L_f."""
        return float(self._penalty.at(t)) * problem.A.norm**2 + self._constants(problem)[0]

    def point(self, state: StochasticOADMMState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: StochasticOADMMState) -> Certificate:
        return Certificate(state.now, prox_point(problem, state.y, self._penalty, state.t), state.z)


def _averaged(batch: SmoothTerm, X: Array, at: Array, average: Array, a: float) -> Array:
    """The gradient at X, plus 1 - a times how far the average is from that at ``at``; from one product if affine."""
    if a == 1:
        return batch.gradient(X)
    if isinstance(batch, QuadraticTerm):
        return a * batch.gradient((X - (1 - a) * at) / a) + (1 - a) * average
    return batch.gradient(X) + (1 - a) * (average - batch.gradient(at))
