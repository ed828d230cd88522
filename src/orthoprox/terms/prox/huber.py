"""The Huber function."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ConvexTerm, EntrywiseTerm
from orthoprox.terms._parameters import check_number


@dataclass(frozen=True)
class Huber(EntrywiseTerm, ConvexTerm):
    r"""The Huber function: :math:`y^2/(2\delta)` up to :math:`\delta`, :math:`|y| - \delta/2` beyond, entry by entry.

    Parameters
    ----------
    delta : float
        Where the parabola passes into the line; positive.
    weight : float
        The factor w that multiplies the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Huber
    >>> Huber(delta=1.0).prox(np.array([[3.0, -1.0]]), mu=1.0)
    array([[ 2. , -0.5]])
    """

    delta: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", check_number(self.delta, "The delta of Huber", above=0.0))
        object.__setattr__(self, "weight", check_weight(self.weight, "Huber"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * math.sqrt(math.prod(shape))

    def value(self, y: Array) -> Scalar:
        # With s = min(|y|, delta) both pieces are s (|y| - s/2) / delta.
        xp = array_namespace(y)
        size = xp.abs(y)
        inner = xp.clip(size, None, self.delta)
        return self.weight * xp.sum(inner / self.delta * (size - inner / 2))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        t = mu * self.weight
        return xp.where(xp.abs(y) <= self.delta + t, y * (self.delta / (self.delta + t)), y - xp.clip(y, -t, t))

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        t, one = mu * self.weight, xp.ones_like(y)
        return xp.where(xp.abs(y) <= self.delta + t, self.delta / (self.delta + t) * one, one)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        slope = self.weight * array_namespace(y).clip(y / self.delta, -1.0, 1.0)
        return slope, slope
