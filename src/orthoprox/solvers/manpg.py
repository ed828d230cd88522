"""ManPG and ManPG-Ada: proximal gradient steps in the tangent space.

S. Chen, S. Ma, A. Man-Cho So, T. Zhang, "Proximal Gradient Method for Nonsmooth Optimization over the
Stiefel Manifold", SIAM J. Optim. 30, 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, Self, TypeVar

from array_api_compat import array_namespace

from orthoprox._fields import replace, require
from orthoprox._linalg import norm
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.maps import Identity
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.solvers._curvature import local_lipschitz
from orthoprox.solvers._dual import dual_tangent_step
from orthoprox.solvers._newton import TangentStep, knows_derivative, tangent_step

_SCOPE = Scope(unproved=frozenset({"concave", "weakly_convex", "any_map"}))
# How far |E|^2, the tangency of V, is brought down: to the smaller of a number and a share of |V|^2. The second
# pair is for when a line search has failed, which near a solution means that V was not accurate enough.
_LOOSE, _TIGHT = (1e-11, 1e-3), (1e-14, 1e-5)
# The same for the duality gap: to the larger of a number and a share of |V|^2 / length. With a share of a tenth the
# objective falls along V at the rate 0.55 |V|^2 / length at least, which is more than any delta asks for.
_LOOSE_GAP, _TIGHT_GAP = (1e-12, 0.1), (1e-15, 1e-3)
_INNER = ("newton", "dual")


@dataclass(frozen=True, kw_only=True, eq=False)
class ManPGState:
    """Where the method is, with the step V that leads on from there."""

    t: int
    now: Point
    V: Array
    multiplier: Array
    """The multiplier of V's tangency, or for the dual inner solver z; the next subproblem starts from it."""
    y: Array
    """Where h's prox left A(X + V)."""
    length: float
    """The length with which V was made, the t of the paper."""
    length0: float
    alpha: float
    """The fraction of the last V that was taken."""
    failures: int
    """How many line searches were given up."""
    inner: int
    """How many inner steps V took."""


@dataclass(frozen=True, kw_only=True)
class ManPG(Solver[ManPGState]):
    """Proximal gradient in the tangent space: a semismooth Newton method finds V, a line search retracts along it.

    V minimises ``<grad f(X), V> + |V|^2 / (2 length) + h(A(X + V))`` over the tangent space. Zeros are exact in
    A(X + V), which is the certificate's y; the retraction fills them with small numbers. With g, its
    linearisation at X is part of the gradient, and the line search looks at the true g.

    Parameters
    ----------
    inner : {"newton", "dual"}
        How V is found. Newton's method needs A = I or A A' = c I, and an h whose prox has a known derivative. The
        dual one takes any A and any convex h, and solves only as accurately as the line search needs.
    length : float, optional
        The length in the subproblem; 1 / L_f by default, and at most 1 / (2 W_h |A|^2).
    delta : float
        The decrease asked for is ``delta alpha |V|^2 / length``; in (0, 1/2].
    gamma : float
        The factor by which a refused alpha shrinks, in (0, 1).
    floor : float
        An alpha below this is taken as it is, and the following subproblem is solved more accurately.
    refresh : int
        Products with the data are carried along the search and recomputed every this many iterations.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Critical, Iterations, solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), "manpg", stop=Iterations(2000) | Critical(1e-6))
    >>> result.converged
    True
    """

    name: ClassVar[str] = "manpg"
    summary: ClassVar[str] = "proximal gradient in the tangent space, by semismooth Newton"
    complexity: ClassVar[str] = "O(eps^-2)"
    scope: ClassVar[Scope] = _SCOPE
    compilable: ClassVar[bool] = False

    inner: Literal["newton", "dual"] = "newton"
    length: float | None = None
    delta: float = 0.5
    gamma: float = 0.5
    floor: float = 1e-4
    refresh: int = 50

    def __post_init__(self) -> None:
        _check(self)

    def for_problem(self, problem: Problem) -> Self:
        return _settled(self, problem)

    def init(self, problem: Problem, X0: Array) -> ManPGState:
        return _first(self, problem, X0)

    def step(self, problem: Problem, state: ManPGState) -> ManPGState:
        new, alpha = _searched(self, problem, state)
        return _moved(self, problem, state, new, alpha, state.length)

    def point(self, state: ManPGState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: ManPGState) -> Certificate:
        return _certificate(self, problem, state)


