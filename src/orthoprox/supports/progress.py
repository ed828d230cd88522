"""How far a search has come: its rounds, and the best point so far."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.supports.points import Points


@dataclass
class Progress:
    """Rounds of exchanges taken and allowed, and the best point so far, which survives an interruption."""

    most: int = sys.maxsize
    rounds: int = 0
    cut: bool = False
    value: float = -math.inf
    features: Array | None = None
    """The features among which the search goes on, if not all."""
    n: int = 0
    _best: Array | None = None

    @property
    def best(self) -> Array | None:
        """The best point so far, shape (n, r)."""
        return self._best

    @property
    def over(self) -> bool:
        """Whether the rounds are used up."""
        return self.rounds >= self.most

    def ends(self) -> bool:
        """Whether the rounds are used up, now that another one is wanted: then the search was cut short."""
        self.cut = self.cut or self.over
        return self.over

    def tick(self) -> bool:
        """Take a round if one is left."""
        if self.ends():
            return False
        self.rounds += 1
        return True

    def offer(self, points: Points) -> None:
        """Keep the first point if it is the best so far."""
        if points.values[0] <= self.value:
            return
        X = points.X[0]
        if self.features is not None:
            X, part = np.zeros((self.n, X.shape[1])), X
            X[self.features] = part
        self._best, self.value = X, float(points.values[0])
