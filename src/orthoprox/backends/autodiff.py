"""Derivatives of a function that its own array library can differentiate.

Each library has a file of its own with one class, made for one function. ``both`` gives value and gradient from one
evaluation. ``hessian`` records the gradient at X once; every product after that is one pass through the record.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from array_api_compat import is_jax_array, is_torch_array

from orthoprox._types import Array, Scalar

Product = Callable[[Array], Array]
"""V -> H V."""


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
    ways: tuple[Callable[[Array], Product], ...], X: Array, errors: tuple[type[Exception], ...]
) -> Callable[[Array], Product] | None:
    """The first way to Hessian products that does not raise such an error at X."""
    for way in ways:
        try:
            way(X)(X)
        except MemoryError:
            raise
        except errors as error:
            if "OutOfMemory" in type(error).__name__:
                raise
        else:
            return way
    return None


def refusal(owner: str, library: str, reason: str) -> NotDifferentiable:
    """The error for a function that a library cannot differentiate."""
    return NotDifferentiable(
        f"{library} cannot differentiate the function of {owner}: {reason} Write it with operations of {library} "
        "alone, or give its gradient."
    )


def check_number(out: Any, owner: str) -> None:
    """Refuse what is not one number."""
    shape = tuple(getattr(out, "shape", ()))
    if shape != ():
        raise ValueError(f"The value function of {owner} must return one number; given shape {shape}.")
