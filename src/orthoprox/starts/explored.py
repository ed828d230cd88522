"""A start from which the default solver has roamed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._fields import require
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm import OADMM, OADMMState, Phase
from orthoprox.starts._base import Drawn, Start, check_projections
from orthoprox.starts.random import Random

RISES = 5
_STEPS = 30  # for each rise, at most: blocks that bring Crit down do not count as rises


@dataclass(frozen=True)
class Explored(Start):
    """Where a short run of the default solver from another start leads.

    It explores as the default solver does, in fewer steps, and ends when it has settled. For A = I and a concave f.

    Parameters
    ----------
    start : Start
    rises : int
        In this many rises the penalty goes from its first value to its last one.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.starts import Explored, Random
    >>> problem = sparse_pca(np.random.default_rng(0).standard_normal((40, 12)), n_components=2, weight=0.3)
    >>> X, explored = (start.draw(problem, seed=1).X for start in (Random(), Explored()))
    >>> bool(problem.objective(explored) < problem.objective(X))
    True
    """

    start: Start = field(default_factory=Random)
    rises: int = RISES

    def __post_init__(self) -> None:
        require(isinstance(self.start, Start), f"start must be a Start; given {type(self.start).__name__}.")
        require(self.rises >= 1, f"rises must be at least 1; given {self.rises}.")

    @property
    def name(self) -> str:
        return f"{self.start.name}, explored"

    def check(self, problem: Problem) -> None:
        self.start.check(problem)
        check_projections(problem, "Explored")

    def directions(self, problem: Problem) -> int:
        return self.start.directions(problem)

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        first = self.start.make(problem, V, rng)
        method = OADMM(explore=self.rises, fast="projections")
        state = method.init(problem, first.X)
        while state.t < _STEPS * self.rises and not (_is_settled(state, method.tuning.near) or is_over()):
            state = method.step(problem, state)
        return Drawn(state.best.point.X, self.name, first.work + 1 + method.work(state))


def _is_settled(state: OADMMState, near: float) -> bool:
    """Whether the run is past roaming and close to its end: the run that goes on from here will get there."""
    return state.phase is Phase.DONE or (state.phase is Phase.SETTLE and state.best.crit <= near * state.best.scale)
