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
from orthoprox.solvers.oadmm.tuning import EXPLORE
from orthoprox.starts._base import Drawn, Start
from orthoprox.starts._directions import has_directions
from orthoprox.starts._judge import BLOCKS, Found, Judged, judge
from orthoprox.starts.explored import Explored
from orthoprox.starts.random import Random
from orthoprox.starts.turned import Varimax
from orthoprox.terms import EntrywiseTerm, Zero

INFORMED = (Varimax(), Varimax(among=2.0))
"""What is judged first. Chosen, as were the shares below, on data that no table has: docs/decisions/016-starts.md."""
MORE = 2 * BLOCKS
KEPT = 0.98
"""Share of f at the leading directions. Where the best start keeps less, h matters: a random point is explored too."""
EVEN = 1e-4
"""Share of f at the leading directions by which two settled points of one minimum differ at most."""


@dataclass(frozen=True)
class Auto(Start):
    """What a run of the default solver starts from when it is given no X0.

    It takes problems such as sparse PCA with a penalty: f quadratic, concave and a function of the span of X alone, no
    g, A = I, and an entrywise Lipschitz h. For other problems it is ``Random()``.

    The leading directions of f are turned by varimax, r of them and 2 r of them, of which r columns are kept. Both
    points get a few blocks of iterations, and the lower F goes on. Where h has cost that point more than a fiftieth of
    f, or costs more than f gains, a random point is explored in short. If it ends at the same F, the minimum is taken
    as found. If not, the race goes on: a random point is explored in full, and the run roams from the lowest of all.

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
        best = judge(problem, INFORMED, V, rng)
        if self._keeps(problem, best, V):
            return _named(best, len(INFORMED), near=True)
        # A point that was explored has settled; the best one so far gets more blocks before it is compared.
        one = judge(problem, (Found(best.drawn),), V, rng, MORE)
        other = judge(problem, (Explored(),), V, rng, 0)
        best = judge(problem, (Found(one.drawn), Found(other.drawn)), V, rng, 0)
        if _are_even(problem, one, other, V):
            return _named(best, len(INFORMED) + 1, near=True)
        best = judge(problem, (Found(best.drawn), Explored(rises=EXPLORE)), V, rng, 0)
        return _named(best, len(INFORMED) + 2, near=False)

    @staticmethod
    def _keeps(problem: Problem, best: Judged, V: Array) -> bool:
        """Whether f at the best start is nearly what it is at the leading directions, and more than h costs there."""
        least, now = (float(problem.f.value(X)) for X in (V[:, : problem.M.r], best.drawn.X))
        return now <= KEPT * least and best.objective <= problem.offset


def _are_even(problem: Problem, one: Judged, other: Judged, V: Array) -> bool:
    """Whether two settled points are at the same minimum, as far as F tells."""
    unit = abs(float(problem.f.value(V[:, : problem.M.r])))
    return abs(one.objective - other.objective) <= EVEN * unit


def _named(best: Judged, tried: int, *, near: bool) -> Drawn:
    return replace(best.drawn, name=f"{best.drawn.name}, the best of {tried} starts", near=near)
