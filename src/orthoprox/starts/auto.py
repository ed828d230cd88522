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
from orthoprox.starts._judge import BLOCKS, Found, Judged, judge
from orthoprox.starts.explored import Explored
from orthoprox.starts.random import Random
from orthoprox.starts.turned import Varimax
from orthoprox.terms import EntrywiseTerm, Zero

INFORMED = (Varimax(), Varimax(among=2.0))
"""What is judged first. Chosen, as was the share below, on data that no table has: docs/decisions/016-starts.md."""
MORE = 2 * BLOCKS
KEPT = 0.9
"""Share of f at the leading directions. Where the best start keeps less, h rules: a random point is explored too."""


@dataclass(frozen=True)
class Auto(Start):
    """What a run of the default solver starts from when it is given no X0.

    It takes problems such as sparse PCA with a penalty: f quadratic, concave and a function of the span of X alone, no
    g, A = I, and an entrywise Lipschitz h. For other problems it is ``Random()``.

    The leading directions of f are turned by varimax, r of them and 2 r of them, of which r columns are kept. Both
    points get a few blocks of iterations, and the lower F goes on. Where h has cost that point more than a tenth of f,
    or costs more than f gains, the leading directions say little; then a random point is explored too.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((60, 4)) @ np.kron(np.eye(4), np.ones((1, 5)))
    >>> solve(sparse_pca(D, n_components=4, weight=0.1)).start.endswith("the best of 2 starts")
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
        tried, best = len(INFORMED), judge(problem, INFORMED, V, rng)
        if not self._keeps(problem, best, V):
            # A point that was explored has settled; the best one so far gets more blocks before it is compared.
            best = judge(problem, (Found(best.drawn),), V, rng, MORE)
            tried, best = tried + 1, judge(problem, (Found(best.drawn), Explored()), V, rng, 0)
        return replace(best.drawn, name=f"{best.drawn.name}, the best of {tried} starts", near=True)

    @staticmethod
    def _keeps(problem: Problem, best: Judged, V: Array) -> bool:
        """Whether f at the best start is nearly what it is at the leading directions, and more than h costs there."""
        least, now = (float(problem.f.value(X)) for X in (V[:, : problem.M.r], best.drawn.X))
        return now <= KEPT * least and best.objective <= problem.offset
