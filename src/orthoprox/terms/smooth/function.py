"""A smooth function written by the user."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from orthoprox._checks import check_weight
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import SmoothTerm
from orthoprox.terms._parameters import check_callable, gradient_of, value_of


@dataclass(frozen=True, eq=False, init=False)
class Smooth(SmoothTerm):
    """A smooth function of your own, times a weight that may be negative.

    :func:`check_gradient` tells whether the gradient is right.

    Parameters
    ----------
    value : callable
        X -> the value, one number; without ``gradient``, X -> the pair (value, gradient).
    gradient : callable, optional
        X -> the gradient, an array of the shape of X.
    lipschitz : float, optional
        A number that the Lipschitz constant of the gradient (before the weight) does not exceed. Without it solvers
        find their step lengths by backtracking.
    weight : float
        The factor.

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

    def __init__(
        self,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Array] | None = None,
        lipschitz: float | None = None,
        weight: float = 1.0,
    ) -> None:
        check_callable(value, "The value of Smooth")
        if gradient is not None:
            check_callable(gradient, "The gradient of Smooth")
        object.__setattr__(self, "function", value)
        object.__setattr__(self, "derivative", gradient)
        object.__setattr__(self, "bound", _check_bound(lipschitz))
        object.__setattr__(self, "weight", check_weight(weight, "Smooth", nonnegative=False))

    @property
    def lipschitz(self) -> float | None:
        return None if self.bound is None else abs(self.weight) * self.bound

    def value(self, X: Array) -> Scalar:
        return self.weight * value_of(self.function, self.derivative, X, "Smooth")

    def gradient(self, X: Array) -> Array:
        return self.weight * gradient_of(self.function, self.derivative, X, "Smooth")


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
