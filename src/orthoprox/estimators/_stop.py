"""Stopping rules that do not depend on the units of the data."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._fields import require
from orthoprox._linalg import norm
from orthoprox.driver import Rule, Snapshot, Status
from orthoprox.problem import Certificate, Criticality, Problem


def is_critical(problem: Problem, at: Certificate, parts: Criticality, tolerance: float) -> bool:
    """Whether each part of Crit is small relative to its scale: A(X) and y, z, and the gradients.

    ``Critical`` adds one to these sizes; this test does not, so scaling data and penalty leaves it unchanged.
    """
    X, y, z = at.point.X, at.y, at.z
    # L_f |X| stands for the gradient of f, which may vanish at a solution; the rest for problems without f.
    gradient = problem.f.gradient_at(X, at.point.HX) - problem.g.subgradient(X) + problem.A.adjoint(z)
    scale = (problem.f.lipschitz or 0.0) * math.sqrt(problem.M.r) + float(norm(gradient))
    return (
        parts.primal <= tolerance * float(norm(at.point.AX) + norm(y))
        and parts.dual <= tolerance * float(norm(z))
        and parts.stationarity <= tolerance * scale
    )


@dataclass(frozen=True)
class ScaledCritical(Rule):
    """Stop when Crit is small relative to its own scale.

    Parameters
    ----------
    tolerance : float
        The largest relative Crit; zero never stops.
    """

    tolerance: float

    def __post_init__(self) -> None:
        require(self.tolerance >= 0, f"tol must not be negative; given {self.tolerance}.")

    def __call__(self, now: Snapshot) -> Status | None:
        if self.tolerance == 0:
            return None
        critical = is_critical(now.problem, now.certificate, now.criticality_parts, self.tolerance)
        return Status.CONVERGED if critical else None


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
