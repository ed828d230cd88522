"""Several starts, of which the best goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoprox._fields import replace, require
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.starts._base import Drawn, Start, check_projections
from orthoprox.starts._judge import BLOCKS, judge


@dataclass(frozen=True)
class Best(Start):
    """The best of several starts, judged by F after a few blocks of iterations from each.

    The run goes on from where the best one has got to. The blocks are those of the default solver at its last penalty,
    for A = I and a concave f.

    Parameters
    ----------
    of : tuple of Start
    blocks : int
        Blocks of iterations from each start; with 0 they are judged as they are.
    explore : bool
        Whether a method that explores first does so from here.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.starts import Best, Leading, Random
    >>> problem = sparse_pca(np.random.default_rng(0).standard_normal((40, 12)), n_components=2, weight=0.1)
    >>> solve(problem, X0=Best((Leading(), Random(), Random())), seed=3).converged
    True
    """

    name: ClassVar[str] = "best"

    of: tuple[Start, ...]
    blocks: int = BLOCKS
    explore: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))
        wrong = [type(start).__name__ for start in self.of if not isinstance(start, Start)]
        require(len(self.of) > 0 and not wrong, f"Best needs starts, as in Best((Leading(), Random())); given {wrong}.")
        require(self.blocks >= 0, f"blocks must not be negative; given {self.blocks}.")

    def check(self, problem: Problem) -> None:
        for start in self.of:
            start.check(problem)
        if self.blocks:
            check_projections(problem, "Best with blocks > 0")

    def directions(self, problem: Problem) -> int:
        return max(start.directions(problem) for start in self.of)

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        best = judge(problem, self.of, V, rng, self.blocks)
        return replace(best.drawn, name=f"{best.drawn.name}, the best of {len(self.of)} starts", near=not self.explore)
