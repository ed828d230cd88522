"""ManPG and ManPG-Ada: proximal gradient steps in the tangent space.

S. Chen, S. Ma, A. Man-Cho So, T. Zhang, "Proximal Gradient Method for Nonsmooth Optimization over the
Stiefel Manifold", SIAM J. Optim. 30, 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from orthoprox._fields import replace, require
from orthoprox._linalg import norm, rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.solvers._curvature import local_lipschitz
from orthoprox.solvers._curve import Curve
from orthoprox.solvers._dual import dual_tangent_step
from orthoprox.solvers._newton import TangentStep, tangent_step

# The tolerance for |E|^2, the tangency of V: the smaller of a number and a share of |V|^2. The tight pair is for a line
# search that has failed: near a solution that means that V was not accurate enough.
_LOOSE, _TIGHT = (1e-11, 1e-3), (1e-14, 1e-5)
# The tolerance for the duality gap: the larger of a number and a share of |V|^2 / length. With a share of a tenth the
# objective falls along V at a rate of at least 0.55 |V|^2 / length, more than any delta asks for.
_LOOSE_GAP, _TIGHT_GAP = (1e-12, 0.1), (1e-15, 1e-3)
_INNER = ("newton", "dual")
_LONG = 100  # lengths of X: a longer V costs the products that are carried along more than two digits


@dataclass(frozen=True, kw_only=True, eq=False)
class ManPGState:
    """The state of ManPG: a point, and the step V that leads on from there."""

    t: int
    now: Point
    V: Array
    multiplier: Array
    """The multiplier of V's tangency, or z for the dual inner solver; the warm start of the next subproblem."""
    y: Array
    """A(X + V) as h's prox returned it."""
    length: float
    """The step size in the subproblem of V, the t of the paper."""
    length0: float
    alpha: float
    """The fraction of the last V that was taken."""
    failures: int
    """Line searches that failed so far."""
    inner: int
    """Inner steps that V took."""


