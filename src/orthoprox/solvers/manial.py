"""ManIAL: an inexact augmented Lagrangian method on the manifold, with Riemannian gradient steps inside.

K. Deng, J. Hu, J. Wu, Z. Wen, "Oracle complexities of augmented Lagrangian methods for nonsmooth manifold
optimization", arXiv 2404.05121, 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._curvature import lipschitz_near
from orthoprox.solvers._rgbb import (
    FIRST_STEP_SIZE,
    PenaltyFunction,
    matching_penalty,
    rgbb,
    slope_of_g,
    slope_penalty,
)
from orthoprox.solvers._units import unit

_INNER = ("tolerance", "doubling")
_DUAL_STEPS = ("classical", "damped")


@dataclass(frozen=True, kw_only=True, eq=False)
class ManIALState:
    """The state of ManIAL. The Lagrangian has -<Z, A(X) - Y>, so -Z is the multiplier of the other methods."""

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
    """The step size at which the next X-step starts."""
    inner: int
    """Inner steps so far."""


@dataclass(frozen=True, kw_only=True)
class ManIAL(Solver[ManIALState]):
    """An inexact augmented Lagrangian method on the manifold.

    The X-step minimises ``f(X) + h(Y) + nu/2 |A(X) - Z/nu - Y|^2``, with Y eliminated by its prox, by Riemannian
    gradient steps of Barzilai-Borwein size. A g is replaced by its linearisation at the last point: an extension.

    Parameters
    ----------
    inner : {"tolerance", "doubling"}
        How accurate the k-th X-step is. Option I of the paper ends it at a gradient of ``2^-k``, option II after
        ``2^k`` steps.
    nu0 : float, optional
        The first penalty; ``L_f / |A|^2`` by default.
    rho : float, optional
        The penalty grows by this factor when the residual shrinks by less than tau, and falls by it when only
        stationarity is missing; 1.8 for option I and 1.5 for option II by default.
    tau : float, optional
        0.8 and 0.7 by default.
    tol : float, optional
        The relative residual that counts as small in that rule; 1e-10 n r by default.
    most_inner : int, optional
        The most inner steps in an iteration; 100 and 1000 by default.
    least_gradient : float
        An X-step ends at a gradient below this, in units of the problem, whatever its tolerance.
    dual_step : {"classical", "damped"}
        The multiplier moves by the penalty times the residual, or by less, as in the analysis.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), named("manial-1"), stop=Iterations(10))
    >>> result.iterations, result.solver.work(result.state) > 10
    (10, True)
    """

    complexity: ClassVar[str] = "O(eps^-3)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave", "weakly_convex"}))
    compilable: ClassVar[bool] = False

    inner: Literal["tolerance", "doubling"] = "tolerance"
    nu0: float | None = None
    rho: float = DERIVED
    tau: float = DERIVED
    tol: float | None = None
    most_inner: int = DERIVED
    least_gradient: float = 1e-6
    dual_step: Literal["classical", "damped"] = "classical"

    def __post_init__(self) -> None:
        require(self.inner in _INNER, f"inner must be one of {_INNER}; given {self.inner!r}.")
        # The authors' experiments have these.
        rho, tau, most_inner = (1.8, 0.8, 100) if self.inner == "tolerance" else (1.5, 0.7, 1000)
        derive(self, rho=lambda: rho, tau=lambda: tau, most_inner=lambda: most_inner)
        require(self.nu0 is None or self.nu0 > 0, f"nu0 must be positive; given {self.nu0}.")
        require(self.rho > 1, f"rho must be above 1; given {self.rho}.")
        require(0 < self.tau < 1, f"tau must lie in (0, 1); given {self.tau}.")
        require(self.tol is None or self.tol > 0, f"tol must be positive; given {self.tol}.")
        require(self.most_inner >= 1, f"most_inner must be at least 1; given {self.most_inner}.")
        require(self.least_gradient >= 0, f"least_gradient must not be negative; given {self.least_gradient}.")
        require(self.dual_step in _DUAL_STEPS, f"dual_step must be 'classical' or 'damped'; given {self.dual_step!r}.")

    @property
    def name(self) -> str:
        return "manial-1" if self.inner == "tolerance" else "manial-2"

    @property
    def summary(self) -> str:
        rule = "tolerance 2^-k" if self.inner == "tolerance" else "2^k of them"
        return f"augmented Lagrangian with Riemannian inner steps, {rule}"

    def for_problem(self, problem: Problem) -> Self:
        self.scope.admit(problem, self.name)
        nu0, tol, L = self.nu0, self.tol, problem.f.lipschitz
        if nu0 is None and L is not None:  # without L_f the penalty is chosen at the first point
            nu0 = matching_penalty(problem, L)
        return replace(self, nu0=nu0, tol=_default_tolerance(problem) if tol is None else tol)

    def init(self, problem: Problem, X0: Array) -> ManIALState:
        L = lipschitz_near(problem, X0)
        nu = matching_penalty(problem, L) if self.nu0 is None else self.nu0
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
            length=FIRST_STEP_SIZE / unit(problem, L),
            inner=0,
        )

    def step(self, problem: Problem, state: ManIALState) -> ManIALState:
        nu, Z = state.nu, state.Z

        # X: its prox eliminates Y, which leaves a smooth function
        merit = PenaltyFunction(problem, slope_of_g(problem, state.now.X), nu, Z / nu)
        tolerance, most = self._inner_limits(state.t + 1)
        found = rgbb(
            merit,
            state.now,
            length=state.length,
            ell=state.L + nu * problem.A.norm**2,
            tolerance=tolerance * unit(problem, state.L),
            most=most,
            done=state.inner,
        )

        # Y and Z
        AX = found.point.AX
        Y = merit.partner(AX)
        gap = float(norm(AX - Y))
        first_gap = gap if state.t == 0 else state.first_gap
        Z_new = Z - self._dual_step_size(state, gap, first_gap) * (AX - Y)

        delta = gap / (1 + float(norm(AX)) + float(norm(Y)))
        return ManIALState(
            t=state.t + 1,
            now=found.point,
            Y=Y,
            Z=Z_new,
            nu=self._next_penalty(problem, state, found.point, Z_new, delta),
            delta=delta,
            first_gap=first_gap,
            L=state.L,
            length=found.length,
            inner=state.inner + found.steps,
        )

    def _inner_limits(self, k: int) -> tuple[float, int]:
        """The gradient and the number of steps at which the k-th X-step ends."""
        if self.inner == "tolerance":
            return max(2.0**-k, self.least_gradient), self.most_inner
        return self.least_gradient, min(2 ** min(k, 62), self.most_inner)

    def _dual_step_size(self, state: ManIALState, gap: float, first_gap: float) -> float:
        """The penalty itself, or a smaller step size, for which the sum of all dual steps is bounded."""
        if self.dual_step == "classical" or gap == 0:
            return state.nu
        k = state.t + 1
        return state.nu * min(1.0, first_gap * math.log(2) ** 2 / (gap * k**2 * math.log(k + 1)))

    def _next_penalty(self, problem: Problem, state: ManIALState, point: Point, Z: Array, delta: float) -> float:
        """Grow when the residual does not shrink; fall when only stationarity is missing."""
        nu0 = matching_penalty(problem, state.L) if self.nu0 is None else self.nu0
        tol = _default_tolerance(problem) if self.tol is None else self.tol
        u = unit(problem, state.L)
        # An h that outweighs f needs a penalty of its own size.
        most = 1000 * max(nu0, slope_penalty(problem.h))
        least = max(min(0.01 * u, nu0), 2 * problem.h.weak_convexity)
        if delta >= tol:
            return min(self.rho * state.nu, most) if delta > self.tau * state.delta else state.nu
        stationary = kkt_residual(problem, point, Z, u) <= 10 * tol
        return state.nu if stationary else max(state.nu / self.rho, least)

    def point(self, state: ManIALState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: ManIALState) -> Certificate:
        return Certificate(state.now, state.Y, -1.0 * state.Z)

    def work(self, state: ManIALState) -> int:
        """One product for each inner step."""
        return state.inner


def _default_tolerance(problem: Problem) -> float:
    return 1e-10 * problem.M.n * problem.M.r


def kkt_residual(problem: Problem, point: Point, Z: Array, u: float = 1.0) -> float:
    """How far (X, Z) is from stationary, relative: the larger of the parts for X and for Y, in a unit u."""
    gradient = problem.f.gradient_at(point.X, point.HX)
    pull = gradient - problem.g.subgradient(point.X) - problem.A.adjoint(Z)
    of_X = norm(problem.M.tangent(point.X, pull)) / (u + norm(gradient))
    s = 1 / max(u, 2 * problem.h.weak_convexity)
    of_Y = norm(point.AX - problem.h.prox(point.AX - s * Z, s)) / (s * u) / (1 + norm(point.AX))
    return max(float(of_X), float(of_Y))
