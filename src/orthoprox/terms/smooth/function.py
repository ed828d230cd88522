"""A smooth function written by the user."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orthoprox._checks import check_weight
from orthoprox._fields import cached_property
from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product
from orthoprox.terms._base import SmoothTerm
from orthoprox.terms._own_function import OwnFunction
from orthoprox.terms._parameters import check_callable


@dataclass(frozen=True, eq=False, init=False)
class Smooth(SmoothTerm):
    """A smooth function of your own, times a weight that may be negative.

    A function of PyTorch tensors or JAX arrays needs no gradient: its library differentiates it, twice for methods
    that take Newton steps. Then X0 has to be an array of that library, unless the function refers to one.
    :func:`check_gradient` tells whether a gradient is right.

    Parameters
    ----------
    value : callable
        X -> the value, one number. Without ``gradient`` it is differentiated, or it returns the pair (value, gradient).
    gradient : callable, optional
        X -> the gradient, an array of the shape of X.
    lipschitz : float, optional
        A number that the Lipschitz constant of the gradient (before the weight) does not exceed. Without it solvers
        find their step lengths by backtracking.
    weight : float
        The factor.
    hessian : callable, optional
        (X, V) -> the derivative of the gradient at X along V, an array of the shape of X. Without it the library of X
        differentiates twice, or Newton steps take differences of the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Smooth
    >>> f = Smooth(lambda X: (X**4).sum() / 4, lambda X: X**3)
    >>> (2.0 * f).gradient(np.array([[1.0], [2.0]]))
    array([[ 2.],
           [16.]])
    """

    function: Callable[[Array], Any]
    derivative: Callable[[Array], Array] | None
    bound: float | None
    weight: float
    second: Callable[[Array, Array], Array] | None

    def __init__(
        self,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Array] | None = None,
        lipschitz: float | None = None,
        weight: float = 1.0,
        hessian: Callable[[Array, Array], Array] | None = None,
    ) -> None:
        check_callable(value, "The value of Smooth")
        if gradient is not None:
            check_callable(gradient, "The gradient of Smooth")
        if hessian is not None:
            check_callable(hessian, "The hessian of Smooth")
        object.__setattr__(self, "function", value)
        object.__setattr__(self, "derivative", gradient)
        object.__setattr__(self, "bound", _check_bound(lipschitz))
        object.__setattr__(self, "weight", check_weight(weight, "Smooth", nonnegative=False))
        object.__setattr__(self, "second", hessian)
        # What is not there is not part of a checkpoint either: files from before there was such a field stay valid.
        object.__setattr__(self, "_derived", frozenset(() if hessian is not None else ("second",)))

    @cached_property
    def _own(self) -> OwnFunction:
        return OwnFunction("Smooth", self.function, self.derivative, self.second)

    @property
    def lipschitz(self) -> float | None:
        return None if self.bound is None else abs(self.weight) * self.bound

    def value(self, X: Array) -> Scalar:
        return self.weight * self._own.value(X)

    def gradient(self, X: Array) -> Array:
        return self.weight * self._own.gradient(X)

    def value_and_gradient(self, X: Array) -> tuple[Scalar, Array]:
        value, G = self._own.both(X)
        return self.weight * value, self.weight * G

    def hessian(self, X: Array) -> Product:
        product = self._own.hessian(X)
        return lambda V: self.weight * product(V)


def _check_bound(lipschitz: Any) -> float | None:
    if lipschitz is None:
        return None
    try:
        bound = float(lipschitz)
    except (TypeError, ValueError):
        raise TypeError(f"The lipschitz of Smooth must be a number or None; given {lipschitz!r}.") from None
    if not (math.isfinite(bound) and bound >= 0):
        raise ValueError(
            f"The lipschitz of Smooth must be finite and not negative; given {bound}. Leave it out if it is not known."
        )
    return bound
