"""SPGM-EP: gradient steps on a smoothed objective, projected onto the manifold.

A. Boehm, S. J. Wright, "Variable smoothing for weakly convex composite functions", J. Optim. Theory Appl. 188, 2021.
Their theorem has no constraint: on the Stiefel manifold, and with g present, the method is a heuristic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._types import Array, Scalar
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._curvature import backtrack_lipschitz, lipschitz_near
from orthoprox.solvers._smoothing import Smoothing, oadmm_penalty, objective_gradient, prox_certificate
from orthoprox.terms.envelope import envelope_gradient


@dataclass(frozen=True, kw_only=True, eq=False)
class SPGMEPState:
    """The state of SPGM-EP: a point, and the first smoothing."""

    t: int
    now: Point
    mu0: Scalar
    L: Scalar
    """L_f, or the current estimate."""


@dataclass(frozen=True, kw_only=True)
class SPGMEP(Solver[SPGMEPState]):
    """A step along the gradient of ``f - g + h_mu(A(X))``, then a projection; mu shrinks.

    Parameters
    ----------
    mu0 : float, optional
        The first smoothing. By default 1/(2 W_h), which is also the most it may be; for a convex h a tenth of the
        median magnitude in A(X0), divided by the slope of h.
    p : float
        The smoothing is ``mu0 k^-p`` in iteration k = 1, 2, ...
    schedule : {"power", "oadmm"}
        With "oadmm" the smoothing is ``1/beta`` with OADMM's growing penalty ``beta0 (1 + xi t^p)``, t = 0, 1, ...:
        this is OADMM-EP without multiplier, extrapolation and smoothing of its own.
    beta0, xi : float
        For the schedule "oadmm"; by default as in OADMM.
    theta : float, optional
        The step size is ``1 / (theta (L_f + |A|^2/mu))``; by default theta = 1, and 1.01 for the schedule "oadmm".

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.solvers import SPGMEP
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, SPGMEP(schedule="oadmm"), stop=Iterations(50)).iterations
    50
    """

    name: ClassVar[str] = "spgm-ep"
    summary: ClassVar[str] = "projected gradient steps on a smoothed objective"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave"}))

    mu0: float | None = None
    p: float = 1 / 3
    schedule: Literal["power", "oadmm"] = "power"
    beta0: float | None = None
    xi: float = 0.5
    theta: float = DERIVED

    def __post_init__(self) -> None:
        derive(self, theta=lambda: 1.01 if self.schedule == "oadmm" else 1.0)
        self._smoothing.check()
        require(self.theta > 0, f"theta must be positive; given {self.theta}.")

    @property
    def _smoothing(self) -> Smoothing:
        return Smoothing(self.schedule, self.mu0, self.p, self.beta0, self.xi)

    def for_problem(self, problem: Problem) -> Self:
        if self.schedule == "oadmm" and self.beta0 is None:
            return replace(self, beta0=oadmm_penalty(problem))
        W = problem.h.weak_convexity
        if self.schedule == "power" and self.mu0 is None and W > 0:
            return replace(self, mu0=0.5 / W)
        return self

    def init(self, problem: Problem, X0: Array) -> SPGMEPState:
        now, L = problem.at(X0), lipschitz_near(problem, X0)
        return SPGMEPState(t=0, now=now, mu0=self._smoothing.first(problem, now.AX, self.name), L=L)

    def step(self, problem: Problem, state: SPGMEPState) -> SPGMEPState:
        f, X = problem.f, state.now.X
        mu = self._smoothing.at(state.mu0, state.t)
        G = objective_gradient(problem, state.now, envelope_gradient(problem.h, state.now.AX, mu))

        def move(L: Scalar) -> Array:
            return problem.M.project(X - G / (self.theta * (L + problem.A.norm**2 / mu)))

        known = f.lipschitz is not None
        X_new, L = (move(state.L), state.L) if known else backtrack_lipschitz(f, X, move, state.L)
        return SPGMEPState(t=state.t + 1, now=problem.at(X_new), mu0=state.mu0, L=L)

    def point(self, state: SPGMEPState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: SPGMEPState) -> Certificate:
        return prox_certificate(problem, state.now, self._smoothing.at(state.mu0, state.t))
