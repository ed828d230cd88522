"""ADMM by projections: for A = I and an f that lies below its linearisations, one projection does for an X-step.

With a penalty that fits the problem this is OADMM-EP without its proximal term and without smoothing. A low penalty
lets the iterates roam and pass by shallow minima; it rises until they settle.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from orthoprox._deadline import is_over
from orthoprox._fields import replace
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps import Identity
from orthoprox.problem import Point, Problem
from orthoprox.solvers._base import Scope
from orthoprox.solvers.oadmm.block import Block
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.tuning import BLOCK, EXPLORE, ROAM, SETTLE, Tuning
from orthoprox.terms import Zero


@dataclass(frozen=True, kw_only=True, eq=False)
class ProjectionsState:
    """Where the projections are."""

    t: int
    at: Iterate
    rises: int
    """How often the penalty has risen: after blocks that did not bring Crit down."""


class Penalties(NamedTuple):
    """The first penalty and the last one, and whether X is turned before f is linearised."""

    first: float
    last: float
    turns: bool


@dataclass(frozen=True, kw_only=True)
class Projections(Block[ProjectionsState]):
    """Blocks of ADMM iterations with a penalty that rises where Crit does not fall.

    An iteration is

        X <- P(beta y - z - grad f(X) + xi),   u = X + z/beta,   y <- prox(u; 1/beta),   z <- beta (u - y)

    with a subgradient xi of g. Then z is a subgradient of h at y, and of Crit only |X - y| and stationarity remain.

    Parameters
    ----------
    explore : int
        In this many rises the penalty goes from its first value to its last one; with 0 it starts there.
    block : int
        Iterations in a block.
    roam, settle : float
        The first penalty in units of ``kinks``, and the last one in units of ``curvature``.
    """

    name: ClassVar[str] = "oadmm: projections"
    summary: ClassVar[str] = "ADMM by projections, with a penalty that fits the problem"
    scope: ClassVar[Scope] = Scope(any_map=False)

    explore: int = EXPLORE
    block: int = BLOCK
    roam: float = ROAM
    settle: float = SETTLE
    tuning: Tuning = Tuning()

    @staticmethod
    def takes(problem: Problem) -> bool:
        """Whether one projection does for an X-step: A = I, and f lies below its linearisations."""
        return isinstance(problem.A, Identity) and problem.f.upper_curvature == 0

    def init(self, problem: Problem, X0: Array) -> ProjectionsState:
        now = problem.at(X0)
        return ProjectionsState(t=0, at=measure(problem, now, now.AX, 0.0 * now.AX), rises=0)

    def step(self, problem: Problem, state: ProjectionsState) -> ProjectionsState:
        found = self.penalties(problem, state.at.point, state.at.z)
        beta = self.penalty(found, state.rises)
        at = measure(problem, *self.iterate_block(problem, state.at.point, state.at.y, state.at.z, beta, found.turns))
        return ProjectionsState(t=state.t + 1, at=at, rises=state.rises + self._rises(state, at))

    def iterate_block(
        self, problem: Problem, now: Point, y: Array, z: Array, beta: float, turns: bool
    ) -> tuple[Point, Array, Array]:
        """The iterations of a block, with one penalty."""
        f, g, h, M = problem.f, problem.g, problem.h, problem.M
        with_g = not isinstance(g, Zero)
        for _ in range(self.block):
            if is_over():
                break
            G = f.gradient_at(now.X, now.HX)
            W = beta * y - z
            if with_g:
                # At y, which has exact zeros: at X the k largest of fewer entries would include rounding errors.
                W = W + g.subgradient(y)
            if turns:
                # f(XQ) = f(X): linearised where XQ is nearest to W, it does not hold X back from turning.
                G = G @ M.project(now.X.T @ W)
            X = M.project(W - G)
            u = X + z / beta
            y = h.prox(u, 1 / beta)
            z = beta * (u - y)
            now = Point(X, f.product(X), X)
        return now, y, z

    def penalties(self, problem: Problem, now: Point, z: Array) -> Penalties:
        """The penalties at a point with a subgradient z of h near it; no less than h's prox needs."""
        kink, least = kinks(problem, now), 2 * problem.h.weak_convexity
        last = max(self.settle * curvature(problem, now, z), least)
        if problem.f.rotation_invariant and kink > 0 and last > self.tuning.steep * kink:
            first, most = self.tuning.turn_first * kink, self.tuning.turn_last * kink
            return Penalties(max(first, least), max(min(last, most), least), True)
        return Penalties(max(self.roam * kink, least) or last, last, False)

    def penalty(self, found: Penalties, rises: int) -> float:
        """From the first penalty to the last one in equal ratios, and a little beyond."""
        if rises < self.explore:
            share = rises / self.explore
            return float(found.first * (found.last / found.first) ** share)  # exact in any unit
        beyond = min(rises - self.explore, math.log(self.tuning.most, self.tuning.rise))
        return float(found.last * self.tuning.rise**beyond)

    def _rises(self, state: ProjectionsState, at: Iterate) -> int:
        """Whether the next penalty is higher: where Crit does not fall by itself and the iterates roam or are wild."""
        if at.crit < self.tuning.falls * state.at.crit:
            return 0
        return int(self.roams(state) or at.crit > self.tuning.wild * at.scale)

    def roams(self, state: ProjectionsState) -> bool:
        """Whether the penalty is still below its last value."""
        return state.rises < self.explore

    def restart(self, problem: Problem, state: ProjectionsState, at: Iterate) -> ProjectionsState:
        return replace(state, at=at)

    def tighten(self, problem: Problem, state: ProjectionsState) -> ProjectionsState:
        return replace(state, rises=max(state.rises, self.explore) + self.tuning.refusal)

    def work(self, state: ProjectionsState) -> int:
        return state.t * self.block


def kinks(problem: Problem, now: Point) -> float:
    """The penalty at which the prox of h moves entries of A(X) by as much as they are large in the mean."""
    size = float(norm(now.AX))
    return problem.h.lipschitz_constant(problem.shape) / size if size > 0 else 1.0


def curvature(problem: Problem, now: Point, z: Array) -> float:
    """What the penalty has to outweigh: the downward curvature of F along the manifold, or the kinks of h.

    The first is L_f plus the mean eigenvalue of the multiplier X'(grad f + z) of the constraint.
    """
    xp, r = array_namespace(now.X), problem.M.r
    L = problem.f.lipschitz or 0.0
    pull = problem.f.gradient_at(now.X, now.HX) - problem.g.subgradient(now.X) + z
    multiplier = float(xp.sum(now.X * pull)) / r
    return max(L + multiplier, kinks(problem, now)) or 1.0
