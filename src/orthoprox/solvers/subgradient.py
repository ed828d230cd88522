"""The projected subgradient method, the smallest solver.

The step rule is that of D. Davis and D. Drusvyatskiy, SIAM J. Optim. 29, 2019. Their theorem is for a
convex constraint set: on the Stiefel manifold, and with g present, the method is a heuristic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from orthoprox._fields import require
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._points import select


@dataclass(frozen=True, kw_only=True, eq=False)
class SubgradientState:
    """The state of the subgradient method: the current point, and the best one so far."""

    t: int
    now: Point
    best: Point
    lowest: Scalar
    eta0: Scalar


@dataclass(frozen=True, kw_only=True)
class Subgradient(Solver[SubgradientState]):
    """A step along a subgradient, then a projection; keeps the best point.

    Parameters
    ----------
    eta0 : float, optional
        The first step size; by default the first step has a tenth of the norm of X.
    q : float
        Step sizes shrink as ``eta0 / (t + 1)^q``.
    """

    name: ClassVar[str] = "subgradient"
    summary: ClassVar[str] = "projected subgradient steps, best point kept"
    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave"}))

    eta0: float | None = None
    q: float = 0.5

    def __post_init__(self) -> None:
        require(self.eta0 is None or self.eta0 > 0, f"eta0 must be positive; given {self.eta0}.")
        require(0 <= self.q <= 1, f"q must lie in [0, 1]; given {self.q}.")

    def init(self, problem: Problem, X0: Array) -> SubgradientState:
        now, eta0 = problem.at(X0), self.eta0
        if eta0 is None:
            size = float(norm(_subgradient(problem, now)))
            eta0 = 0.1 * math.sqrt(problem.M.r) / size if size > 0 else 1.0
        return SubgradientState(t=0, now=now, best=now, lowest=problem.objective(now), eta0=eta0)

    def step(self, problem: Problem, state: SubgradientState) -> SubgradientState:
        eta = state.eta0 / (state.t + 1.0) ** self.q
        new = problem.at(problem.M.project(state.now.X - eta * _subgradient(problem, state.now)))
        value = problem.objective(new)
        better = value < state.lowest
        return SubgradientState(
            t=state.t + 1,
            now=new,
            best=select(better, new, state.best),
            lowest=array_namespace(new.X).where(better, value, state.lowest),
            eta0=state.eta0,
        )

    def point(self, state: SubgradientState) -> Array:
        return state.best.X

    def certificate(self, problem: Problem, state: SubgradientState) -> Certificate:
        return Certificate(state.best, state.best.AX, problem.h.subgradient(state.best.AX))


def _subgradient(problem: Problem, point: Point) -> Array:
    X = point.X
    smooth = problem.f.gradient_at(X, point.HX) - problem.g.subgradient(X)
    return smooth + problem.A.adjoint(problem.h.subgradient(point.AX))
