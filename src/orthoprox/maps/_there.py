"""Products that are done where the data live, for arrays of any library."""

from __future__ import annotations

from collections.abc import Callable

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of


def beside_data(product: Callable[[Array], Array], X: Array, data: Array) -> Array:
    """The product of X by a function of arrays that live where the data do, in the library and float type of X."""
    if array_namespace(data) is array_namespace(X):
        return product(X)
    there = backend_of(data).from_numpy(backend_of(X).to_numpy(X), data)
    return backend_of(X).from_numpy(backend_of(data).to_numpy(product(there)), X)
