"""What a start is: a rule that makes a feasible point from a problem and a seed."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts._directions import find_directions, has_directions


@dataclass(frozen=True, eq=False)
class Drawn:
    """A starting point and what it took to find it."""

    X: Array
    name: str
    """Which start it is, for results."""
    work: int = 0
    """Products with the data, counted as products with matrices of r columns."""
    near: bool = False
    """Whether to stay near it: a method that explores first then does not."""


class Start(abc.ABC):
    """A rule for starting points, to be given to ``solve`` as X0.

    The same seed gives the same point, in any units of the data and up to rounding in any array library: it
    depends on the leading subspaces of f, and where two of its eigenvalues are equal these are not unique.
    """

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """What results call it."""

    def check(self, problem: Problem) -> None:
        """Refuse, in a sentence, a problem without the structure that this start needs."""
        if self.directions(problem) and not has_directions(problem):
            raise ValueError(
                f"{type(self).__name__}() needs an f that is quadratic and depends on the span of X alone; given "
                f"{type(problem.f).__name__}. Start from Random()."
            )

    def directions(self, problem: Problem) -> int:
        """How many leading directions of f the point is made of, at most."""
        return 0

    @abc.abstractmethod
    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        """The point, given the leading directions, the first ones first: r, and more as far as f has them."""

    def draw(self, problem: Problem, seed: Any = 0) -> Drawn:
        """The point for a seed, and what it took to find it."""
        self.check(problem)
        rng, count = np.random.default_rng(seed), self.directions(problem)
        if not count:
            return self.make(problem, None, rng)
        V, work = find_directions(problem, count)
        if V is None:  # f is not finite, and the run is going to say so
            return Drawn(problem.M.random(rng, like=problem.like), "random", work)
        drawn = self.make(problem, V, rng)
        return replace(drawn, work=drawn.work + work)


def check_projections(problem: Problem, owner: str) -> None:
    """Refuse a problem that blocks of projections do not take."""
    if not Projections.takes(problem):
        raise ValueError(
            f"{owner} runs blocks of projections, which need A = I and a concave f; given A = "
            f"{type(problem.A).__name__} and f = {type(problem.f).__name__}. Start from Random()."
        )
