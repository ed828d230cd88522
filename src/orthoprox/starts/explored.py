"""A start from which the default solver has roamed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._fields import require
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts._base import Drawn, Start, check_projections
from orthoprox.starts.random import Random

RISES = 10
_BLOCKS = 6  # for each rise, at most: blocks that bring Crit down do not count as rises


@dataclass(frozen=True)
class Explored(Start):
    """Another start, from which blocks of the default solver have roamed while their penalty rose.

    It is a short form of what the default solver does after a start that says nothing. A = I and a concave f.

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
        blocks = Projections(explore=self.rises)
        state = blocks.init(problem, first.X)
        while blocks.roams(state) and state.t < _BLOCKS * self.rises and not is_over():
            state = blocks.step(problem, state)
        return Drawn(state.at.point.X, self.name, first.work + 1 + blocks.work(state))
