"""How many samples were seen, their weights and their mean, which moves with every block.

T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance: analysis and recommendations",
The American Statistician 37, 1983 (how the sums of squares of two groups are joined).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import replace, require
from orthoprox._powers import LEAST, column_exponents
from orthoprox._types import Array
from orthoprox.maps.sparse import is_sparse


@dataclass(frozen=True, eq=False)
class Moments:
    """The weights and the mean of samples, each feature in a unit of its own, a power of two that only rises.

    In these units no entry exceeds 2, so that no sum of squares overflows, and a feature keeps its digits whatever the
    unit of another one is. The mean is a sum of two numbers: the first is near the samples, so that what is left of
    them has the size of their spread, and nothing at all where a feature is constant.
    """

    powers: Array
    """The unit of feature j is 2^powers[j]."""
    high: Array
    low: Array
    half_life: float | None = None
    n_samples: int = 0
    weight: float = 0.0
    """The sum of the weights of all samples, of which the last has the weight 1."""
    squares: float = 0.0
    """The sum of their squares."""
    single: bool = True
    """Whether all samples were in single precision, as what is fitted to them is then."""

    @classmethod
    def none(cls, n: int, half_life: float | None) -> Moments:
        """Of no samples."""
        return cls(np.full(n, LEAST, dtype=np.int32), np.zeros(n), np.zeros(n), half_life)

    @property
    def n(self) -> int:
        return len(self.powers)

    @property
    def mean(self) -> Array:
        """In the units of the data."""
        most = np.finfo(np.float64).max  # a mean of the largest numbers may be rounded beyond them
        with np.errstate(over="ignore"):
            return np.clip(np.ldexp(self.high, self.powers) + np.ldexp(self.low, self.powers), -most, most)

    @property
    def divisor(self) -> float:
        """What turns sums of squares into variances: m - 1 for m samples of equal weight."""
        return self.weight - self.squares / self.weight if self.n_samples > 1 else 1.0

    @property
    def effective_samples(self) -> float:
        """The number of samples of equal weight whose mean would be as accurate."""
        return self.weight**2 / self.squares if self.n_samples else 0.0

    def decay(self, m: int) -> float:
        """What is left of the weight of a sample when m others have followed."""
        return 1.0 if self.half_life is None else 2.0 ** (-m / self.half_life)

    def weights(self, m: int) -> Array:
        """Those of the samples of a block, of which the last has the weight 1."""
        return np.ones(m) if self.half_life is None else np.exp2((np.arange(m) + 1 - m) / self.half_life)

    def absorb(self, X: Any) -> Step:
        """A block of samples, dense or by rows; a sparse one stays sparse."""
        m, single = X.shape[0], self.single and X.dtype == np.float32
        powers = np.maximum(self.powers, column_exponents(X))
        shift = self.powers - powers
        high, low = np.ldexp(self.high, shift), np.ldexp(self.low, shift)
        block = _SparseBlock if is_sparse(X) else _DenseBlock
        rows, high, inside = block.near(X, powers, high if self.n_samples else None)
        w, factor = self.weights(m), self.decay(m)
        after = replace(self, powers=powers, n_samples=self.n_samples + m, single=single)
        centre, total = (w @ rows) / math.fsum(w), math.fsum(w)
        joined, move = _join(
            after, high, low, factor * self.weight, factor**2 * self.squares, centre - inside, total, float(w @ w)
        )
        rows, taken = block.centred(rows, centre, None if self.half_life is None else np.sqrt(w))
        return Step(joined, shift, factor, rows, move, taken, total)

    def merge(self, other: Moments) -> tuple[Moments, Array, Array, Array]:
        """The moments of both, how the units of either rise, and what the distance of the means adds."""
        powers = np.maximum(self.powers, other.powers)
        shifts = self.powers - powers, other.powers - powers
        after = replace(
            self,
            powers=powers,
            n_samples=self.n_samples + other.n_samples,
            single=self.single and other.single,
        )
        high, low = np.ldexp(self.high, shifts[0]), np.ldexp(self.low, shifts[0])
        far = np.ldexp(other.high, shifts[1]) - high
        centre = far + np.ldexp(other.low, shifts[1])
        joined, move = _join(after, high, low, self.weight, self.squares, centre, other.weight, other.squares)
        return joined, *shifts, move


@dataclass(frozen=True, eq=False)
class Step:
    """What a block adds.

    The sum of squares about the new mean is the old one times ``factor``, plus that of ``rows`` about ``centre``, plus
    that of ``move``, all in the new units.
    """

    moments: Moments
    shift: Array
    factor: float
    rows: Any
    move: Array
    centre: Array | None
    weight: float

    def scatter(self) -> Array:
        """The sums of products, shape (n, n)."""
        if self.centre is None:
            S = self.rows.T @ self.rows
            return np.asarray(S) if not np.any(self.move) else add_outer(S, self.move, self.move)
        S = (self.rows.T @ self.rows).toarray()
        S = add_outer(S, -self.weight * self.centre, self.centre)
        return add_outer(S, self.move, self.move)


def add_outer(S: Array, a: Array, b: Array) -> Array:
    """S + a b', in place, a few rows at a time."""
    for first in range(0, len(S), 256):
        part = slice(first, first + 256)
        S[part] += a[part, None] * b
    return S


