"""Products that SciPy or NumPy does, for arrays of any library."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from array_api_compat import device, is_array_api_obj, is_numpy_array
from scipy.sparse import issparse
from scipy.sparse.linalg import LinearOperator

from orthoprox._fields import parts
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.blocks import Rows
from orthoprox.maps._base import LinearMap

BLOCK = 256
"""The most columns of the identity that are sent through a map at a time."""
ENTRIES = 2**22
"""The most entries of such a block and of its image, unless one column has more."""


def on_host(product: Callable[[Any], Any], X: Array) -> Array:
    """The product of X by a function of NumPy arrays, in the library and float type of X."""
    if is_numpy_array(X):
        return np.asarray(product(X)).astype(X.dtype, copy=False)
    backend = backend_of(X)
    return backend.from_numpy(np.asarray(product(backend.to_numpy(X))), X)


def same_library(a: Array, X: Array) -> bool:
    """Whether two arrays belong to the same library."""
    return array_namespace(a) is array_namespace(X)


def beside(a: Array, X: Array) -> Array:
    """The same small array in the library and float type of X."""
    if not same_library(a, X):
        return backend_of(X).from_numpy(backend_of(a).to_numpy(a), X)
    return a if a.dtype == X.dtype else array_namespace(X).astype(a, X.dtype)


def like_of(A: LinearMap) -> Array:
    """An array of the library, device and float type of a map's data; NumPy and float64 without data."""
    host: np.dtype[Any] | None = None
    for part in parts(A):
        if is_array_api_obj(part):
            xp = array_namespace(part)
            dtype = part.dtype if xp.isdtype(part.dtype, "real floating") else None
            return xp.zeros((1, 1), dtype=dtype, device=device(part))
        if _of_scipy(part) or isinstance(part, Rows):
            own = np.dtype(np.float64 if part.dtype is None else part.dtype)
            host = np.promote_types(np.dtype(np.float32) if host is None else host, own)
    return np.zeros((1, 1), dtype=np.float64 if host is None else host)


def _of_scipy(part: Any) -> bool:
    return bool(issparse(part)) or isinstance(part, LinearOperator)


def identity_blocks(n: int, m: int, like: Array) -> Iterator[Array]:
    """The columns of the n-by-n identity, a block at a time, for a map to m rows."""
    xp = array_namespace(like)
    width = max(1, min(BLOCK, ENTRIES // max(m, n)))
    for first in range(0, n, width):
        yield xp.eye(n, min(width, n - first), k=-first, dtype=like.dtype, device=device(like))
