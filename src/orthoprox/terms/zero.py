"""The absent term."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product
from orthoprox.terms._base import ConvexTerm, EntrywiseTerm, SmoothTerm
from orthoprox.terms._parameters import as_scalar


@dataclass(frozen=True)
class Zero(SmoothTerm, EntrywiseTerm, ConvexTerm):
    """The function that is zero everywhere: smooth, convex and proximable, so it stands for any absent part.

    Parameters
    ----------
    weight : float
        Of no effect; there so that the term can be scaled like any other.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Zero
    >>> float(Zero().value(np.ones((3, 2))))
    0.0
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "Zero", nonnegative=False))

    @property
    def lipschitz(self) -> float:
        return 0.0

    @property
    def rotation_invariant(self) -> bool:
        return True

    @property
    def left(self) -> bool:
        return True

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return 0.0

    def value(self, X: Array) -> Scalar:
        return as_scalar(0.0, X)

    def gradient(self, X: Array) -> Array:
        return array_namespace(X).zeros_like(X)

    @property
    def has_hessian(self) -> bool:
        return True

    def hessian(self, X: Array) -> Product:
        return self.gradient

    def subgradient(self, y: Array) -> Array:
        return array_namespace(y).zeros_like(y)

    def prox(self, y: Array, mu: Scalar) -> Array:
        return y

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        return array_namespace(y).ones_like(y)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        nothing = array_namespace(y).zeros_like(y)
        return nothing, nothing
