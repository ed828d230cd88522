"""Derivatives of a function that its own array library can differentiate.

Each library has a file of its own with one class, made for one function. ``both`` gives value and gradient from one
evaluation. ``hessian`` records the gradient at X once; every product after that is one pass through the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from array_api_compat import is_jax_array, is_torch_array

from orthoprox._checks import is_real
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of

Product = Callable[[Array], Array]
"""V -> H V."""
Way = Callable[[Array], Product]
"""How to make the products at X."""


class NotDifferentiable(ValueError):
    """The library cannot differentiate a function; the message says why and what to do."""


class Derivatives(Protocol):
    """A function of X, and what its library derives from it."""

    def value(self, X: Array) -> Scalar:
        """The value, without a record of how it was computed."""

    def both(self, X: Array) -> tuple[Scalar, Array]:
        """The value and the gradient."""

    def hessian(self, X: Array) -> Product | None:
        """The products of the Hessian at X; None for a function that cannot be differentiated twice."""


def derivatives_of(function: Callable[[Array], Any], X: Array, owner: str) -> Derivatives | None:
    """The derivatives that the library of X computes of a function; None for a library that computes none.

    Parameters
    ----------
    function : callable
        X -> one number.
    X : array
    owner : str
        Whose function it is, for messages.
    """
    if is_torch_array(X):
        from orthoprox.backends._autodiff_torch import TorchDerivatives

        return TorchDerivatives(function, owner)
    if is_jax_array(X):
        from orthoprox.backends._autodiff_jax import JAXDerivatives

        return JAXDerivatives(function, owner)
    return None


def first_that_works(
    ways: tuple[Way, ...], gradient: Callable[[Array], Array], X: Array, errors: tuple[type[Exception], ...]
) -> Way | None:
    """The first way to Hessian products that does not raise such an error at X, and agrees with the gradient.

    A rule for the gradient that hides how it was computed gives products that are wrong without an error.
    """
    V = backend_of(X).from_numpy(np.random.default_rng(0).standard_normal(tuple(X.shape)), like=X)
    for way in ways:
        try:
            HV = way(X)(V)
        except errors as error:
            if "OutOfMemory" in type(error).__name__:
                raise
            continue
        if _agrees(HV, gradient, X, V):
            return way
    return None


def _agrees(HV: Array, gradient: Callable[[Array], Array], X: Array, V: Array) -> bool:
    """Whether a product is near a difference of gradients: to a tenth, since a kink may lie in between."""
    eps = backend_of(X).eps(X)
    t = eps ** (1 / 3) * max(_size(X), 1.0) / _size(V)
    above, below = gradient(X + t * V), gradient(X - t * V)
    difference = (above - below) / (2 * t)
    rounding = 100 * eps * (_size(above) + _size(below)) / t
    return not _size(HV - difference) > 0.1 * max(_size(HV), _size(difference)) + rounding  # NaN is another matter


def _size(a: Array) -> float:
    return float(array_namespace(a).linalg.matrix_norm(a))


def refusal(owner: str, library: str, reason: str) -> NotDifferentiable:
    """The error for a function that a library cannot differentiate."""
    return NotDifferentiable(
        f"{library} cannot differentiate the function of {owner}: {reason} Write it with operations of {library} "
        "alone, or give its gradient."
    )


def check_number(out: Any, owner: str) -> None:
    """Refuse what is not one real number."""
    shape = tuple(getattr(out, "shape", ()))
    if shape != ():
        raise ValueError(f"The value function of {owner} must return one number; given shape {shape}.")
    if not is_real(out):
        given = getattr(out, "dtype", type(out).__name__)
        raise TypeError(f"The value function of {owner} must return one real number; given {given}.")
