"""The largest magnitude."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import ConvexTerm, ProximableTerm


@dataclass(frozen=True)
class LInf(ProximableTerm, ConvexTerm):
    r"""The largest magnitude :math:`w \max_{ij} |y_{ij}|` of the whole array; its prox cuts the largest entries off.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import LInf
    >>> LInf().prox(np.array([[3.0, -2.5, 1.0]]), mu=1.5)
    array([[ 2.,  -2.,  1.]])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "LInf"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.max(xp.abs(y))

    def prox(self, y: Array, mu: Scalar) -> Array:
        # Moreau: y minus its projection on the l1 ball of radius mu w, which shrinks all entries by the height
        # below; so that difference is y cut off at the height. Over the first k of the sorted magnitudes the
        # height is (their sum - radius) / k, and the right k is the one that makes it largest.
        xp = array_namespace(y)
        sizes = xp.sort(xp.reshape(xp.abs(y), (-1,)), descending=True)
        count = xp.cumulative_sum(xp.ones_like(sizes))
        heights = (xp.cumulative_sum(sizes) - mu * self.weight) / count
        height = xp.clip(xp.max(heights), 0.0, None)
        return xp.clip(y, -height, height)

    def subgradient(self, y: Array) -> Array:
        # The first of the largest entries, or nothing at zero.
        xp = array_namespace(y)
        return self.weight * xp.where(backend_of(y).top_k_mask(xp.abs(y), 1), backend_of(y).sign(y), 0.0)
