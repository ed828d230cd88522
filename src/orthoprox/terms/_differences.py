"""Hessian products by differences of a gradient, for a term that knows its gradient alone."""

from __future__ import annotations

import math
from collections.abc import Callable

from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.backends import backend_of, either
from orthoprox.backends.autodiff import Product


def products_by_differences(gradient: Callable[[Array], Array], X: Array) -> Product:
    """The products V -> (G(X + e V) - G(X))/e, for one gradient each and one more at X.

    X moves by the root of eps, relative to its size: the gradient departs from its tangent by about as much, and its
    rounding weighs eps over that, the same. So no units matter, of the function, of X or of V. The eps is that of X or
    of the gradient, whichever is coarser.
    """
    here = gradient(X)
    eps = max(backend_of(X).eps(X), backend_of(here).eps(here))
    size = norm(X)
    step = math.sqrt(eps) * either(size > 0, size, 1.0)

    def product(V: Array) -> Array:
        length = norm(V)
        e = step / either(length > 0, length, 1.0)
        return (gradient(X + e * V) - here) / e

    return product
