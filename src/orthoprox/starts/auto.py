"""The start of a run that is given none."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts._base import Drawn, Start
from orthoprox.starts._directions import has_directions
from orthoprox.starts._judge import BLOCKS, Known, judge
from orthoprox.starts.explored import Explored
from orthoprox.starts.random import Random
from orthoprox.starts.turned import Varimax
from orthoprox.terms import EntrywiseTerm, Zero

INFORMED = (Varimax(), Varimax(among=2.0))
"""What is judged first. Chosen on data that no table has: docs/decisions/016-starts.md."""
MORE = 2 * BLOCKS
"""Blocks for the better of these before it meets the explored point, which has settled."""


@dataclass(frozen=True)
class Auto(Start):
    """What a run of the default solver starts from when it is given no X0.

    It takes problems such as sparse PCA with a penalty: f quadratic, concave and a function of the span of X alone, no
    g, A = I, and an entrywise Lipschitz h. For other problems it is ``Random()``.

    The leading directions of f are turned by varimax, r of them and 2 r of them, of which r columns are kept. Both
    points get a few blocks of iterations, and the lower F meets a random point that was explored: where h is heavy, the
    leading directions say little.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((60, 4)) @ np.kron(np.eye(4), np.ones((1, 5)))
    >>> solve(sparse_pca(D, n_components=4, weight=0.1)).start.endswith("the best of 3 starts")
    True
    >>> solve(sparse_pca(D, n_components=4, weight=0.1, k=20)).start
    'random'
    """

    name: ClassVar[str] = "auto"

    def knows(self, problem: Problem) -> bool:
        """Whether the leading directions say something here, and blocks of projections can judge it."""
        slope = problem.h.lipschitz_constant(problem.shape)
        penalty = isinstance(problem.h, EntrywiseTerm) and 0 < slope < math.inf
        return penalty and isinstance(problem.g, Zero) and Projections.takes(problem) and has_directions(problem)

    def directions(self, problem: Problem) -> int:
        return max(start.directions(problem) for start in INFORMED) if self.knows(problem) else 0

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        if V is None:
            return Random().make(problem, None, rng)
        best = judge(problem, (Known(judge(problem, INFORMED, V, rng)),), V, rng, MORE)
        best = judge(problem, (Known(best), Explored()), V, rng, 0)
        return replace(best, name=f"{best.name}, the best of {len(INFORMED) + 1} starts", near=True)
