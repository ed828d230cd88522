"""The number of entries that are not zero."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import EntrywiseTerm
from orthoprox.terms._parameters import as_scalar


@dataclass(frozen=True)
class L0(EntrywiseTerm):
    r"""The number of nonzero entries :math:`w \|y\|_0`, whose prox keeps the entries above a threshold as they are.

    It is neither Lipschitz nor weakly convex, and most methods refuse it; OBCD takes it. Its subdifferential is the
    limiting one: zero at an entry that is not zero, the whole line at one that is. Only exact zeros count as zero.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L0
    >>> (2.0 * L0()).prox(np.array([[3.0, -2.0, 1.5]]), mu=1.0)  # keeps what is above sqrt(2 mu w), here 2
    array([[3., 0., 0.]])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "L0"))

    @property
    def weak_convexity(self) -> float:
        return math.inf if self.weight > 0 else 0.0

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return math.inf if self.weight > 0 else 0.0

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.sum(xp.astype(y != 0, y.dtype))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        return xp.where(xp.abs(y) > self._threshold(y, mu), y, 0.0)

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        return xp.astype(xp.abs(y) >= self._threshold(y, mu), y.dtype)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        end = math.inf if self.weight > 0 else 0.0
        high = xp.where(y == 0, end * xp.ones_like(y), xp.zeros_like(y))
        return -high, high

    def subgradient(self, y: Array) -> Array:
        return array_namespace(y).zeros_like(y)

    def _threshold(self, y: Array, mu: Scalar) -> Array:
        """Where y and 0 cost the same: ``mu w = y^2 / 2``."""
        return array_namespace(y).sqrt(as_scalar(2 * mu * self.weight, y))
