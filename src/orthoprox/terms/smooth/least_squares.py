"""Least squares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from orthoprox._checks import check_matrix, check_weight
from orthoprox._fields import DERIVED, derive, require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.maps import Gram, LinearMap, as_map
from orthoprox.terms._base import QuadraticTerm
from orthoprox.terms._parameters import check_same_shape


@dataclass(frozen=True, eq=False)
class LeastSquares(QuadraticTerm):
    r"""The term :math:`\tfrac{w}{2}\|B(X) - Y\|_F^2`.

    Parameters
    ----------
    B : array, sparse matrix, LinearOperator or LinearMap
        The data; rows are examples.
    Y : array, optional
        What B(X) should be near, of the shape of B(X); zero when it is not given.
    weight : float
        The factor w.
    gram, C, square : optional
        The map X -> B*(B(X)), the matrix B*(Y) and the number ``|Y|^2``; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import LeastSquares
    >>> f = LeastSquares(np.diag([3.0, 1.0]), np.array([[1.0], [1.0]]))
    >>> float(f.value(np.array([[1.0], [0.0]])))
    2.5
    """

    B: Any
    Y: Array | None = None
    weight: float = 1.0
    gram: LinearMap = DERIVED
    C: Array | None = DERIVED
    square: float = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "B", as_map(self.B))
        object.__setattr__(self, "weight", check_weight(self.weight, "LeastSquares", nonnegative=False))
        Y, n = self.Y, self.B.columns
        if Y is not None:
            check_matrix(Y, "Y")
            if n is not None:
                wanted, given = self.B.rows(n), Y.shape[0]
                require(wanted == given, f"Y must have as many rows as B(X), which has {wanted}; given {given}.")
        derive(
            self,
            gram=lambda: Gram(self.B),
            C=lambda: None if Y is None else self.B.adjoint(Y),
            square=lambda: 0.0 if Y is None else float(array_namespace(Y).sum(Y * Y)),
        )

    @property
    def lipschitz(self) -> float:
        return abs(self.weight) * self.gram.norm

    @property
    def upper_curvature(self) -> float:
        return self.lipschitz if self.weight >= 0 else 0.0

    @property
    def left(self) -> bool:
        return self.gram.left

    def product(self, X: Array) -> Array:
        return self.weight * self.gram(X)

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        xp = array_namespace(X)
        quadratic = xp.sum(X * HX) / 2
        if self.C is None:
            return quadratic
        check_same_shape(X, self.C.shape, "The matrix B*(Y) of LeastSquares")
        return quadratic + self.weight * (self.square / 2 - xp.sum(self.C * X))

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        if self.C is None:
            return HX
        check_same_shape(X, self.C.shape, "The matrix B*(Y) of LeastSquares")
        return HX - self.weight * self.C
