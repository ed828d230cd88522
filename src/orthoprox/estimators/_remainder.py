"""What a bounded sketch has left out of the samples: a matrix of which the diagonal and an upper bound are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array


@dataclass(frozen=True, eq=False)
class Remainder:
    """A positive semidefinite R with X'X + R the sums of squares of the data: its diagonal, and a bound.

    The diagonal is counted among the samples, as if the features had so much variance that no other shares; what is
    left of R then has a zero diagonal.
    """

    own: Array
    """The diagonal of R, shape (n,)."""
    most: Array
    """R is at most the diagonal matrix of these, shape (n,)."""

    def features(self, columns: Array) -> Remainder:
        """That of some of the features."""
        return Remainder(self.own[columns], self.most[columns])

    def divided(self, mantissa: Array, powers: Array) -> Remainder:
        """That of features divided by their mantissa and multiplied by powers of two."""
        mantissa = mantissa.astype(np.float64)
        own, most = (np.ldexp(part / mantissa / mantissa, 2 * powers) for part in (self.own, self.most))
        return Remainder(own, most)

    def scaled(self, factor: float, power: int) -> Remainder:
        """Times a factor and a power of two."""
        return Remainder(np.ldexp(factor * self.own, power), np.ldexp(factor * self.most, power))

    def largest_part(self, r: int, k: int) -> float:
        """What R can add to the sum of squares of r orthonormal components with k nonzeros in all.

        P = V'V is a projection of rank r that is zero outside k features. So tr(PR) is at most the sum of the r
        largest of ``most``, and at most the trace of R on those features.
        """
        return float(min(np.sum(_largest(self.most, r)), np.sum(_largest(self.own, k))))


def _largest(values: Array, k: int) -> Array:
    return np.sort(values)[::-1][:k]
