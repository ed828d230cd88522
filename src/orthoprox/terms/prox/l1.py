"""The l1 norm."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import ConvexTerm, EntrywiseTerm


@dataclass(frozen=True)
class L1(EntrywiseTerm, ConvexTerm):
    r"""The l1 norm :math:`w \|y\|_1`, whose prox shrinks each entry towards zero.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1
    >>> (2.0 * L1()).prox(np.array([[3.0, -0.5]]), mu=0.5)
    array([[2., 0.]])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "L1"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * math.sqrt(math.prod(shape))

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.sum(xp.abs(y))

    def prox(self, y: Array, mu: Scalar) -> Array:
        # y minus its part in [-t, t]: two passes and no sign, which matters for large arrays
        t = mu * self.weight
        return y - backend_of(y).clip(y, -t, t)

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        return xp.astype(xp.abs(y) >= mu * self.weight, y.dtype)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        w = self.weight * xp.ones_like(y)
        return xp.where(y > 0, w, -w), xp.where(y < 0, -w, w)

    def subgradient(self, y: Array) -> Array:
        return self.weight * backend_of(y).sign(y)
