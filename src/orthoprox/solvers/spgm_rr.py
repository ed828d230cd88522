"""SPGM-RR: Riemannian gradient descent on a smoothed objective, with backtracking.

A. Beck, I. Rosset, "A dynamic smoothing technique for a class of nonsmooth optimization problems on manifolds",
SIAM J. Optim. 33, 2023.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from orthoprox._fields import replace, require
from orthoprox._linalg import inner, norm
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.manifolds.stiefel import Retraction
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.solvers._curvature import lipschitz_near
from orthoprox.solvers._curve import Curve
from orthoprox.solvers._points import select
from orthoprox.solvers._smoothing import Smoothing, oadmm_penalty, objective_near, prox_certificate
from orthoprox.solvers._units import unit

LENGTHS = ("backtracking", "fixed")
MOST_HALVINGS = 12
"""After this many refusals a line search leaves X where it is."""
MOST_CARRIED = 3
"""The most halvings of one line search that the next one starts with."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SPGMRRState:
    """The state of SPGM-RR: a point, the first smoothing, and the next step size to try."""

    t: int
    now: Point
    mu0: Scalar
    eta: Scalar
    """The step size at which the next line search starts; for fixed ones, their limit as the smoothing grows."""
    calm: int
    """Iterations in a row that accepted the first step size, since it last changed."""
    trials: int
    """Trials in the last line search."""