@dataclass(frozen=True, kw_only=True)
class ManPGAda(Solver[ManPGState]):
    """ManPG whose length grows while line searches accept at once, and shrinks when they do not.

    Parameters
    ----------
    inner, length, delta, gamma, floor, refresh
        As in ManPG; ``length`` is the first length, below which it never falls.
    growth : float
        The factor by which the length changes; above 1.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Critical, Iterations, solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, "manpg-ada", stop=Iterations(2000) | Critical(1e-6)).converged
    True
    """

    name: ClassVar[str] = "manpg-ada"
    summary: ClassVar[str] = "ManPG with a length that adapts"
    complexity: ClassVar[str] = "O(eps^-2)"
    scope: ClassVar[Scope] = _SCOPE
    compilable: ClassVar[bool] = False

    inner: Literal["newton", "dual"] = "newton"
    length: float | None = None
    delta: float = 0.5
    gamma: float = 0.5
    floor: float = 1e-4
    refresh: int = 50
    growth: float = 1.01

    def __post_init__(self) -> None:
        _check(self)
        require(self.growth > 1, f"growth must be above 1; given {self.growth}.")

    def for_problem(self, problem: Problem) -> Self:
        return _settled(self, problem)

    def init(self, problem: Problem, X0: Array) -> ManPGState:
        return _first(self, problem, X0)

    def step(self, problem: Problem, state: ManPGState) -> ManPGState:
        new, alpha = _searched(self, problem, state)
        if alpha == 1:
            length = min(self.growth * state.length, max(state.length0, _longest(problem)))
        else:
            length = max(state.length0, state.length / self.growth)
        return _moved(self, problem, state, new, alpha, length)

    def point(self, state: ManPGState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: ManPGState) -> Certificate:
        return _certificate(self, problem, state)


Either = TypeVar("Either", bound=ManPG | ManPGAda)


def _searched(solver: ManPG | ManPGAda, problem: Problem, state: ManPGState) -> tuple[Point, float]:
    """The point along V where the objective has decreased enough, and the fraction of V it took."""
    M, A, f, g, h = problem.M, problem.A, problem.f, problem.g, problem.h
    now, V = state.now, state.V
    X = now.X
    HV = f.product(V)  # the one product with the data of this iteration
    AV = A(V) if A.left and not isinstance(A, Identity) else None
    g_now, h_now = g.value(X), h.value(now.AX)

    def trial(alpha: float) -> tuple[Point, Scalar]:
        X_new, S = M.retraction(X, alpha * V)
        HX = None if HV is None else (now.HX + alpha * HV) @ S
        AX = A(X_new) if AV is None else (now.AX + alpha * AV) @ S
        new = Point(X_new, HX, AX)
        change = f.change(X, now.HX, X_new, HX) - (g.value(X_new) - g_now) + (h.value(AX) - h_now)
        return new, change

    wanted = solver.delta / state.length * float(norm(V)) ** 2
    xp = array_namespace(X)
    size = xp.abs(f.value_at(X, now.HX)) + xp.abs(g_now) + xp.abs(h_now)
    slack = 16.0 * backend_of(X).eps(X) * float(size)  # without it a search at a stationary point never ends
    alpha = 1.0
    new, change = trial(alpha)
    while not float(change) <= slack - alpha * wanted and alpha >= solver.floor:
        alpha = solver.gamma * alpha
        new, change = trial(alpha)
    # What was carried along drifts by rounding: from time to time it is computed afresh.
    return (problem.at(new.X) if (state.t + 1) % solver.refresh == 0 else new), alpha


def _moved(
    solver: ManPG | ManPGAda, problem: Problem, state: ManPGState, new: Point, alpha: float, length: float
) -> ManPGState:
    """The state at a new point, where the subproblem is solved from the last multiplier."""
    failed = alpha < solver.floor
    failures = state.failures + failed
    found = _subproblem(solver, problem, new, length, state.multiplier, tight=failed or failures > 10)
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


