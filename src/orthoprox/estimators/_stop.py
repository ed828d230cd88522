"""Stopping rules that do not depend on the units of the data."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._fields import require
from orthoprox._linalg import rounding
from orthoprox.driver import Critical, Rule, Snapshot, Status
from orthoprox.driver.stopping import Look, Verdicts, flat
from orthoprox.problem import Certificate, Criticality, Problem, relative_criticality


def is_critical(problem: Problem, at: Certificate, parts: Criticality, tolerance: float) -> bool:
    """Whether the relative Crit is at most this, as the rule ``Critical`` judges it."""
    return relative_criticality(problem, at, parts).total <= max(tolerance, rounding(at.point.X, 1.0))


@dataclass(frozen=True)
class ScaledCritical(Rule):
    """Stop when the relative Crit is small.

    Parameters
    ----------
    tolerance : float
        The largest relative Crit; zero never stops.
    """

    tolerance: float

    def __post_init__(self) -> None:
        require(self.tolerance >= 0, f"tol must not be negative; given {self.tolerance}.")

    def __call__(self, now: Snapshot) -> Status | None:
        return Critical(self.tolerance, relative=True)(now) if self.tolerance > 0 else None

    sees_many = True

    def many(self, look: Look) -> Verdicts:
        never: Verdicts = [None] * len(look.total)
        return Critical(self.tolerance, relative=True).many(look) if self.tolerance > 0 else never


@dataclass(frozen=True)
class FlatObjective(Rule):
    """Stop when the last recorded objectives are equal up to rounding.

    Parameters
    ----------
    window : int
        How many records.
    tolerance : float
        Relative to the objective.
    """

    window: int = 15
    tolerance: float = 1e-12

    def __call__(self, now: Snapshot) -> Status | None:
        before = now.recent("objective", self.window)
        if len(before) < self.window:
            return None
        spread = max(*before, now.objective) - min(*before, now.objective)
        return Status.STALLED if spread <= self.tolerance * abs(now.objective) else None

    sees_many = True

    def many(self, look: Look) -> Verdicts:
        return flat(look, self.window, self.tolerance * abs(look.objective))
