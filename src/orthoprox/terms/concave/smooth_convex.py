"""A differentiable convex function written by the user."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orthoprox._checks import check_weight
from orthoprox._fields import cached_property
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ConvexTerm
from orthoprox.terms._own_function import OwnFunction
from orthoprox.terms._parameters import check_callable


@dataclass(frozen=True, eq=False, init=False)
class SmoothConvex(ConvexTerm):
    """A differentiable convex function of your own, to be subtracted. That it is convex is taken on trust.

    Parameters
    ----------
    value : callable
        X -> the value, one number. Without ``gradient`` it is differentiated by PyTorch or JAX, or it returns the pair
        (value, gradient).
    gradient : callable, optional
        X -> the gradient, an array of the shape of X.
    weight : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import SmoothConvex
    >>> g = SmoothConvex(lambda X: (X**4).sum() / 4, lambda X: X**3, weight=0.5)
    >>> float(g.value(np.array([[2.0]])))
    2.0
    """

    function: Callable[[Array], Any]
    derivative: Callable[[Array], Array] | None
    weight: float

    def __init__(
        self,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Array] | None = None,
        weight: float = 1.0,
    ) -> None:
        check_callable(value, "The value of SmoothConvex")
        if gradient is not None:
            check_callable(gradient, "The gradient of SmoothConvex")
        object.__setattr__(self, "function", value)
        object.__setattr__(self, "derivative", gradient)
        object.__setattr__(self, "weight", check_weight(weight, "SmoothConvex"))

    @cached_property
    def _own(self) -> OwnFunction:
        return OwnFunction("SmoothConvex", self.function, self.derivative)

    def value(self, X: Array) -> Scalar:
        return self.weight * self._own.value(X)

    def subgradient(self, X: Array) -> Array:
        return self.weight * self._own.gradient(X)
