"""The sum of the singular values."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import ConvexTerm, ProximableTerm


@dataclass(frozen=True)
class Nuclear(ProximableTerm, ConvexTerm):
    r"""The nuclear norm :math:`w \sum_i \sigma_i(y)`, whose prox shrinks the singular values towards zero.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Nuclear
    >>> float(Nuclear(0.5).value(np.array([[3.0, 0.0], [0.0, -4.0]])))
    3.5
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "Nuclear"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * math.sqrt(min(shape))

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.sum(xp.linalg.svdvals(y))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        U, S, Vh = xp.linalg.svd(y, full_matrices=False)
        return (U * xp.clip(S - mu * self.weight, 0.0, None)) @ Vh

    def subgradient(self, y: Array) -> Array:
        # U V' over the singular values that are not zero up to rounding.
        xp = array_namespace(y)
        U, S, Vh = xp.linalg.svd(y, full_matrices=False)
        rounding = max(y.shape) * backend_of(y).eps(y) * S[0]
        return (U * xp.where(S > rounding, self.weight, xp.zeros_like(S))) @ Vh