@dataclass(frozen=True, kw_only=True)
class ManPG(Solver[ManPGState]):
    """Proximal gradient in the tangent space: a semismooth Newton method finds V, a line search retracts along it.

    V minimises ``<grad f(X), V> + |V|^2 / (2 length) + h(A(X + V))`` over the tangent space. Zeros are exact in
    A(X + V), which is the certificate's y; the retraction fills them with small numbers. With g, its
    linearisation at X is part of the gradient, and the line search uses g itself.

    Parameters
    ----------
    inner : {"newton", "dual"}
        How V is found. Newton's method needs A = I or A A' = c I, and an h whose prox has a known derivative. The
        dual one takes any A and any convex h, and solves only as accurately as the line search needs.
    length : float, optional
        The step size in the subproblem; 1 / L_f by default, and at most ``1 / (2 W_h |A|^2)``.
    growth : float
        ManPG-Ada has a growth above 1: the length grows by this factor after a line search that accepts at once, and
        shrinks by it after any other, but never below ``length``.
    delta : float
        The decrease asked for is ``delta alpha |V|^2 / length``; in (0, 1/2].
    gamma : float
        The factor by which a refused alpha shrinks, in (0, 1).
    floor : float
        An alpha below this is taken as it is, and the next subproblem is solved more accurately.
    refresh : int
        The line search carries products with the data along; every this many iterations they are recomputed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Critical, Iterations, solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem, rule = sparse_pca(D, n_components=2, weight=0.1), Iterations(2000) | Critical(1e-6)
    >>> solve(problem, "manpg", stop=rule).converged, solve(problem, "manpg-ada", stop=rule).converged
    (True, True)
    """

    complexity: ClassVar[str] = "O(eps^-2)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave", "weakly_convex", "any_map"}))
    compilable: ClassVar[bool] = False

    inner: Literal["newton", "dual"] = "newton"
    length: float | None = None
    growth: float = 1.0
    delta: float = 0.5
    gamma: float = 0.5
    floor: float = 1e-4
    refresh: int = 50

    def __post_init__(self) -> None:
        require(self.inner in _INNER, f"inner must be one of {_INNER}; given {self.inner!r}.")
        require(self.length is None or self.length > 0, f"length must be positive; given {self.length}.")
        require(self.growth >= 1, f"growth must be at least 1; given {self.growth}.")
        require(0 < self.delta <= 0.5, f"delta must lie in (0, 1/2]; given {self.delta}.")
        require(0 < self.gamma < 1, f"gamma must lie in (0, 1); given {self.gamma}.")
        require(0 <= self.floor < 1, f"floor must lie in [0, 1); given {self.floor}.")
        require(self.refresh >= 1, f"refresh must be at least 1; given {self.refresh}.")

    @property
    def name(self) -> str:
        return "manpg" if self.growth == 1 else "manpg-ada"

    @property
    def summary(self) -> str:
        if self.growth == 1:
            return "proximal gradient in the tangent space, by semismooth Newton"
        return "ManPG with an adaptive length"

    def for_problem(self, problem: Problem) -> Self:
        self._admit(problem)
        L = problem.f.lipschitz
        if self.length is not None or not L:
            return self
        return replace(self, length=min(1 / L, _longest(problem)))

    def _admit(self, problem: Problem) -> None:
        """Refuse a problem that the inner solver cannot take."""
        A, h, kind = problem.A, problem.h, type(problem.h).__name__
        if self.inner == "dual":
            if h.weak_convexity > 0:
                raise UnsupportedProblem(
                    f"{self.name} with inner='dual' needs a convex h; given {kind}, which is only weakly convex. "
                    "Choose another solver."
                )
        elif not A.left or A.tightness is None:
            raise UnsupportedProblem(
                f"{self.name} needs A = I or A A^T = c I; given {A!r}. "
                "Pass inner='dual' to use the inexact dual solver, or choose another solver."
            )
        elif not h.has_prox_derivative:
            raise UnsupportedProblem(
                f"{self.name} needs an h whose prox has a known derivative (one that acts entry by entry, or GroupL2); "
                f"given {kind}. Pass inner='dual' to use the inexact dual solver, or choose another solver."
            )

    def init(self, problem: Problem, X0: Array) -> ManPGState:
        now, length, W = problem.at(X0), self.length, _weak_convexity(problem)
        if length is None:
            length = _default_length(problem, now)
        require(
            length * W < 1,
            f"length must be below 1 / (W_h |A|^2) = {1 / W if W else math.inf:.6g} for this problem, so that the "
            f"subproblem is convex; given {length}.",
        )
        cold = 0.0 * (now.AX if self.inner == "dual" else now.X.T @ now.X)
        found = self._solve_subproblem(problem, now, length, cold, tight=False)
        return ManPGState(
            t=0,
            now=now,
            V=found.V,
            multiplier=found.multiplier,
            y=found.y,
            length=length,
            length0=length,
            alpha=1.0,
            failures=0,
            inner=found.steps,
        )

    def step(self, problem: Problem, state: ManPGState) -> ManPGState:
        new, alpha = self._search(problem, state)
        length = self._next_length(problem, state, alpha)
        failed = alpha < self.floor
        failures = state.failures + failed
        found = self._solve_subproblem(problem, new, length, state.multiplier, tight=failed or failures > 10)
        return ManPGState(
            t=state.t + 1,
            now=new,
            V=found.V,
            multiplier=found.multiplier,
            y=found.y,
            length=length,
            length0=state.length0,
            alpha=alpha,
            failures=failures,
            inner=found.steps,
        )

    def _search(self, problem: Problem, state: ManPGState) -> tuple[Point, float]:
        """The point along V where the objective has decreased enough, and the fraction of V it took."""
        f, g, h = problem.f, problem.g, problem.h
        now, V = state.now, state.V
        X = now.X
        # the one product with the data of this iteration
        curve = Curve(problem, now, V, carry=_keeps_products(X, V))
        g_now, h_now = g.value(X), h.value(now.AX)

        def trial(alpha: float) -> tuple[Point, Scalar]:
            new = curve.at(alpha)
            smooth = f.change(X, now.HX, new.X, new.HX) - (g.value(new.X) - g_now)
            return new, smooth + (h.value(new.AX) - h_now)

        wanted = self.delta / state.length * float(norm(V)) ** 2
        xp = array_namespace(X)
        size = xp.abs(f.value_at(X, now.HX)) + xp.abs(g_now) + xp.abs(h_now)
        slack = rounding(X, float(size))  # without it a search at a stationary point never ends
        alpha = 1.0
        new, change = trial(alpha)
        while not float(change) <= slack - alpha * wanted and alpha >= self.floor:
            alpha = self.gamma * alpha
            new, change = trial(alpha)
        # Products that are carried along drift by rounding.
        return (problem.at(new.X) if (state.t + 1) % self.refresh == 0 else new), alpha

    def _next_length(self, problem: Problem, state: ManPGState, alpha: float) -> float:
        if alpha == 1:
            return min(self.growth * state.length, max(state.length0, _longest(problem)))
        return max(state.length0, state.length / self.growth)

    def _solve_subproblem(
        self, problem: Problem, at: Point, length: float, multiplier: Array, *, tight: bool
    ) -> TangentStep:
        G = _gradient(problem, at)
        if self.inner == "dual":
            least, share = _TIGHT_GAP if tight else _LOOSE_GAP
            return dual_tangent_step(problem, at, G, length, multiplier, least=least, share=share)
        largest, share = _TIGHT if tight else _LOOSE
        return tangent_step(problem.h, at.X, G, length, multiplier, largest=largest, share=share, A=problem.A)

    def point(self, state: ManPGState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: ManPGState) -> Certificate:
        """At y, which the prox returned, z is a subgradient of h."""
        if self.inner == "dual":
            return Certificate(state.now, state.y, state.multiplier)
        A, AX, s = problem.A, state.now.AX, state.length
        W = AX + s * (2.0 * (AX @ state.multiplier) - A(_gradient(problem, state.now)))
        return Certificate(state.now, state.y, (W - state.y) / (s * (A.tightness or 1.0)))


def _keeps_products(X: Array, V: Array) -> bool:
    """Whether V is so nearly tangent that X + V is no shorter than X anywhere, and not so long that digits are lost.

    An inner method that ends at its last step may return anything, -X for example.
    """
    XtV = X.T @ V
    return float(norm(XtV + XtV.T)) <= 0.5 and float(norm(V)) <= _LONG * math.sqrt(X.shape[1])


def _gradient(problem: Problem, point: Point) -> Array:
    return problem.f.gradient_at(point.X, point.HX) - problem.g.subgradient(point.X)


def _weak_convexity(problem: Problem) -> float:
    """That of h(A(.))."""
    return problem.h.weak_convexity * problem.A.norm**2


def _longest(problem: Problem) -> float:
    """The length up to which the prox of h(A(.)) is well conditioned."""
    W = _weak_convexity(problem)
    return 0.5 / W if W > 0 else math.inf


def _default_length(problem: Problem, at: Point) -> float:
    """1 / L_f; without L_f by a local estimate, and without curvature by the slope of h or the gradient."""
    L = problem.f.lipschitz
    if L is None:
        L = local_lipschitz(problem, at.X)
    L = L or problem.h.lipschitz_constant(problem.shape) * problem.A.norm / math.sqrt(problem.M.r)
    return min(1 / (L or float(norm(_gradient(problem, at))) or 1.0), _longest(problem))
