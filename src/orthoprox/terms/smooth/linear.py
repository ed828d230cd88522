"""A linear function of X."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._checks import check_matrix, check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import QuadraticTerm
from orthoprox.terms._parameters import check_same_shape


@dataclass(frozen=True, eq=False)
class Linear(QuadraticTerm):
    r"""The linear function :math:`w \langle C, X \rangle`.

    It counts as quadratic, with H = 0, so that a quadratic plus a linear term is still quadratic.

    Parameters
    ----------
    C : array
        The coefficients, of the shape of X.
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Linear
    >>> float(Linear(np.array([[1.0], [2.0]])).value(np.array([[3.0], [1.0]])))
    5.0
    """

    C: Array
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_matrix(self.C, "C")
        object.__setattr__(self, "weight", check_weight(self.weight, "Linear", nonnegative=False))

    @property
    def lipschitz(self) -> float:
        return 0.0

    @property
    def left(self) -> bool:
        return True

    def product(self, X: Array) -> Array:
        return array_namespace(X).zeros_like(X)

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        check_same_shape(X, self.C.shape, "The matrix C of Linear")
        return self.weight * array_namespace(X).sum(self.C * X)

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        check_same_shape(X, self.C.shape, "The matrix C of Linear")
        return self.weight * self.C
