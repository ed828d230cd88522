"""The leading directions of f themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.starts._base import Drawn, Start


@dataclass(frozen=True)
class Leading(Start):
    """The r directions in which f is lowest: principal components where f is an explained variance.

    They are found to a relative accuracy of about 1e-3, and are the same for every seed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Problem, Stiefel
    >>> from orthoprox.starts import Leading
    >>> from orthoprox.terms import ExplainedVariance
    >>> problem = Problem(M=Stiefel(4, 1), f=ExplainedVariance(np.diag([1.0, 9.0, 2.0, 1.0])))
    >>> np.abs(Leading().draw(problem).X.T).round(3)
    array([[0., 1., 0., 0.]])
    """

    name: ClassVar[str] = "leading directions"

    def directions(self, problem: Problem) -> int:
        return problem.M.r

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        assert V is not None
        return Drawn(problem.M.project(V[:, : problem.M.r]), self.name)
