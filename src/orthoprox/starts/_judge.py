"""Judges starts by what a few iterations make of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._linalg import rounding
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts._base import Drawn, Start
from orthoprox.starts.random import Random

BLOCKS = 4
"""Blocks from each start: among 1, 2, 4 and 8. At the start itself F says little about where a run from it ends."""


@dataclass(frozen=True, eq=False)
class Found(Start):
    """A point that is already there."""

    drawn: Drawn

    @property
    def name(self) -> str:
        return self.drawn.name

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        return self.drawn


class Judged(NamedTuple):
    """The best start as far as it has got, with the work of all, and its F."""

    drawn: Drawn
    objective: float


def judge(
    problem: Problem, starts: Sequence[Start], V: Array | None, rng: np.random.Generator, blocks: int = BLOCKS
) -> Judged:
    """Give each start some blocks at the last penalty, as long as there is time, and keep the lowest F.

    Of starts that end at one minimum the first is kept: which one is lower there is rounding. A point without a finite
    F is passed over; where there is no other, a random point is returned.
    """
    method, work, best = Projections(explore=0), 0, None
    for start in starts:
        if best is not None and is_over():
            break
        drawn = start.make(problem, V, rng)
        state = method.init(problem, drawn.X)
        seen = [state.at]
        for _ in range(blocks):
            state = method.step(problem, state)
            seen.append(state.at)  # at a penalty that is too low for a heavy h, F may rise again
        work += drawn.work + 1 + method.work(state)
        finite = [at for at in seen if at.objective < math.inf]
        if not finite:
            continue
        at = min(finite, key=lambda at: at.objective)
        level = at.objective + rounding(at.point.X, abs(at.objective) + abs(problem.offset))
        if best is None or level < best.objective:
            best = Judged(Drawn(at.point.X, start.name), at.objective)
    if best is None:
        return Judged(Drawn(problem.M.random(rng, like=problem.like), Random.name, work), math.inf)
    return Judged(Drawn(best.drawn.X, best.drawn.name, work), best.objective)
