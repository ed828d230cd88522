"""A start that knows nothing of the problem."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.starts._base import Drawn, Start


@dataclass(frozen=True)
class Random(Start):
    """A point drawn uniformly; ``problem.M.random(seed)``.

    Published methods start here unless they are given an X0, and comparisons of methods should.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.starts import Random
    >>> problem = sparse_pca(np.random.default_rng(0).standard_normal((40, 12)), n_components=2, weight=0.1)
    >>> solve(problem, X0=Random(), seed=3).start
    'random'
    """

    name: ClassVar[str] = "random"

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        return Drawn(problem.M.random(rng, like=problem.like), self.name)