def _subproblem(
    solver: ManPG | ManPGAda, problem: Problem, at: Point, length: float, multiplier: Array, *, tight: bool
) -> TangentStep:
    """V at a point, by the chosen inner solver."""
    G = _gradient(problem, at)
    if solver.inner == "dual":
        least, share = _TIGHT_GAP if tight else _LOOSE_GAP
        return dual_tangent_step(problem, at, G, length, multiplier, least=least, share=share)
    largest, share = _TIGHT if tight else _LOOSE
    return tangent_step(problem.h, at.X, G, length, multiplier, largest=largest, share=share, A=problem.A)


def _first(solver: ManPG | ManPGAda, problem: Problem, X0: Array) -> ManPGState:
    now = problem.at(X0)
    length, h, W = solver.length, problem.h, _weak_convexity(problem)
    if length is None:
        L = problem.f.lipschitz
        if L is None:
            L = local_lipschitz(problem, X0)
        L = L or h.lipschitz_constant(problem.shape) * problem.A.norm / math.sqrt(problem.M.r)
        length = min(1 / (L or float(norm(_gradient(problem, now))) or 1.0), _longest(problem))
    require(
        length * W < 1,
        f"length must be below 1 / (W_h |A|^2) = {1 / W if W else math.inf:.6g} for this problem, so that the "
        f"subproblem is convex; given {length}.",
    )
    nothing = 0.0 * (now.AX if solver.inner == "dual" else now.X.T @ now.X)
    found = _subproblem(solver, problem, now, length, nothing, tight=False)
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


def _certificate(solver: ManPG | ManPGAda, problem: Problem, state: ManPGState) -> Certificate:
    """At y, which the prox made, z is a subgradient of h."""
    if solver.inner == "dual":
        return Certificate(state.now, state.y, state.multiplier)
    A, AX, s = problem.A, state.now.AX, state.length
    W = AX + s * (2.0 * (AX @ state.multiplier) - A(_gradient(problem, state.now)))
    return Certificate(state.now, state.y, (W - state.y) / (s * (A.tightness or 1.0)))


def _gradient(problem: Problem, point: Point) -> Array:
    return problem.f.gradient_at(point.X, point.HX) - problem.g.subgradient(point.X)


def _weak_convexity(problem: Problem) -> float:
    """That of h(A(.))."""
    return problem.h.weak_convexity * problem.A.norm**2


def _longest(problem: Problem) -> float:
    """The length up to which the prox of h(A(.)) is well conditioned."""
    W = _weak_convexity(problem)
    return 0.5 / W if W > 0 else math.inf


def _settled(solver: Either, problem: Problem) -> Either:
    _admit(solver, problem)
    if solver.length is not None or not problem.f.lipschitz:
        return solver
    return replace(solver, length=min(1 / problem.f.lipschitz, _longest(problem)))


def _admit(solver: ManPG | ManPGAda, problem: Problem) -> None:
    """Refuse a problem that the chosen inner solver cannot take."""
    A, h, kind = problem.A, problem.h, type(problem.h).__name__
    if solver.inner == "dual":
        if h.weak_convexity > 0:
            raise UnsupportedProblem(
                f"{solver.name} with inner='dual' needs a convex h; given {kind}, which is only weakly convex. "
                "Choose another solver."
            )
    elif not A.left or A.tightness is None:
        raise UnsupportedProblem(
            f"{solver.name} needs A = I or A A^T = c I; given {A!r}. "
            "Pass inner='dual' to use the inexact dual solver, or choose another solver."
        )
    elif not knows_derivative(h):
        raise UnsupportedProblem(
            f"{solver.name} needs an h whose prox has a known derivative (one that acts entry by entry, or GroupL2); "
            f"given {kind}. Pass inner='dual' to use the inexact dual solver, or choose another solver."
        )


def _check(solver: ManPG | ManPGAda) -> None:
    s = solver
    require(s.inner in _INNER, f"inner must be one of {_INNER}; given {s.inner!r}.")
    require(s.length is None or s.length > 0, f"length must be positive; given {s.length}.")
    require(0 < s.delta <= 0.5, f"delta must lie in (0, 1/2]; given {s.delta}.")
    require(0 < s.gamma < 1, f"gamma must lie in (0, 1); given {s.gamma}.")
    require(0 <= s.floor < 1, f"floor must lie in [0, 1); given {s.floor}.")
    require(s.refresh >= 1, f"refresh must be at least 1; given {s.refresh}.")
