"""The variance explained by X, with a minus sign."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orthoprox._checks import check_weight
from orthoprox._fields import DERIVED, derive
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.maps import Gram, LinearMap, as_map
from orthoprox.terms._base import QuadraticTerm


@dataclass(frozen=True, eq=False)
class ExplainedVariance(QuadraticTerm):
    r"""The term :math:`-\tfrac{w}{2}\|B(X)\|_F^2`: the reconstruction error of PCA, up to a constant.

    It is concave, so ``upper_curvature`` is zero (unless the weight is negative).

    Parameters
    ----------
    B : array, sparse matrix, LinearOperator or LinearMap
        The data; rows are examples.
    weight : float
        The factor w.
    gram : LinearMap
        The map X -> B*(B(X)); computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import ExplainedVariance
    >>> f = ExplainedVariance(np.diag([3.0, 1.0]))
    >>> float(f.value(np.array([[1.0], [0.0]])))
    -4.5
    """

    B: Any
    weight: float = 1.0
    gram: LinearMap = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "B", as_map(self.B))
        object.__setattr__(self, "weight", check_weight(self.weight, "ExplainedVariance", nonnegative=False))
        derive(self, gram=lambda: Gram(self.B))

    @property
    def lipschitz(self) -> float:
        return abs(self.weight) * self.gram.norm

    @property
    def upper_curvature(self) -> float:
        return 0.0 if self.weight >= 0 else self.lipschitz

    @property
    def rotation_invariant(self) -> bool:
        return bool(self.B.left)

    @property
    def left(self) -> bool:
        return bool(self.B.left)

    def product(self, X: Array) -> Array:
        return -self.weight * self.gram(X)

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        return array_namespace(X).sum(X * HX) / 2

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        return HX
