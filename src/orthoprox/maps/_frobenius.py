"""The squared Frobenius norm of a map."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import beside, identity_blocks, like_of
from orthoprox.maps.blocked import Blocked
from orthoprox.maps.centred import Centred
from orthoprox.maps.matrix import Matrix
from orthoprox.maps.sparse import Sparse
from orthoprox.maps.stack import Stack


def frobenius_squared(A: LinearMap) -> float:
    """The sum of the squared entries of the matrix of a map.

    It comes from the entries where the map has them, and otherwise from products with blocks of the identity.
    """
    n = A.columns
    if n is None or not A.left:
        raise ValueError(f"Only a product from the left with a known number of columns has entries; given {A!r}.")
    if isinstance(A, Matrix):
        return _squares(A.B)
    if isinstance(A, Sparse):
        return float(np.sum(np.square(A.B.data, dtype=np.float64)))
    if isinstance(A, Stack) and all(part.columns is not None for part in A.maps):
        return math.fsum(frobenius_squared(part) for part in A.maps)
    if isinstance(A, Blocked):
        return A.squares
    if isinstance(A, Centred):
        square = _norm_of_centred(A, n)
        if square is not None:
            return square
    return math.fsum(_squares(A(E)) for E in identity_blocks(n, A.rows(n), like_of(A)))


def _norm_of_centred(A: Centred, n: int) -> float | None:
    """|B|^2 - 2 mean'(B'1) + m |mean|^2; None where that cancels more than half of the digits."""
    like, m = like_of(A.B), A.rows(n)
    sums = A.B.adjoint(array_namespace(like).ones((m, 1), dtype=like.dtype, device=device(like)))
    mean = beside(A.mean, sums)
    whole = frobenius_squared(A.B)
    rest = whole - 2.0 * float(array_namespace(sums).sum(mean * sums)) + m * _squares(mean)
    return rest if rest > math.sqrt(backend_of(like).eps(like)) * whole else None


def _squares(B: Array) -> float:
    xp = array_namespace(B)
    return float(xp.sum(xp.vecdot(B, B)))
