"""The homotopy towards a problem with g: first without g, at the least weight of h that makes h - g vanish.

For l1 minus largest-k this ends at an l1 solution with just about k nonzeros. At full weight from the start, X would
hardly leave the first zeros it finds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from orthoprox._fields import replace
from orthoprox._linalg import rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.active import Budget, disjoint, has_active_sets, minimise_near
from orthoprox.problem import Point, Problem
from orthoprox.solvers._schedules import entry_slope
from orthoprox.solvers.oadmm.block import Block
from orthoprox.solvers.oadmm.finish import is_sparse_enough, vanishes
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.solvers.oadmm.tuning import ROUNDS, Tuning
from orthoprox.terms import EntrywiseTerm, LargestK, Zero


@dataclass(frozen=True, kw_only=True, eq=False)
class HomotopyState:
    """Where the homotopy is."""

    t: int
    at: Iterate
    """Measured as a point of the whole problem."""
    level: float
    """The present share of the weight of h."""
    low: float
    """The largest share known at which h - g does not vanish."""
    high: float | None
    """The least share known at which it does."""
    stage: int
    closing: bool
    """Whether the share is found and only an exact solution is missing."""
    finished: bool
    work: int


@dataclass(frozen=True, kw_only=True)
class Homotopy(Block[HomotopyState]):
    """Some blocks at one share of the weight of h, without g; then the next share.

    The share doubles until h - g vanishes at y, then the interval in which that begins is narrowed. At the end an exact
    solution is asked for there. Past the whole weight the homotopy is over.

    Parameters
    ----------
    projections : Projections
        The method that takes the blocks, at its last penalty.
    rounds : int
        Newton steps in an attempt at an exact solution.
    """

    name: ClassVar[str] = "oadmm: homotopy"
    summary: ClassVar[str] = "the problem without g, with a weight of h that grows"

    projections: Projections
    rounds: int = ROUNDS

    @staticmethod
    def takes(problem: Problem) -> bool:
        """Whether there is a g to leave out, and an h whose slopes at zero are known."""
        return not isinstance(problem.g, Zero) and isinstance(problem.h, EntrywiseTerm) and Projections.takes(problem)

    def init(self, problem: Problem, X0: Array) -> HomotopyState:
        """Begin where the slope of h is small beside the curvature of f."""
        now, slope = problem.at(X0), entry_slope(problem.h)
        L = problem.f.lipschitz or 0.0
        level = self._tuning.first_weight * L / slope if slope > 0 else 1.0
        at = measure(problem, now, now.AX, 0.0 * now.AX)
        over = not 0 < level < 1
        return HomotopyState(t=0, at=at, level=level, low=0.0, high=None, stage=0, closing=False, finished=over, work=0)

    @property
    def _tuning(self) -> Tuning:
        return self.projections.tuning

    def step(self, problem: Problem, state: HomotopyState) -> HomotopyState:
        easier = Problem(M=problem.M, f=problem.f, h=state.level * problem.h, A=problem.A)
        now, y, z = state.at.point, state.at.y, state.at.z
        for _ in range(self._tuning.blocks):
            found = self.projections.penalties(easier, now, z)
            now, y, z = self.projections.iterate_block(easier, now, y, z, found.last, found.turns)
        work = state.work + self._tuning.blocks * self.projections.block
        if state.closing:
            now, y, z, used, exact = self._solve(easier, now, y, z)
            new = self._close(problem, replace(state, work=work + used), y, exact)
        else:
            new = self._narrow(replace(state, work=work), vanishes(problem, y))
        return self._arrive(problem, state, new, now, y, z)

    def _narrow(self, state: HomotopyState, there: bool) -> HomotopyState:
        """Double the share until h - g vanishes, then halve the interval of shares in which it begins to."""
        level, tuning = state.level, self._tuning
        low, high = (state.low, level) if there else (level, state.high)
        new = replace(state, low=low, high=high, stage=state.stage + 1)
        if high is None:
            return replace(new, finished=True) if level >= 1 else replace(new, level=min(2 * level, 1.0))
        if new.stage >= tuning.stages or high <= tuning.narrow * low:
            return replace(new, level=high, closing=True)
        return replace(new, level=math.sqrt(low * high) if low > 0 else high / 2)

    def _solve(self, easier: Problem, now: Point, y: Array, z: Array) -> tuple[Point, Array, Array, int, bool]:
        """An exact solution of the problem without g, if Newton's method finds one."""
        if not has_active_sets(easier):
            return now, y, z, 0, False
        scale, root = easier.f.lipschitz or 1.0, math.sqrt(easier.M.r)
        budget = Budget(self.rounds, self._tuning.radius * root, rounding(y, scale * root))
        found = minimise_near(easier, y, budget, z=z)
        if found is None:
            return now, y, z, 0, False
        return found.point, found.point.X, found.z, found.products, True

    def _close(self, problem: Problem, state: HomotopyState, y: Array, exact: bool) -> HomotopyState:
        """Whether that is it; else a little more weight where the exact solution had too many entries."""
        done = exact and vanishes(problem, y)
        if isinstance(problem.g, LargestK):
            done = done and is_sparse_enough(problem, y)
        # No orthonormal matrix has a column of zeros, and more weight would only make more of them.
        if done or has_empty_column(y):
            return replace(state, finished=True)
        stage = state.stage + 1
        if not exact and stage % self._tuning.tries != 0:
            return replace(state, stage=stage)
        level = self._tuning.narrow * state.level
        return replace(state, level=level, stage=stage, finished=level >= 1)

    def _arrive(
        self, problem: Problem, old: HomotopyState, new: HomotopyState, now: Point, y: Array, z: Array
    ) -> HomotopyState:
        """The new state with a multiplier for its own weight, or at the end for the whole problem."""
        if new.finished:
            now, y, z = self._refill(problem, now, y, z)
        if new.finished and vanishes(problem, y):
            # On the entries that are left z takes back what dg takes away; elsewhere it stays a multiplier for f.
            z = z + problem.g.subgradient(y)
        else:
            level = 1.0 if new.finished else new.level
            low, high = (level * bound for bound in problem.h.subdifferential(0.0 * y))  # type: ignore[attr-defined]
            z = array_namespace(z).clip(z * (level / old.level), low, high)
        return replace(new, t=old.t + 1, at=measure(problem, now, y, z))

    @staticmethod
    def _refill(problem: Problem, now: Point, y: Array, z: Array) -> tuple[Point, Array, Array]:
        """Where to go on from the end, for l1 minus largest-k: there, or at columns set apart near X.

        At large weights l1 may stop at local minima with more than k nonzeros, and where a column of y has been wiped
        out no orthonormal matrix has its zeros. The objective decides.
        """
        if not isinstance(problem.g, LargestK) or problem.g.k < problem.M.r:
            return now, y, z
        few = int(array_namespace(y).count_nonzero(y)) <= problem.g.k
        if few and not has_empty_column(y):
            return now, y, z
        other = problem.at(disjoint(now.X, count=problem.g.k))
        if float(problem.objective(other)) >= float(problem.objective(now)):
            return now, y, z
        return other, other.X, 0.0 * z

    def restart(self, problem: Problem, state: HomotopyState, at: Iterate) -> HomotopyState:
        return replace(state, at=at)

    def tighten(self, problem: Problem, state: HomotopyState) -> HomotopyState:
        return state

    def work(self, state: HomotopyState) -> int:
        return state.work


def has_empty_column(y: Array) -> bool:
    """Whether a column of y is zero."""
    xp = array_namespace(y)
    return bool(xp.any(xp.all(y == 0, axis=0)))
