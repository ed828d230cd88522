"""ManPG and ManPG-Ada: proximal gradient steps in the tangent space.

S. Chen, S. Ma, A. Man-Cho So, T. Zhang, "Proximal Gradient Method for Nonsmooth Optimization over the
Stiefel Manifold", SIAM J. Optim. 30, 2020.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self, TypeVar

from array_api_compat import array_namespace

from orthoprox._fields import replace, require
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.solvers._curvature import local_lipschitz
from orthoprox.solvers._newton import knows_derivative, tangent_step
from orthoprox.terms._base import frobenius

_SCOPE = Scope(any_map=False, unproved=frozenset({"concave", "weakly_convex"}))
# How far |E|^2, the tangency of V, is brought down: to the smaller of a number and a share of |V|^2. The second
# pair is for when a line search has failed, which near a solution means that V was not accurate enough.
_LOOSE, _TIGHT = (1e-11, 1e-3), (1e-14, 1e-5)


@dataclass(frozen=True, kw_only=True, eq=False)
class ManPGState:
    """Where the method is, with the step V that leads on from there."""

    t: int
    now: Point
    V: Array
    multiplier: Array
    """The multiplier of V's tangency, from which the next subproblem starts."""
    length: float
    """The length with which V was made, the t of the paper."""
    length0: float
    alpha: float
    """The fraction of the last V that was taken."""
    failures: int
    """How many line searches were given up."""
    newton: int
    """How many Newton steps V took."""


@dataclass(frozen=True, kw_only=True)
class ManPG(Solver[ManPGState]):
    """Proximal gradient in the tangent space: a semismooth Newton method finds V, a line search retracts along it.

    V minimises ``<grad f(X), V> + |V|^2 / (2 length) + h(X + V)`` over the tangent space. Zeros are exact in
    X + V, which is the certificate's y; the retraction fills them with small numbers. With g, its
    linearisation at X is part of the gradient, and the line search looks at the true g.

    Parameters
    ----------
    length : float, optional
        The length in the subproblem; 1 / L_f by default, and at most 1 / (2 W_h).
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
        return _certificate(problem, state)


@dataclass(frozen=True, kw_only=True)
class ManPGAda(Solver[ManPGState]):
    """ManPG whose length grows while line searches accept at once, and shrinks when they do not.

    Parameters
    ----------
    length, delta, gamma, floor, refresh
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
        return _certificate(problem, state)


Either = TypeVar("Either", bound=ManPG | ManPGAda)


def _searched(solver: ManPG | ManPGAda, problem: Problem, state: ManPGState) -> tuple[Point, float]:
    """The point along V where the objective has decreased enough, and the fraction of V it took."""
    M, f, g, h = problem.M, problem.f, problem.g, problem.h
    now, V = state.now, state.V
    X = now.X
    HV = f.product(V)  # the one product with the data of this iteration
    g_now, h_now = g.value(X), h.value(X)

    def trial(alpha: float) -> tuple[Point, Scalar]:
        X_new, S = M.retraction(X, alpha * V)
        HX = None if HV is None else (now.HX + alpha * HV) @ S
        new = Point(X_new, HX, problem.A(X_new))
        change = f.change(X, now.HX, X_new, HX) - (g.value(X_new) - g_now) + (h.value(X_new) - h_now)
        return new, change

    wanted = solver.delta / state.length * float(frobenius(V)) ** 2
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
    largest, share = _TIGHT if failed or failures > 10 else _LOOSE
    G = _gradient(problem, new)
    found = tangent_step(problem.h, new.X, G, length, state.multiplier, largest=largest, share=share)
    return ManPGState(
        t=state.t + 1,
        now=new,
        V=found.V,
        multiplier=found.multiplier,
        length=length,
        length0=state.length0,
        alpha=alpha,
        failures=failures,
        newton=found.steps,
    )


def _first(solver: ManPG | ManPGAda, problem: Problem, X0: Array) -> ManPGState:
    now = problem.at(X0)
    G = _gradient(problem, now)
    length, W_h = solver.length, problem.h.weak_convexity
    if length is None:
        L = problem.f.lipschitz
        if L is None:
            L = local_lipschitz(problem, X0)
        L = L or problem.h.lipschitz_constant(problem.shape) / math.sqrt(problem.M.r)
        length = min(1 / (L or float(frobenius(G)) or 1.0), _longest(problem))
    require(
        length * W_h < 1,
        f"length must be below 1 / W_h = {1 / W_h if W_h else math.inf:.6g} for this h, so that the subproblem "
        f"is convex; given {length}.",
    )
    XtG = now.X.T @ G
    largest, share = _LOOSE
    found = tangent_step(problem.h, now.X, G, length, 0.0 * XtG, largest=largest, share=share)
    return ManPGState(
        t=0,
        now=now,
        V=found.V,
        multiplier=found.multiplier,
        length=length,
        length0=length,
        alpha=1.0,
        failures=0,
        newton=found.steps,
    )


def _certificate(problem: Problem, state: ManPGState) -> Certificate:
    """At y = X + V, which the prox made, z is a subgradient of h."""
    now, V = state.now, state.V
    z = 2.0 * (now.X @ state.multiplier) - V / state.length - _gradient(problem, now)
    return Certificate(now, now.X + V, z)


def _gradient(problem: Problem, point: Point) -> Array:
    return problem.f.gradient_at(point.X, point.HX) - problem.g.subgradient(point.X)


def _longest(problem: Problem) -> float:
    """1 / (2 W_h), up to which the prox of h is well conditioned."""
    W_h = problem.h.weak_convexity
    return 0.5 / W_h if W_h > 0 else math.inf


def _settled(solver: Either, problem: Problem) -> Either:
    if not knows_derivative(problem.h):
        raise UnsupportedProblem(
            f"{solver.name} needs an h whose prox has a known derivative (one that acts entry by entry, or GroupL2); "
            f"given {type(problem.h).__name__}. Choose another solver."
        )
    if solver.length is not None or not problem.f.lipschitz:
        return solver
    return replace(solver, length=min(1 / problem.f.lipschitz, _longest(problem)))


def _check(solver: ManPG | ManPGAda) -> None:
    s = solver
    require(s.length is None or s.length > 0, f"length must be positive; given {s.length}.")
    require(0 < s.delta <= 0.5, f"delta must lie in (0, 1/2]; given {s.delta}.")
    require(0 < s.gamma < 1, f"gamma must lie in (0, 1); given {s.gamma}.")
    require(0 <= s.floor < 1, f"floor must lie in [0, 1); given {s.floor}.")
    require(s.refresh >= 1, f"refresh must be at least 1; given {s.refresh}.")
