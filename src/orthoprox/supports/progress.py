"""How far a search has come: its rounds, and the best point so far."""

from __future__ import annotations

from dataclasses import dataclass, field

from orthoprox._types import Array
from orthoprox.supports.points import Points


@dataclass
class Progress:
    """Rounds of exchanges taken and allowed, and the best point so far, which survives an interruption."""

    most: int
    rounds: int = 0
    X: Array | None = None
    value: float = field(default=float("-inf"))

    @property
    def over(self) -> bool:
        """Whether the rounds are used up."""
        return self.rounds >= self.most

    def tick(self) -> bool:
        """Take a round if one is left."""
        if self.over:
            return False
        self.rounds += 1
        return True

    def offer(self, points: Points) -> None:
        """Keep the first point if it is the best so far."""
        if points.values[0] > self.value:
            self.X, self.value = points.X[0], float(points.values[0])