def _join(
    after: Moments, high: Array, low: Array, w: float, squares: float, centre: Array, v: float, more: float
) -> tuple[Moments, Array]:
    """Samples of weight v about high + centre join those of weight w about high + low."""
    total = w + v
    gap = centre - low
    low = low + (v / total) * gap if total > 0 else low
    whole = high + low
    lost = whole - high
    low = (high - (whole - lost)) + (low - lost)  # what the sum has rounded away, exactly
    joined = replace(after, high=whole, low=low, weight=total, squares=squares + more)
    return joined, math.sqrt(w / total * v) * gap if total > 0 else 0.0 * gap


class _DenseBlock:
    """A block as an array."""

    @staticmethod
    def near(X: Array, powers: Array, high: Array | None) -> tuple[Array, Array, Array]:
        """The block in units, less a vector that is near; that vector, and how far it is from ``high``."""
        Y = np.ldexp(np.ascontiguousarray(X, dtype=np.float64), -powers)  # one order of sums
        if high is None:
            high = Y[0].copy()
        Y -= high
        return Y, high, np.zeros_like(high)

    @staticmethod
    def centred(Y: Array, centre: Array, roots: Array | None) -> tuple[Array, None]:
        Y -= centre
        if roots is not None:
            Y *= roots[:, None]
        return Y, None


class _SparseBlock:
    """A block by rows. Columns without a zero are centred as they are, the others in the sums of squares.

    A column with a zero spreads about as far as its mean, so that its sum of squares less that of the mean keeps its
    digits; a full column may lie far from zero and spread little.
    """

    @staticmethod
    def near(X: Any, powers: Array, high: Array | None) -> tuple[Any, Array, Array]:
        Y = X.astype(np.float64)
        Y.sum_duplicates()
        Y.data = np.ldexp(Y.data, -powers[Y.indices])
        full = np.bincount(Y.indices, minlength=Y.shape[1]) == Y.shape[0]
        if high is None:
            high = np.where(full, np.asarray(Y[[0]].todense()).ravel(), 0.0)
        inside = np.where(full, high, 0.0)
        Y.data -= inside[Y.indices]
        return Y, high, high - inside

    @staticmethod
    def centred(Y: Any, centre: Array, roots: Array | None) -> tuple[Any, Array]:
        if roots is not None:
            Y.data *= np.repeat(roots, np.diff(Y.indptr))
        return Y, centre


def check_half_life(half_life: Any) -> float | None:
    """A number of at least 1, or None.

    With less, the latest sample would outweigh all others together, and with far less nothing but it would be left.
    """
    if half_life is None:
        return None
    try:
        value = float(half_life)
    except (TypeError, ValueError):
        raise TypeError(f"half_life must be a number of samples or None; given {half_life!r}.") from None
    require(1 <= value < math.inf, f"half_life must be a finite number of samples, at least 1; given {value:g}.")
    return value