@dataclass(frozen=True, kw_only=True)
class SPGMRR(Solver[SPGMRRState]):
    """A Riemannian gradient step on ``f - g + h_mu(A(X))``, its size halved until it fits; mu shrinks.

    The theory is for a convex h and no g. The gradient linearises g; the line search uses g itself.

    Parameters
    ----------
    mu0 : float, optional
        The first smoothing. By default a tenth of the median magnitude in A(X0), divided by the slope of h; at most
        1/(2 W_h).
    p : float
        The smoothing is ``mu0 k^-p`` in iteration k = 1, 2, ...
    schedule : {"power", "oadmm"}
        With "oadmm" the smoothing is ``1/beta`` with OADMM's growing penalty ``beta0 (1 + xi t^p)``, t = 0, 1, ...
    beta0, xi : float
        For the schedule "oadmm"; by default as in OADMM.
    length : {"backtracking", "fixed"}
        The fixed step size is ``1 / (a + |A|^2/mu)`` with ``a = L_f + (sqrt(r + 1) + 1/2) (C_h |A| + C_f)``, where C_f
        bounds the gradient of f - g on the manifold. It needs no search, but is far smaller than what a search finds.
    eta0 : float
        The first step size that backtracking tries, in units of the problem.
    grow_after : int, optional
        After this many iterations in a row without a halving the step size doubles. None is the published rule, under
        which step sizes only shrink.
    retraction : {"polar", "qr"}
    refresh : int
        The line search carries products with the data along; every this many iterations they are recomputed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.solvers import SPGMRR
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, SPGMRR(mu0=0.1), stop=Iterations(50)).iterations
    50
    """

    name: ClassVar[str] = "spgm-rr"
    summary: ClassVar[str] = "Riemannian gradient steps on a smoothed objective, with backtracking"
    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave", "weakly_convex"}))

    mu0: float | None = None
    p: float = 1 / 3
    schedule: Literal["power", "oadmm"] = "power"
    beta0: float | None = None
    xi: float = 0.5
    length: Literal["backtracking", "fixed"] = "backtracking"
    eta0: float = 1.0
    grow_after: int | None = 5
    retraction: Retraction = "polar"
    refresh: int = 50

    def __post_init__(self) -> None:
        self._smoothing.check()
        require(self.length in LENGTHS, f"length must be one of {LENGTHS}; given {self.length!r}.")
        require(
            self.length == "backtracking" or self.retraction == "polar",
            f"length = 'fixed' rests on a bound for retraction = 'polar'; given {self.retraction!r}.",
        )
        require(self.eta0 > 0, f"eta0 must be positive; given {self.eta0}.")
        require(
            self.grow_after is None or self.grow_after >= 1,
            f"grow_after must be at least 1, or None; given {self.grow_after}.",
        )
        require(self.retraction in ("polar", "qr"), f"retraction must be 'polar' or 'qr'; given {self.retraction!r}.")
        require(self.refresh >= 1, f"refresh must be at least 1; given {self.refresh}.")

    @property
    def _smoothing(self) -> Smoothing:
        return Smoothing(self.schedule, self.mu0, self.p, self.beta0, self.xi)

    def for_problem(self, problem: Problem) -> Self:
        if self.length == "fixed" and problem.f.lipschitz is None:
            raise UnsupportedProblem(
                f"{self.name} with length='fixed' needs an f whose gradient has a known Lipschitz constant; given "
                f"{type(problem.f).__name__} without one. Give it, or use length='backtracking'."
            )
        if self.schedule == "oadmm" and self.beta0 is None:
            return replace(self, beta0=oadmm_penalty(problem))
        return self

    def init(self, problem: Problem, X0: Array) -> SPGMRRState:
        now = problem.at(X0)
        mu0 = self._smoothing.first(problem, now.AX, self.name)
        if self.length == "backtracking":
            eta = self.eta0 / unit(problem, lipschitz_near(problem, X0))
        else:
            eta = 1 / (_curvature(problem, now) or 1.0)
        return SPGMRRState(t=0, now=now, mu0=mu0, eta=eta, calm=0, trials=0)

    def step(self, problem: Problem, state: SPGMRRState) -> SPGMRRState:
        M, now = problem.M, state.now
        X = now.X
        backend = backend_of(X)
        mu = self._smoothing.at(state.mu0, state.t)
        G, change_at, slack = objective_near(problem, now, mu)
        D = -1.0 * M.tangent(X, G)
        curve = Curve(problem, now, D, self.retraction)  # the one product with the data of this iteration

        def trial(eta: Scalar) -> tuple[Point, Scalar]:
            new = curve.at(eta)
            return new, change_at(new)

        wanted = inner(D, D) / 2

        def refused(run: tuple[Any, ...]) -> Any:
            eta, _, change, trials = run
            return ~(change <= slack - wanted * eta) & (trials <= MOST_HALVINGS)

        def halve(run: tuple[Any, ...]) -> tuple[Any, ...]:
            eta = 0.5 * run[0]
            return eta, *trial(eta), run[3] + 1

        if self.length == "fixed":
            new, _ = trial(1 / (1 / state.eta + problem.A.norm**2 / mu))
            trials = 1
        else:
            first = (state.eta, *trial(state.eta), 1)
            eta, new, change, trials = backend.while_loop(refused, halve, first)
            new = select(change <= slack - wanted * eta, new, now)
        # Products that are carried along drift by rounding.
        fresh = (state.t + 1) % self.refresh != 0
        new = backend.usually(fresh, lambda point: point, lambda point: problem.at(point.X), new)
        eta, calm = (state.eta, state.calm) if self.length == "fixed" else self._next_step_size(state, trials)
        return SPGMRRState(t=state.t + 1, now=new, mu0=state.mu0, eta=eta, calm=calm, trials=trials)

    def _next_step_size(self, state: SPGMRRState, trials: Scalar) -> tuple[Scalar, Scalar]:
        """Some of the halvings stay; after enough searches without one the step size doubles."""
        # min(trials - 1, MOST_CARRIED), written so that a compiled step can do it.
        carried = sum(1.0 * (trials > halvings) for halvings in range(1, MOST_CARRIED + 1))
        calm = (state.calm + 1) * (trials == 1)
        if self.grow_after is None:
            return state.eta * 0.5**carried, calm
        grown = 1.0 * (calm == self.grow_after)
        return state.eta * 0.5**carried * 2.0**grown, calm % self.grow_after

    def point(self, state: SPGMRRState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: SPGMRRState) -> Certificate:
        return prox_certificate(problem, state.now, self._smoothing.at(state.mu0, state.t))


def _curvature(problem: Problem, at: Point) -> float:
    """The a for which ``a + |A|^2/mu`` bounds the second derivative of the smoothed objective along a polar retraction.

    Two points of the manifold are at most ``2 sqrt(r)`` apart, so one gradient bounds all of them.
    """
    r, L = problem.M.r, problem.f.lipschitz
    if L is None:
        raise ValueError("A fixed length needs the Lipschitz constant of grad f.")
    G = problem.f.gradient_at(at.X, at.HX) - problem.g.subgradient(at.X)
    C_f, C_h = float(norm(G)) + 2 * math.sqrt(r) * L, problem.h.lipschitz_constant(problem.shape)
    return L + (math.sqrt(r + 1) + 0.5) * (C_h * problem.A.norm + C_f)
