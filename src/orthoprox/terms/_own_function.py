"""A function that the user wrote: its value, and its derivatives by the user or by the library of X."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from array_api_compat import is_numpy_array

from orthoprox._checks import is_real
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.backends.autodiff import Derivatives, Product, check_number, derivatives_of
from orthoprox.terms._differences import products_by_differences

_Second = Callable[[Array, Array], Array]


class OwnFunction:
    """What may be asked of a user's function.

    The gradient comes from the user, as a function of its own or in the pair (value, gradient); otherwise the library
    of X differentiates. Which of the last two it is shows in the first call, and is remembered. Values are not: a
    function may refer to arrays that change between runs.

    Parameters
    ----------
    owner : str
        The term, for messages.
    value : callable
    gradient : callable, optional
    second : callable, optional
        (X, V) -> the Hessian at X times V.
    """

    def __init__(
        self,
        owner: str,
        value: Callable[[Array], Any],
        gradient: Callable[[Array], Array] | None,
        second: _Second | None = None,
    ) -> None:
        self.owner, self._value, self._gradient, self._second = owner, value, gradient, second
        self._pair: bool | None = None
        self._twice: bool | None = None
        self._derivatives: dict[str, Derivatives] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_derivatives": {}}  # compiled functions stay where they are

    def value(self, X: Array) -> Scalar:
        """The value at X."""
        if self._gradient is None:
            by_library = self._by_library(X)
            if by_library is not None:
                return by_library.value(X)
        out = self._value(X)
        number = out if self._gradient is not None else self._checked_pair(out)[0]
        if isinstance(number, tuple):
            raise ValueError(f"The value function of {self.owner} must return one number; given a tuple.")
        check_number(number, self.owner)
        return backend_of(X).constant(number)

    def gradient(self, X: Array) -> Array:
        """The gradient at X."""
        if self._gradient is not None:
            return self._checked_gradient(self._gradient(X), X)
        by_library = self._by_library(X)
        if by_library is not None:
            return by_library.both(X)[1]
        return self._checked_gradient(self._checked_pair(self._value(X))[1], X)

    def both(self, X: Array) -> tuple[Scalar, Array]:
        """The value and the gradient, in one evaluation where they come together."""
        if self._gradient is None:
            by_library = self._by_library(X)
            if by_library is not None:
                return by_library.both(X)
            value, G = self._checked_pair(self._value(X))
            check_number(value, self.owner)
            return backend_of(X).constant(value), self._checked_gradient(G, X)
        return self.value(X), self.gradient(X)

    def hessian(self, X: Array) -> Product:
        """The products of the Hessian at X: by the user, by the library of X, or by differences of the gradient."""
        second = self._second
        if second is not None:
            return lambda V: self._checked_gradient(second(X, V), X, "Hessian product")
        if self._gradient is None and self._twice is not False:
            by_library = self._by_library(X)
            product = None if by_library is None else by_library.hessian(X)
            self._twice = product is not None
            if product is not None:
                return product
        return products_by_differences(self.gradient, X)

    def _by_library(self, X: Array) -> Derivatives | None:
        """The derivatives by the library of X; None for a function that returns its gradient itself."""
        if self._pair is None:
            self._pair = isinstance(self._first(X), tuple)
        if self._pair:
            return None
        name = backend_of(X).name
        if name not in self._derivatives:
            found = derivatives_of(self._value, X, self.owner)
            if found is None:
                raise TypeError(
                    f"{self.owner} needs a gradient where X belongs to {_library(X)}, which does not differentiate; "
                    "given a function without one. Give its gradient, let it return the pair (value, gradient), or "
                    "write it in PyTorch or JAX and give X0 as an array of that library."
                )
            self._derivatives[name] = found
        return self._derivatives[name]

    def _first(self, X: Array) -> Any:
        """The first value, before anything is known of the function."""
        try:
            return self._value(X)
        except TypeError as error:
            if not (is_numpy_array(X) and "numpy.ndarray" in str(error)):
                raise
            raise TypeError(
                f"The function of {self.owner} does not take the NumPy array that it was given ({error}). Give X0 as "
                "an array of the library in which it is written."
            ) from error

    def _checked_gradient(self, G: Any, X: Array, kind: str = "gradient") -> Array:
        if tuple(getattr(G, "shape", ())) != tuple(X.shape):
            given = f"shape {tuple(G.shape)}" if hasattr(G, "shape") else f"a {type(G).__name__}"
            raise ValueError(
                f"The {kind} function of {self.owner} must return an array of the shape {tuple(X.shape)} of X; "
                f"given {given}."
            )
        if not is_real(G):
            raise TypeError(f"The {kind} function of {self.owner} must return real numbers; given dtype {G.dtype}.")
        if isinstance(G, np.ndarray):
            G = np.asarray(G)  # a matrix or a masked array has products of its own
        backend = backend_of(X)
        if backend_of(G) is not backend:  # as one that was computed with SciPy
            return backend.from_numpy(backend_of(G).to_numpy(G), X)
        xp = array_namespace(X)
        if not is_numpy_array(X) and G.dtype != X.dtype and xp.isdtype(G.dtype, ("real floating", "integral")):
            G = xp.astype(G, X.dtype)  # where NumPy promotes, others refuse products of two float types
        return backend.constant(G)

    def _checked_pair(self, both: Any) -> tuple[Any, Any]:
        if not (isinstance(both, tuple) and len(both) == 2):
            given = f"a tuple of {len(both)}" if isinstance(both, tuple) else type(both).__name__
            raise TypeError(
                f"{self.owner} was made without a gradient, so its value function must return one number, to be "
                f"differentiated, or the pair (value, gradient); given {given}."
            )
        return both


def _library(X: Array) -> str:
    return type(X).__module__.partition(".")[0].replace("numpy", "NumPy").replace("cupy", "CuPy")
