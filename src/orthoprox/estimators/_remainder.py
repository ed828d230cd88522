"""What a bounded sketch has left out of the samples, as far as it is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array


@dataclass(frozen=True, eq=False)
class Remainder:
    """What is known of the sums of squares S of the data beside the samples X that stand for them.

    Rows B with B'B <= S, a diagonal that R = S - B'B does not exceed, and the diagonal of R. What X'X lacks of the
    diagonal of S is counted as if the features had so much variance that no other shares.
    """

    own: Array
    """What X'X lacks of the diagonal of S, shape (n,)."""
    rows: Array
    """B, shape (k, n)."""
    diagonal: Array
    """That of R, shape (n,)."""
    most: Array
    """R is at most the diagonal matrix of these, shape (n,)."""

    def features(self, columns: Array) -> Remainder:
        """That of some of the features."""
        return Remainder(self.own[columns], self.rows[:, columns], self.diagonal[columns], self.most[columns])

    def divided(self, mantissa: Array, powers: Array) -> Remainder:
        """That of features divided by their mantissa and multiplied by powers of two."""
        mantissa = mantissa.astype(np.float64)
        parts = (self.own, self.diagonal, self.most)
        own, diagonal, most = (np.ldexp(part / mantissa / mantissa, 2 * powers) for part in parts)
        return Remainder(own, np.ldexp(self.rows / mantissa, powers), diagonal, most)

    def scaled(self, factor: float, power: int) -> Remainder:
        """That of samples whose squares are multiplied by a factor and by a power of four."""
        own, diagonal, most = (np.ldexp(factor * part, 2 * power) for part in (self.own, self.diagonal, self.most))
        return Remainder(own, np.ldexp(math.sqrt(factor) * self.rows, power), diagonal, most)

    def largest_part(self, r: int, k: int) -> float:
        """What R can add to the sum of squares of r orthonormal components with k nonzeros in all.

        P = V'V is a projection of rank r that is zero outside k features. So tr(PR) is at most the sum of the r
        largest of ``most``, and at most the trace of R on those features.
        """
        return float(min(np.sum(_largest(self.most, r)), np.sum(_largest(self.diagonal, k))))


def _largest(values: Array, k: int) -> Array:
    return np.sort(values)[::-1][:k]
