"""The constraint that no entry is negative."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import EntrywiseTerm
from orthoprox.terms._parameters import as_scalar


@dataclass(frozen=True)
class Nonnegative(EntrywiseTerm):
    """The constraint y >= 0: zero where it holds, infinite where an entry is negative, however little.

    It is not Lipschitz, and most methods refuse it; OBCD keeps it exactly. For a penalty that every method takes see
    :class:`NegativePart`. Where an entry is negative the subdifferential is empty and the distance to it infinite.

    Parameters
    ----------
    weight : float
        Of no effect as long as it is positive: a multiple of a constraint is the same constraint. Zero lifts it.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Nonnegative
    >>> y = np.array([[3.0, -0.5]])
    >>> float(Nonnegative().value(y)), Nonnegative().prox(y, mu=1.0)
    (inf, array([[3., 0.]]))
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "Nonnegative"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return math.inf if self.weight > 0 else 0.0

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        nothing = as_scalar(0.0, y)
        return xp.where(xp.all(y >= 0), nothing, as_scalar(math.inf, y)) if self.weight > 0 else nothing

    def prox(self, y: Array, mu: Scalar) -> Array:
        return array_namespace(y).clip(y, 0.0, None) if self.weight > 0 else y

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        return xp.astype(y >= 0, y.dtype) if self.weight > 0 else xp.ones_like(y)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        nothing = xp.zeros_like(y)
        if self.weight == 0:
            return nothing, nothing
        low = xp.where(y == 0, -math.inf, nothing)
        # of a negative entry it is empty: its lower end is above its upper one
        return xp.where(y < 0, math.inf, low), xp.where(y < 0, -math.inf, nothing)

    def subgradient(self, y: Array) -> Array:
        return array_namespace(y).zeros_like(y)
