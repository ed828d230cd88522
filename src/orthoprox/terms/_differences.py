"""Hessian products by differences of a gradient, for a term that knows its gradient alone."""

from __future__ import annotations

from collections.abc import Callable

from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.backends import backend_of, either
from orthoprox.backends.autodiff import Product

_SHARE = 2 / 5
"""The power of eps by which X moves, relative to its size.

Over a step of size e the gradient departs from its tangent by about e, and an error d of the gradient weighs d/e: sums
of some thousand terms have d = eps^(4/5), for which this is the best e. A gradient good to eight digits still serves.
"""


def products_by_differences(gradient: Callable[[Array], Array], X: Array) -> Product:
    """The products V -> (G(X + e V) - G(X))/e, for one gradient each and one more at X.

    The e depends on the sizes of X and V alone, so that the units of the function, of X and of V do not matter. The
    coarser of the float types of X and of the gradient says how large it is.
    """
    here = gradient(X)
    eps = max(backend_of(X).eps(X), backend_of(here).eps(here))
    size = norm(X)
    step = eps**_SHARE * either(size > 0, size, 1.0)

    def product(V: Array) -> Array:
        length = norm(V)
        e = step / either(length > 0, length, 1.0)
        return (gradient(X + e * V) - here) / e

    return product
