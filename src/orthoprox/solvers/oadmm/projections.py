"""ADMM by projections: for A = I and an f that lies below its linearisations, one projection does for an X-step.

With a penalty that fits the problem this is OADMM-EP without its proximal term and without smoothing. A low penalty
lets the iterates roam and pass by shallow minima; it rises until they settle.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from orthoprox._fields import replace
from orthoprox._linalg import identity_like, norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of, either, known, larger, speculation
from orthoprox.backends._speculation import MOST_EFFORT
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


@dataclass(frozen=True, eq=False)
class Triple:
    """What an iteration changes, and its penalty."""

    now: Point
    y: Array
    z: Array
    beta: Scalar


class Penalties(NamedTuple):
    """The first penalty and the last one, and whether X is turned before f is linearised."""

    first: Scalar
    last: Scalar
    turns: Any
    """True or False; on a device where many runs go together."""


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
    stackable: ClassVar[bool | None] = True
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
        self, problem: Problem, now: Point, y: Array, z: Array, beta: Scalar, turns: Any
    ) -> tuple[Point, Array, Array]:
        """The iterations of a block, with one penalty."""
        last = backend_of(now.X).repeat(_iteration(turns), problem, Triple(now, y, z, beta), self.block)
        return last.now, last.y, last.z

    def penalties(self, problem: Problem, now: Point, z: Array) -> Penalties:
        """The penalties at a point with a subgradient z of h near it; no less than h's prox needs."""
        kink, least, tuning = kinks(problem, now), 2 * problem.h.weak_convexity, self.tuning
        last = larger(self.settle * curvature(problem, now, z), least)
        turns = (kink > 0) & (last > tuning.steep * kink) if problem.f.rotation_invariant else False
        roaming = larger(self.roam * kink, least)
        first = either(turns, larger(tuning.turn_first * kink, least), either(roaming > 0, roaming, last))
        turned = larger(either(last < tuning.turn_last * kink, last, tuning.turn_last * kink), least)
        return Penalties(first, either(turns, turned, last), turns)

    def penalty(self, found: Penalties, rises: Scalar) -> Scalar:
        """From the first penalty to the last one in equal ratios, and a little beyond."""
        share = either(rises < self.explore, rises / max(self.explore, 1), 1.0)
        rising = found.first * (found.last / found.first) ** share  # exact in any unit
        over, most = rises - self.explore, math.log(self.tuning.most, self.tuning.rise)
        beyond = either(over < most, over, most)
        return known(either(rises < self.explore, rising, found.last * self.tuning.rise ** (1.0 * beyond)))

    def _rises(self, state: ProjectionsState, at: Iterate) -> Scalar:
        """Whether the next penalty is higher: where Crit does not fall by itself and the iterates roam or are wild."""
        higher = self.roams(state) | (at.crit > self.tuning.wild * at.scale)
        return either(at.crit < self.tuning.falls * state.at.crit, 0, 1 * higher)

    def roams(self, state: ProjectionsState) -> bool:
        """Whether the penalty is still below its last value."""
        return state.rises < self.explore

    def restart(self, problem: Problem, state: ProjectionsState, at: Iterate) -> ProjectionsState:
        return replace(state, at=at)

    def tighten(self, problem: Problem, state: ProjectionsState) -> ProjectionsState:
        return replace(state, rises=max(state.rises, self.explore) + self.tuning.refusal)

    def work(self, state: ProjectionsState) -> int:
        return state.t * self.block


def project(problem: Problem, at: Triple) -> Triple:
    """One iteration."""
    return _project(problem, at, problem.f.gradient_at(at.now.X, at.now.HX), _pull(problem, at))


def turn_and_project(problem: Problem, at: Triple) -> Triple:
    """One iteration with f linearised at the XQ nearest to W: f(XQ) = f(X), so it does not hold X back from turning."""
    W = _pull(problem, at)
    G = problem.f.gradient_at(at.now.X, at.now.HX) @ problem.M.project(at.now.X.T @ W)
    return _project(problem, at, G, W)


def _iteration(turns: Any) -> Callable[[Problem, Triple], Triple]:
    """The iteration to repeat; one that chooses by itself where the choice is on a device."""
    program = speculation()
    if program is None or isinstance(turns, bool):
        return turn_and_project if turns else project
    if program.effort < MOST_EFFORT:  # few problems turn; theirs take the longer program
        program.settle(~turns)
        return project

    def choose(problem: Problem, at: Triple) -> Triple:
        W, X = _pull(problem, at), at.now.X
        with program.only_where(turns):
            Q = problem.M.project(X.T @ W)
        Q = backend_of(X).where(turns, Q, identity_like(X))
        return _project(problem, at, problem.f.gradient_at(X, at.now.HX) @ Q, W)

    return choose


def _pull(problem: Problem, at: Triple) -> Array:
    """W = beta y - z + xi."""
    W = at.beta * at.y - at.z
    if isinstance(problem.g, Zero):
        return W
    # At y, which has exact zeros: at X the k largest of fewer entries would include rounding errors.
    return W + problem.g.subgradient(at.y)


def _project(problem: Problem, at: Triple, G: Array, W: Array) -> Triple:
    X = problem.M.project(W - G)
    u = X + at.z / at.beta
    y = problem.h.prox(u, 1 / at.beta)
    z = at.beta * (u - y)
    return Triple(Point(X, problem.f.product(X), X), y, z, at.beta)


def kinks(problem: Problem, now: Point) -> Scalar:
    """The penalty at which the prox of h moves entries of A(X) by as much as they are large in the mean."""
    size, slope = known(norm(now.AX)), problem.h.lipschitz_constant(problem.shape)
    return either(size > 0, slope / either(size > 0, size, 1.0), 1.0)


def curvature(problem: Problem, now: Point, z: Array) -> Scalar:
    """What the penalty has to outweigh: the downward curvature of F along the manifold, or the kinks of h.

    The first is L_f plus the mean eigenvalue of the multiplier X'(grad f + z) of the constraint.
    """
    xp, r = array_namespace(now.X), problem.M.r
    L = 0.0 if problem.f.lipschitz is None else problem.f.lipschitz
    pull = problem.f.gradient_at(now.X, now.HX) - problem.g.subgradient(now.X) + z
    multiplier = known(xp.sum(now.X * pull)) / r
    found = larger(L + multiplier, kinks(problem, now))
    return either(found > 0, found, 1.0)
