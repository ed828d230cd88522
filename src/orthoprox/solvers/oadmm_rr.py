"""OADMM-RR: ADMM with a line search on the manifold (Algorithm 1).

G. Yuan, "ADMM for Nonsmooth Composite Optimization under Orthogonality Constraints", arXiv 2405.15129.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._linalg import inner, rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.manifolds.stiefel import Retraction, Stiefel
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._augmented import lagrangian_change, prox_point, smooth_part, smooth_part_gradient
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._curve import Curve
from orthoprox.solvers._linesearch import backtrack, barzilai_borwein
from orthoprox.solvers._points import select
from orthoprox.solvers._schedules import PenaltyRule, default_penalty, default_smoothing
from orthoprox.terms.envelope import envelope_prox


@dataclass(frozen=True, kw_only=True, eq=False)
class OADMMRRState:
    """The state of OADMM-RR; the last X and Riemannian gradient are for Barzilai-Borwein step sizes."""

    t: int
    now: Point
    y: Array
    z: Array
    X_prev: Array | None
    G_prev: Array | None
    trials: int
    """Trials in the last line search."""


@dataclass(frozen=True, kw_only=True)
class OADMMRR(Solver[OADMMRRState]):
    """ADMM with Riemannian retraction, Armijo line search and over-relaxed multipliers.

    Parameters
    ----------
    beta0, p, xi, sigma, tau, strict_theory
        As in OADMM-EP.
    rho : float
        The direction is G_rho, tangent for every positive rho; 1/2 is the projected gradient.
    gamma : float
        The factor by which a refused step size shrinks, in (0, 1).
    delta : float
        The fraction of the predicted decrease that is asked for, in (0, 1 / max(1, 2 rho)).
    length : {"fixed", "bb-long", "bb-short"}
        The first step size tried is ``b / beta``: b = 1, or beta times a Barzilai-Borwein quotient.
    b_range : tuple of float
        The interval to which a Barzilai-Borwein b is clipped.
    retraction : {"polar", "qr"}
    refresh : int
        The line search carries products with the data along; every this many iterations they are recomputed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, named("oadmm-rr", length="bb-long"), stop=Iterations(50)).iterations
    50
    """

    name: ClassVar[str] = "oadmm-rr"
    summary: ClassVar[str] = "ADMM with a line search along a retraction"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope()

    beta0: float = DERIVED
    p: float = 1 / 3
    xi: float = 0.5
    sigma: float = 1.1
    tau: float = DERIVED
    rho: float = 1.0
    gamma: float = 0.5
    delta: float = 1e-3
    length: Literal["fixed", "bb-long", "bb-short"] = "fixed"
    b_range: tuple[float, float] = (1e-3, 1e3)
    retraction: Retraction = "polar"
    refresh: int = 50
    strict_theory: bool = True

    def __post_init__(self) -> None:
        derive(self, tau=lambda: default_smoothing(self.sigma))
        self._penalty.check()
        require(self.rho > 0, f"rho must be positive; given {self.rho}.")
        require(0 < self.gamma < 1, f"gamma must lie in (0, 1); given {self.gamma}.")
        most = 1 / max(1, 2 * self.rho)
        require(
            0 < self.delta < most,
            f"delta must lie in (0, 1/max(1, 2 rho)) = (0, {most:.6g}); given {self.delta}.",
        )
        lengths = ("fixed", "bb-long", "bb-short")
        require(self.length in lengths, f"length must be one of {lengths}; given {self.length!r}.")
        require(
            0 < self.b_range[0] <= self.b_range[1],
            f"b_range must be two positive numbers in order; given {self.b_range}.",
        )
        require(self.retraction in ("polar", "qr"), f"retraction must be 'polar' or 'qr'; given {self.retraction!r}.")
        require(self.refresh >= 1, f"refresh must be at least 1; given {self.refresh}.")

    @property
    def _penalty(self) -> PenaltyRule:
        return PenaltyRule(self.beta0, self.p, self.xi, self.sigma, self.tau, self.strict_theory)

    def for_problem(self, problem: Problem) -> Self:
        if self.beta0 is not None:
            return self
        return replace(self, beta0=default_penalty(problem, self.tau))

    def init(self, problem: Problem, X0: Array) -> OADMMRRState:
        self._penalty.check_for(problem, self.name)
        now = problem.at(X0)
        # The first step has no predecessor and so no difference to divide by: it starts with b = 1.
        X_prev, G_prev = (None, None) if self.length == "fixed" else (X0, 0.0 * X0)
        return OADMMRRState(t=0, now=now, y=now.AX, z=0.0 * now.AX, X_prev=X_prev, G_prev=G_prev, trials=0)

    def step(self, problem: Problem, state: OADMMRRState) -> OADMMRRState:
        M, g, h = problem.M, problem.g, problem.h
        now, y, z = state.now, state.y, state.z
        X = now.X
        xp, backend = array_namespace(X), backend_of(X)

        # S1: the penalty grows, the smoothing shrinks
        beta = self._penalty.at(state.t)
        mu = self.tau / beta

        # S2: a line search along a tangent direction, until the Lagrangian decreases enough
        G = smooth_part_gradient(problem, now, y, z, beta) - g.subgradient(X)
        D = -1.0 * M.direction(X, G, self.rho)
        G_1, b = self._first_step_size(M, state, G, beta)
        curve = Curve(problem, now, D, self.retraction)  # the one product with the data of this iteration

        def trial(eta: Scalar) -> tuple[Point, Scalar]:
            new = curve.at(eta)
            return new, lagrangian_change(problem, now, new, y, z, beta)

        size = xp.abs(smooth_part(problem, now, y, z, beta)) + xp.abs(g.value(X)) + 1e-300
        slack = rounding(X, size)
        _, new, trials, accepted = backtrack(trial, b / beta, self.gamma, self.delta * inner(D, D), slack)
        new = select(accepted, new, now)
        # Products that are carried along drift by rounding.
        fresh = (state.t + 1) % self.refresh != 0
        new = backend.usually(fresh, lambda point: point, lambda point: problem.at(point.X), new)

        # S3 and S4: minimise the smoothed h; over-relaxed dual ascent
        y_new = envelope_prox(h, new.AX + z / beta, mu, beta)[0]
        z_new = z + self.sigma * beta * (new.AX - y_new)

        X_prev = None if G_1 is None else X
        return OADMMRRState(t=state.t + 1, now=new, y=y_new, z=z_new, X_prev=X_prev, G_prev=G_1, trials=trials)

    def _first_step_size(self, M: Stiefel, state: OADMMRRState, G: Array, beta: Scalar) -> tuple[Array | None, Scalar]:
        """The Riemannian gradient to remember, and b: 1, or beta times the quotient, which has units of 1/beta."""
        if self.length == "fixed":
            return None, 1.0
        xp = array_namespace(G)
        G_1 = M.direction(state.now.X, G, 1.0)
        quotient = barzilai_borwein(state.now.X - state.X_prev, G_1 - state.G_prev, self.length == "bb-short")
        b = xp.clip(beta * quotient, *self.b_range)
        return G_1, xp.where(quotient > 0, b, xp.ones_like(b))

    def point(self, state: OADMMRRState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: OADMMRRState) -> Certificate:
        return Certificate(state.now, prox_point(problem, state.y, self._penalty, state.t), state.z)
