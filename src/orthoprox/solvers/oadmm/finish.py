"""The finish: when Newton's method on the active set of y is attempted, and what of it is believed."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from orthoprox._fields import replace
from orthoprox._linalg import rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.active import ActivePoint, ActiveSet, Budget, fill, has_active_sets, minimise_near, shortest_subgradient
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.tuning import ROUNDS, Tuning
from orthoprox.terms import LargestK


class Outcome(enum.IntEnum):
    """How the last attempt ended."""

    NONE = 0
    REFUSED = 1
    BELIEVED = 2
    OPEN = 3
    """Believed, at the end of its budget, and worth going on with at once."""
    LEAST = 4
    """Believed, and f is least on the k entries of y: from now on others may enter."""


@dataclass(frozen=True, kw_only=True)
class Attempts:
    """What is known of the attempts so far."""

    crit: float
    """The least Crit at which an attempt was made, at first that of the start."""
    objective: float | None = None
    """F after the last attempt."""
    cost: int = 0
    """Products that it took."""
    outcome: Outcome = Outcome.NONE
    streak: int = 0
    """Attempts since the last block."""
    blocks: int = 0
    """Blocks since the last attempt."""
    since: int = 0
    """Products that they took."""
    patience: int
    """Blocks after which the next attempt is made in any case."""
    radius: float
    """Of the trust region."""


@dataclass(frozen=True, kw_only=True)
class Finish:
    """Attempts to finish by Newton's method on the active set of y.

    An attempt is due when Crit is small and has fallen fivefold since the last one; at once where y has at most k
    entries and h - g vanishes. It is overdue after a while, when the blocks since have cost as much as it did, and is
    then made even far from the set. It is believed when Crit halves, or when F falls and Crit does not rise, which on
    k entries does not matter. One that ends at its budget is also believed when F falls further than in blocks of the
    same cost; it goes on at the next step. So F rises in no attempt that is believed, unless Crit halves.

    Parameters
    ----------
    rounds : int
        Newton steps in an attempt.
    """

    rounds: int = ROUNDS
    tuning: Tuning = Tuning()

    def begin(self, problem: Problem, at: Iterate) -> Attempts:
        """Before the first attempt."""
        return Attempts(crit=at.crit, patience=self.tuning.patience, radius=self.tuning.radius * math.sqrt(problem.M.r))

    def due(self, problem: Problem, now: Iterate, attempts: Attempts, *, roaming: bool) -> bool:
        """Whether to make an attempt now."""
        if not has_active_sets(problem) or attempts.streak >= self.tuning.streak:
            return False
        if attempts.outcome >= Outcome.OPEN:
            return True
        if attempts.outcome is not Outcome.REFUSED and is_sparse_enough(problem, now.y):
            return True
        share = self.tuning.near if roaming else self.tuning.close
        if now.crit <= min(self.tuning.fivefold * attempts.crit, share * now.scale):
            return True
        return not roaming and self._overdue(attempts)

    @staticmethod
    def _overdue(attempts: Attempts) -> bool:
        return attempts.blocks > attempts.patience and attempts.since >= attempts.cost

    def attempt(self, problem: Problem, now: Iterate, attempts: Attempts) -> tuple[Iterate | None, Attempts]:
        """A better point, or None where there is none, and what is known afterwards."""
        least = attempts.outcome is Outcome.LEAST
        free = not least and is_sparse_enough(problem, now.y)
        found = self._newton(problem, now, attempts, free)
        if found is None:
            return None, self._refusal(now, attempts, 0)
        at = self._measure(problem, now, found, free)
        slack = rounding(now.point.X, max(abs(now.objective), abs(problem.offset)))
        falls = at.objective < now.objective - slack
        further = falls and not found.finished and self._gains(now, at, attempts, found)
        believed = falls and (free or further or at.crit <= now.crit)
        if not (believed or at.crit <= 0.5 * now.crit):
            return None, self._refusal(now, attempts, found.products)
        outcome = Outcome.OPEN if further else Outcome.BELIEVED
        if (free and found.finished) or (least and not falls):
            outcome = Outcome.LEAST
        return at, Attempts(
            crit=min(now.crit, attempts.crit),
            objective=at.objective,
            cost=found.products,
            outcome=outcome,
            streak=attempts.streak + 1,
            patience=attempts.patience,
            radius=found.radius,
        )

    def _newton(self, problem: Problem, now: Iterate, attempts: Attempts, free: bool) -> ActivePoint | None:
        """Newton's method on the zeros of y, or with f alone on the k entries that h - g leaves free."""
        radius = max(attempts.radius, self.tuning.least_radius * math.sqrt(problem.M.r))
        budget = Budget(self.rounds, radius, rounding(now.point.X, now.scale))
        if free:
            return minimise_near(problem, now.y, budget, z=now.z, support=_filled(problem, now))
        if not self._overdue(attempts):  # then the zeros should be right already
            budget = replace(budget, start=self.tuning.far * now.crit)
        found = minimise_near(problem, now.y, budget, z=now.z)
        return None if found is None or found.residual > budget.start else found

    @staticmethod
    def _measure(problem: Problem, now: Iterate, found: ActivePoint, free: bool) -> Iterate:
        z = found.z
        if free:
            z = shortest_subgradient(problem, found.point, ActiveSet.at(problem, found.point.X), now.z).z
        return measure(problem, found.point, found.point.X, z)

    @staticmethod
    def _gains(now: Iterate, at: Iterate, attempts: Attempts, found: ActivePoint) -> bool:
        """Whether F fell further than in blocks of the same cost, and than since the last attempt."""
        last = now.objective if attempts.objective is None else attempts.objective
        gain = now.objective - at.objective
        by_blocks = max(last - now.objective, 0.0) * found.products / max(attempts.since, 1)
        return gain > by_blocks and last - at.objective > 0.1 * gain

    def after_block(self, attempts: Attempts, products: int) -> Attempts:
        """What is known after a block."""
        return replace(attempts, blocks=attempts.blocks + 1, since=attempts.since + products, streak=0)

    def _refusal(self, now: Iterate, attempts: Attempts, products: int) -> Attempts:
        """What is known after an attempt that was not believed: patience is twice what it was at first."""
        return replace(
            attempts,
            crit=min(now.crit, attempts.crit),
            cost=products,
            outcome=Outcome.REFUSED,
            streak=attempts.streak + 1,
            blocks=0,
            since=0,
            patience=2 * self.tuning.patience,
        )


def vanishes(problem: Problem, y: Array) -> bool:
    """Whether h - g is zero at y and h is not."""
    whole = float(problem.h.value(y))
    return whole > 0 and abs(whole - float(problem.g.value(y))) <= 1e-12 * whole


def is_sparse_enough(problem: Problem, y: Array) -> bool:
    """Whether the penalty is l1 minus the k largest entries, and y has no more than k of them."""
    few = isinstance(problem.g, LargestK) and int(array_namespace(y).count_nonzero(y)) <= problem.g.k
    return few and vanishes(problem, y)


def _filled(problem: Problem, now: Iterate) -> Array:
    """The nonzeros of y and, up to k of them, entries along which f falls steeply."""
    y, X = now.y, now.point.X
    assert isinstance(problem.g, LargestK)  # is_sparse_enough has seen to that
    xp = array_namespace(y)
    slope = xp.abs(problem.M.tangent(X, problem.f.gradient_at(X, now.point.HX)))
    return xp.astype(fill(y != 0, slope, problem.g.k), y.dtype)
