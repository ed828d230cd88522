"""The Frobenius norm."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ConvexTerm


@dataclass(frozen=True)
class FrobeniusNorm(ConvexTerm):
    r"""The Frobenius norm :math:`w \|X\|_F`.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import FrobeniusNorm
    >>> FrobeniusNorm().subgradient(np.array([[3.0, -4.0]]))
    array([[ 0.6, -0.8]])
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "FrobeniusNorm"))

    def value(self, X: Array) -> Scalar:
        return self.weight * norm(X)

    def subgradient(self, X: Array) -> Array:
        # At zero, zero.
        xp = array_namespace(X)
        size = norm(X)
        return X * xp.where(size > 0, self.weight / xp.where(size > 0, size, 1.0), 0.0)
