"""OADMM-EP: ADMM that projects a linearised augmented Lagrangian onto the manifold (Algorithm 1).

G. Yuan, "ADMM for Nonsmooth Composite Optimization under Orthogonality Constraints", arXiv 2405.15129.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._types import Array, Scalar
from orthoprox.problem import Certificate, Point, Problem, extrapolate
from orthoprox.solvers._augmented import prox_point, smooth_part_gradient
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._curvature import backtrack_lipschitz, lipschitz_near
from orthoprox.solvers._schedules import PenaltyRule, default_penalty, default_smoothing
from orthoprox.terms.envelope import envelope_prox


@dataclass(frozen=True, kw_only=True, eq=False)
class OADMMEPState:
    """The state of OADMM-EP: two points with their products, the split variable, the multiplier."""

    t: int
    now: Point
    before: Point
    y: Array
    z: Array
    L: Scalar
    """L_f, or the current estimate."""


@dataclass(frozen=True, kw_only=True)
class OADMMEP(Solver[OADMMEPState]):
    """ADMM with Euclidean projection, Nesterov extrapolation and over-relaxed multipliers.

    Parameters
    ----------
    beta0 : float, optional
        The first penalty. By default ten times the weight of h, but at least ``L_f/|A|^2`` and ``2 tau W_h``.
    p, xi : float
        The penalty grows as ``beta0 (1 + xi t^p)``; p in (0, 1), xi in (0, 1]. The default xi is that of
        the paper's experiments; its remark (v) has 1, which is slower.
    theta : float
        The proximal factor, above 1.
    sigma : float
        Over-relaxation of the multiplier, in [1, 2).
    tau : float, optional
        The smoothing is ``mu = tau / beta``; at least (and by default) 4 / (2 - sigma).
    alpha : float, optional
        Extrapolation, below (and by default just below) (theta - 1) / ((theta + 1)(xi + 2)).
    strict_theory : bool
        Keep to the ranges in which the mean of Crit over T iterations is proved to be at most a constant times
        T^(-min(p, (1 - p)/2)), which is T^(-1/3) at the default p (Theorem 4.8; ``docs/theory.md`` has the proof).
        That X itself converges is not proved. False lets a user leave the ranges knowingly.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, named("oadmm-ep", beta0=5.0), stop=Iterations(50)).iterations
    50
    """

    name: ClassVar[str] = "oadmm-ep"
    summary: ClassVar[str] = "ADMM with projection of a linearised augmented Lagrangian"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope()

    beta0: float = DERIVED
    p: float = 1 / 3
    xi: float = 0.5
    theta: float = 1.01
    sigma: float = 1.1
    tau: float = DERIVED
    alpha: float = DERIVED
    strict_theory: bool = True

    def __post_init__(self) -> None:
        bound = (self.theta - 1) / ((self.theta + 1) * (self.xi + 2))
        derive(self, tau=lambda: default_smoothing(self.sigma), alpha=lambda: max(bound - 1e-12, 0.0))
        self._penalty.check()
        require(
            self.theta > (1 if self.strict_theory else 0),
            f"theta must be {'above 1' if self.strict_theory else 'positive'}; given {self.theta}.",
        )
        require(
            0 <= self.alpha < (bound if self.strict_theory else 1),
            f"alpha must lie in [0, {bound:.6g}) for theta = {self.theta} and xi = {self.xi}; given {self.alpha}; "
            "strict_theory=False lets you leave the range.",
        )

    @property
    def _penalty(self) -> PenaltyRule:
        return PenaltyRule(self.beta0, self.p, self.xi, self.sigma, self.tau, self.strict_theory)

    def for_problem(self, problem: Problem) -> Self:
        if self.beta0 is not None:
            return self
        return replace(self, beta0=default_penalty(problem, self.tau))

    def init(self, problem: Problem, X0: Array) -> OADMMEPState:
        self._penalty.check_for(problem, self.name)
        point = problem.at(X0)
        L = lipschitz_near(problem, X0)
        return OADMMEPState(t=0, now=point, before=point, y=point.AX, z=0.0 * point.AX, L=L)

    def step(self, problem: Problem, state: OADMMEPState) -> OADMMEPState:
        f, g, h, A = problem.f, problem.g, problem.h, problem.A
        y, z = state.y, state.z

        # S1: the penalty grows, the smoothing shrinks
        beta = self._penalty.at(state.t)
        mu = self.tau / beta

        # S2: extrapolate, linearise, project (remark (iv))
        xi = g.subgradient(state.now.X)
        c = extrapolate(state.now, state.before, self.alpha)
        G = smooth_part_gradient(problem, c, y, z, beta) - xi
        del xi

        if f.lipschitz is None:
            X, L = backtrack_lipschitz(
                f, c.X, lambda L: problem.M.project(c.X - G / self._curvature(problem, beta, L)), state.L
            )
        else:
            L = state.L
            Y = c.X - G / self._curvature(problem, beta, L)
            del c, G  # large arrays that are no longer needed
            X = problem.M.project(Y)
            del Y

        # S3: minimise the smoothed h
        AX = A(X)
        y_new = envelope_prox(h, AX + z / beta, mu, beta)[0]

        # S4: over-relaxed dual ascent
        z_new = z + self.sigma * beta * (AX - y_new)

        now = Point(X, f.product(X), AX)
        return OADMMEPState(t=state.t + 1, now=now, before=state.now, y=y_new, z=z_new, L=L)

    def _curvature(self, problem: Problem, beta: Scalar, L: Scalar) -> Scalar:
        """Theta l(beta), with l(beta) = beta |A|^2 + L_f."""
        return self.theta * (beta * problem.A.norm**2 + L)

    def point(self, state: OADMMEPState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: OADMMEPState) -> Certificate:
        return Certificate(state.now, prox_point(problem, state.y, self._penalty, state.t), state.z)
