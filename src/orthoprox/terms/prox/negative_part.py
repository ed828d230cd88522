"""The sum of the negative parts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import ConvexTerm, EntrywiseTerm


@dataclass(frozen=True)
class NegativePart(EntrywiseTerm, ConvexTerm):
    r"""The negative part :math:`w \sum_{ij} \max(0, -y_{ij})`: an exact penalty for :math:`y \ge 0`.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import NegativePart
    >>> NegativePart().prox(np.array([[3.0, -0.5, -2.0]]), mu=1.0)
    array([[ 3.,  0., -1.]])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "NegativePart"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * math.sqrt(math.prod(shape))

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.sum(xp.clip(-y, 0.0, None))

    def prox(self, y: Array, mu: Scalar) -> Array:
        return y - backend_of(y).clip(y, -(mu * self.weight), 0.0)

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        return array_namespace(y).astype((y >= 0) | (y <= -(mu * self.weight)), y.dtype)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        w = self.weight * xp.ones_like(y)
        nothing = xp.zeros_like(y)
        return xp.where(y > 0, nothing, -w), xp.where(y < 0, -w, nothing)
