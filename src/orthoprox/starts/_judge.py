"""Judges starts by what a few iterations make of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts._base import Drawn, Start
from orthoprox.starts.random import Random

BLOCKS = 4
"""Blocks from each start: among 1, 2, 4 and 8. At the start itself F says little about where a run from it ends."""


@dataclass(frozen=True, eq=False)
class Known(Start):
    """A point that is already there."""

    drawn: Drawn

    @property
    def name(self) -> str:
        return self.drawn.name

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        return self.drawn


def judge(
    problem: Problem, starts: Sequence[Start], V: Array | None, rng: np.random.Generator, blocks: int = BLOCKS
) -> Drawn:
    """Give each start some blocks at the last penalty, as long as there is time, and keep the lowest F.

    The work is that of all. A point without a finite F is passed over; a random one is returned if there is no other.
    """
    method, work, best, lowest = Projections(explore=0), 0, None, math.inf
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
        for at in seen:
            if at.objective < lowest:
                best, lowest = Drawn(at.point.X, start.name), at.objective
    best = best or Drawn(problem.M.random(rng, like=problem.like), Random.name)
    return replace(best, work=work)
