"""JAX's derivatives, compiled once for each function; inside a compiled step they become part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product, Way, check_number, first_that_works, refusal

_NAME = "JAX"


class JAXDerivatives:
    """Value, gradient and Hessian products of one function of an array.

    As everywhere in JAX, the arrays that the function refers to are read once, when it is compiled.
    """

    def __init__(self, function: Callable[[Array], Any], owner: str) -> None:
        self.function, self.owner = function, owner
        gradient = jax.grad(self._checked)
        self._value = jax.jit(self._checked)
        self._both = jax.jit(jax.value_and_grad(self._checked))
        # What jax.vjp returns is a pytree: the gradient is linearised once, and each product runs back through it.
        self._record = jax.jit(lambda X: jax.vjp(gradient, X)[1])
        self._pull = jax.jit(lambda pull, V: pull(V)[0])
        self._along = jax.jit(lambda X, V: jax.jvp(gradient, (X,), (V,))[1])
        self._way: Way | None = None
        self._tried = False

    def value(self, X: Array) -> Scalar:
        return self._refusing(self._value, X)

    def both(self, X: Array) -> tuple[Scalar, Array]:
        value, G = self._refusing(self._both, X)
        return value, G

    def hessian(self, X: Array) -> Product | None:
        if isinstance(X, jax.core.Tracer):  # whether products are right was seen outside of what is compiled
            return self._by_reverse(X)
        if not self._tried:
            ways, errors = (self._by_reverse, self._by_forward), (TypeError, ValueError, NotImplementedError)
            self._way, self._tried = first_that_works(ways, lambda X: self.both(X)[1], X, errors), True
        return None if self._way is None else self._way(X)

    def _by_reverse(self, X: Array) -> Product:
        pull = self._record(X)
        return lambda V: self._pull(pull, V)

    def _by_forward(self, X: Array) -> Product:
        return lambda V: self._along(X, V)

    def _checked(self, X: Array) -> Array:
        out = self.function(X)
        check_number(out, self.owner)
        if not (isinstance(out, jax.Array) and jax.numpy.issubdtype(out.dtype, jax.numpy.floating)):
            given = out.dtype if isinstance(out, jax.Array) else type(out).__name__
            raise refusal(self.owner, _NAME, f"it returned a number of type {given}, not a float of JAX.")
        return out

    def _refusing(self, derive: Callable[[Array], Any], X: Array) -> Any:
        try:
            return derive(X)
        except (jax.errors.JAXTypeError, jax.errors.JAXIndexError, NotImplementedError) as error:
            raise refusal(self.owner, _NAME, f"{str(error).splitlines()[0].rstrip('.')}.") from error
