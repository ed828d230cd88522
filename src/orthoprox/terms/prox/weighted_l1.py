"""The l1 norm with a weight for each entry."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from array_api_compat import is_array_api_obj

from orthoprox._checks import check_floating, check_weight
from orthoprox._fields import DERIVED, derive, require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ConvexTerm, EntrywiseTerm
from orthoprox.terms._parameters import check_broadcasts


@dataclass(frozen=True, eq=False)
class WeightedL1(EntrywiseTerm, ConvexTerm):
    r"""The weighted l1 norm :math:`w \sum_{ij} c_{ij} |y_{ij}|`.

    Parameters
    ----------
    weights : array
        The numbers c, not negative; of the shape of y, or one that extends to it.
    weight : float
        The factor w.
    square : float
        The sum of the squares of c; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import WeightedL1
    >>> WeightedL1(np.array([[1.0, 0.0]])).prox(np.array([[3.0, -0.5], [0.2, 4.0]]), mu=0.5)
    array([[ 2.5, -0.5],
           [ 0. ,  4. ]])
    """

    weights: Array
    weight: float = 1.0
    square: float = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "WeightedL1"))
        _check_weights(self.weights)
        derive(self, square=lambda: float(array_namespace(self.weights).sum(self.weights * self.weights)))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        copies = math.prod(shape) / math.prod(self.weights.shape)
        return self.weight * math.sqrt(self.square * copies)

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.sum(self._beside(y) * xp.abs(y))

    def prox(self, y: Array, mu: Scalar) -> Array:
        t = (mu * self.weight) * self._beside(y)
        return y - array_namespace(y).clip(y, -t, t)

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        return xp.astype(xp.abs(y) >= (mu * self.weight) * self._beside(y), y.dtype)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        w = (self.weight * self._beside(y)) * xp.ones_like(y)
        return xp.where(y > 0, w, -w), xp.where(y < 0, -w, w)

    def _beside(self, y: Array) -> Array:
        """The weights in the float type of y, if they extend to its shape."""
        check_broadcasts(self.weights, y, "The array of weights of WeightedL1")
        return array_namespace(y).astype(self.weights, y.dtype, copy=False)


def _check_weights(weights: Any) -> None:
    if not is_array_api_obj(weights):
        raise TypeError(
            f"The weights of WeightedL1 must be an array; given {type(weights).__name__}. "
            "For one weight for all entries use L1."
        )
    check_floating(weights, "The array of weights of WeightedL1")
    shape = tuple(weights.shape)
    require(
        1 <= len(shape) <= 2 and 0 not in shape,
        f"The weights of WeightedL1 must have one or two dimensions and not be empty; given shape {shape}.",
    )
    xp = array_namespace(weights)
    # A NaN fails this comparison too.
    good = bool(xp.all((weights >= 0) & xp.isfinite(weights)))
    require(good, "The weights of WeightedL1 must be finite and not negative; given some that are not.")
