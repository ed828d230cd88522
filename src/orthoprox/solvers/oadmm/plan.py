"""What is chosen once for a problem: which method makes the blocks, and whether the homotopy goes first."""

from __future__ import annotations

from typing import Literal

from orthoprox.problem import Problem
from orthoprox.solvers.oadmm.homotopy import Homotopy
from orthoprox.solvers.oadmm.multipliers import Multipliers
from orthoprox.solvers.oadmm.projections import Projections

Fast = Literal["projections", "multipliers", "gradient"]


def choose_blocks(problem: Problem) -> Fast:
    """The method that makes the blocks: the cheapest one that takes the problem."""
    if Projections.takes(problem):
        return "projections"
    return "multipliers" if Multipliers.takes(problem) else "gradient"


def follows_homotopy(problem: Problem, fast: Fast) -> bool:
    """Whether the weight of h is followed first: the path is made of projections and leads to them."""
    return fast == "projections" and Homotopy.takes(problem)
