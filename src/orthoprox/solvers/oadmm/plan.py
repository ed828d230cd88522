"""What is chosen once for a problem: which method makes the blocks, and whether the homotopy goes first."""

from __future__ import annotations

from typing import Literal

from orthoprox.problem import Problem
from orthoprox.solvers._base import UnsupportedProblem
from orthoprox.solvers.oadmm.homotopy import Homotopy
from orthoprox.solvers.oadmm.multipliers import Multipliers
from orthoprox.solvers.oadmm.projections import Projections

Fast = Literal["projections", "multipliers", "gradient"]
IN_WORDS: dict[Fast, str] = {
    "projections": "projections, as in oadmm-ep",
    "multipliers": "multipliers, by Newton's method",
    "gradient": "gradient steps, those of manial-1",
}


def choose_blocks(problem: Problem) -> Fast:
    """The method that makes the blocks: the cheapest one that takes the problem."""
    if Projections.takes(problem):
        return "projections"
    return "multipliers" if Multipliers.takes(problem) else "gradient"


def check_blocks(problem: Problem, fast: Fast) -> None:
    """Refuse a method that does not take the problem."""
    takes = {"projections": Projections.takes, "multipliers": Multipliers.takes}
    if fast in takes and not takes[fast](problem):
        wanted = (
            "A = I and a concave f" if fast == "projections" else "an h with a prox derivative and an f with a Hessian"
        )
        raise UnsupportedProblem(f"oadmm with fast={fast!r} needs {wanted}. Leave fast out to have it chosen.")


def follows_homotopy(problem: Problem, fast: Fast) -> bool:
    """Whether the weight of h is followed first: the path is made of projections and leads to them."""
    return fast == "projections" and Homotopy.takes(problem)
