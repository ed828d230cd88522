"""MADMM: ADMM whose X-step is a few steps of a smooth solver on the manifold.

A. Kovnatsky, K. Glashoff, M. Bronstein, "MADMM: a generic algorithm for non-smooth optimization on manifolds",
ECCV 2016. The inner solver is Riemannian gradient descent with Barzilai-Borwein step sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Self

from orthoprox._fields import replace, require
from orthoprox._linalg import norm, rounding
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of, either, larger
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, refuse_unless_allowed
from orthoprox.solvers._curvature import lipschitz_near
from orthoprox.solvers._rgbb import (
    FIRST_STEP_SIZE,
    PenaltyFunction,
    least_penalty,
    matching_penalty,
    rgbb,
    slope_of_g,
)
from orthoprox.solvers._units import unit


@dataclass(frozen=True, kw_only=True, eq=False)
class MADMMState:
    """The state of MADMM: Z is the copy of A(X), U the multiplier divided by the penalty rho."""

    t: int
    now: Point
    Z: Array
    U: Array
    rho: Scalar
    L: Scalar
    """L_f, or an estimate."""
    length: Scalar
    """The step size at which the next X-step starts."""
    inner: int
    """Inner steps so far."""


@dataclass(frozen=True, kw_only=True)
class MADMM(Solver[MADMMState]):
    """ADMM on the split A(X) = Z, the constraint kept by a Riemannian solver.

    A g is replaced by its linearisation at the last point during an X-step: an extension.

    Parameters
    ----------
    rho0 : float, optional
        The first penalty; by default ``L_f / |A|^2``, or ten times the slope of h for an f without curvature.
    most_inner : int
        The most inner steps in an iteration.
    balance : int
        During this many iterations the penalty doubles where the primal residual is above ten times the dual one, and
        halves where it is below a tenth of it. Then it stays.
    inexact : float
        The inner tolerance is this multiple of ``rho |A| |A(X) - Z|``, the pull of the primal residual, or 1e-8. With
        the default there are about three inner steps, as in the paper.
    allow_non_lipschitz : bool
        Take an h that is not Lipschitz, such as :class:`~orthoprox.terms.L0` or
        :class:`~orthoprox.terms.Nonnegative`: a heuristic. What h asks for then holds at ``result.y``, not at X.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), named("madmm"), stop=Iterations(20))
    >>> result.iterations <= result.state.inner <= 200
    True
    """

    name: ClassVar[str] = "madmm"
    summary: ClassVar[str] = "ADMM whose X-step is a few Riemannian gradient steps"
    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope(
        lipschitz_only=False, unproved=frozenset({"concave", "weakly_convex", "not_lipschitz"})
    )

    rho0: float | None = None
    most_inner: int = 10
    balance: int = 100
    inexact: float = 0.3
    allow_non_lipschitz: bool = False

    def __post_init__(self) -> None:
        require(self.rho0 is None or self.rho0 > 0, f"rho0 must be positive; given {self.rho0}.")
        require(self.most_inner >= 1, f"most_inner must be at least 1; given {self.most_inner}.")
        require(self.balance >= 0, f"balance must not be negative; given {self.balance}.")
        require(self.inexact >= 0, f"inexact must not be negative; given {self.inexact}.")

    def for_problem(self, problem: Problem) -> Self:
        self.scope.admit(problem, self.name)
        refuse_unless_allowed(problem, self.name, self.allow_non_lipschitz)
        L = problem.f.lipschitz
        if self.rho0 is not None or L is None:  # without L_f, init chooses the penalty at the first point
            return self
        return replace(self, rho0=matching_penalty(problem, L))

    def init(self, problem: Problem, X0: Array) -> MADMMState:
        L = lipschitz_near(problem, X0)
        rho = matching_penalty(problem, L) if self.rho0 is None else self.rho0
        if isinstance(rho, (int, float)):  # or one of many runs, with the penalty that was chosen for its problem
            least = least_penalty(problem.h)
            require(rho >= least, f"rho0 must be at least 2 W_h = {least:.6g} for this h; given {rho}.")
        now = problem.at(X0)
        return MADMMState(
            t=0, now=now, Z=now.AX, U=0.0 * now.AX, rho=rho, L=L, length=FIRST_STEP_SIZE / unit(problem, L), inner=0
        )

    def step(self, problem: Problem, state: MADMMState) -> MADMMState:
        h, A = problem.h, problem.A
        Z, U, known = state.Z, state.U, backend_of(state.Z).known
        rho, L, length = known(state.rho, Z), known(state.L, Z), known(state.length, Z)
        one = unit(problem, L)

        # X: the augmented Lagrangian with Z fixed, as accurately as the residual deserves
        merit = PenaltyFunction(problem, slope_of_g(problem, state.now.X), rho, -1.0 * U, fixed=Z)
        residual = known(norm(state.now.AX - Z), Z)
        found = rgbb(
            merit,
            state.now,
            length=length,
            ell=L + rho * A.norm**2,
            tolerance=larger(self.inexact * rho * A.norm * residual, 1e-8 * one),
            most=self.most_inner,
            done=state.inner,
        )

        # Z and U
        AX = found.point.AX
        Z_new = h.prox(AX + U, 1 / rho)
        U_new = U + AX - Z_new

        scale = self._penalty_factor(problem, state.t, rho, AX - Z_new, (Z_new - Z) / one)
        return MADMMState(
            t=state.t + 1,
            now=found.point,
            Z=Z_new,
            U=U_new / scale,  # the multiplier itself, rho U, stays
            rho=scale * rho,
            L=state.L,
            length=found.length,
            inner=state.inner + found.steps,
        )

    def _penalty_factor(self, problem: Problem, t: Scalar, rho: Scalar, gap: Array, move: Array) -> Scalar:
        """The factor by which the penalty changes: 2, 1/2 or 1."""
        backend = backend_of(gap)
        twice, half, once = (partial(backend.known, factor, gap) for factor in (2.0, 0.5, 1.0))

        def balanced() -> Scalar:
            primal = backend.known(norm(gap), gap)
            dual = rho * backend.known(norm(problem.A.adjoint(move)), gap)
            least = rounding(gap, problem.A.norm * problem.M.r**0.5)  # r unit columns in A
            return backend.cond(
                primal > larger(least, 10 * dual), twice, lambda: backend.cond(dual > 10 * primal, halved, once)
            )

        def halved() -> Scalar:
            may_halve = rho / 2 >= _least_penalty(problem) * (1 - 1e-9)  # from L_f it may halve once, despite rounding
            return backend.cond(may_halve, half, once)

        return backend.cond(t < self.balance, balanced, once)

    def point(self, state: MADMMState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: MADMMState) -> Certificate:
        return Certificate(state.now, state.Z, state.rho * state.U)

    def work(self, state: MADMMState) -> int:
        """One product for each inner step."""
        return int(state.inner)


def _least_penalty(problem: Problem) -> Scalar:
    """Below this the penalty is not halved.

    The prox of a weakly convex h needs twice W_h. A concave f, such as that of PCA, pulls X away from Z when the
    penalty is much smaller than its curvature, or than the penalty at which the prox of h moves the entries of A(X) by
    their mean size: balancing then never ends.
    """
    f, h, A, least = problem.f, problem.h, problem.A, least_penalty(problem.h)
    if f.lipschitz is None:
        return least
    pull = h.lipschitz_constant(problem.shape)
    plain = (pull == 0) | (A.norm == 0) | (f.upper_curvature == f.lipschitz)
    size = either(A.norm > 0, A.norm, 1.0)
    kinks = either(pull < math.inf, 1.2 * pull / (size * problem.M.r**0.5), 0.0)
    return either(plain, least, larger(larger(kinks, f.lipschitz / (2 * size**2)), least))
