"""The lengths of the columns of a map."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import beside, identity_blocks, like_of
from orthoprox.maps.blocked import Blocked
from orthoprox.maps.centred import Centred
from orthoprox.maps.matrix import Matrix
from orthoprox.maps.sparse import Sparse
from orthoprox.maps.stack import Stack


def squared_column_norms(A: LinearMap) -> Array:
    """The sums of squares of the columns of the matrix of a map, as a vector.

    They come from the entries where the map has them, and otherwise from products with blocks of the identity.
    """
    n = A.columns
    if n is None or not A.left:
        raise ValueError(f"Only a product from the left with a known number of columns has columns; given {A!r}.")
    if isinstance(A, Matrix):
        return array_namespace(A.B).vecdot(A.B, A.B, axis=-2)
    if isinstance(A, Sparse):
        return _sums(A.B.multiply(A.B))
    if isinstance(A, Blocked):
        return A.column_squares
    if isinstance(A, Centred) and isinstance(A.B, Sparse):
        return _columns_of_centred(A, A.B)
    if isinstance(A, Stack) and all(isinstance(part, (Matrix, Sparse)) for part in A.maps):
        first, *rest = (squared_column_norms(part) for part in A.maps)
        return sum((beside(part, first) for part in rest), start=first)
    like = like_of(A)
    xp = array_namespace(like)
    blocks = [A(E) for E in identity_blocks(n, A.rows(n), like)]
    return xp.concat([xp.vecdot(block, block, axis=-2) for block in blocks])


def _columns_of_centred(A: Centred, B: Sparse) -> Array:
    """|b|^2 - 2 mean b'1 + m mean^2 for each column, in double precision, for what is left of nearly equal numbers."""
    mean = beside(A.mean, np.zeros((1, 1))).reshape(-1)
    doubles = B.B.astype(np.float64)
    rest = _sums(doubles.multiply(doubles)) - 2.0 * mean * _sums(doubles) + doubles.shape[0] * mean * mean
    return np.clip(rest, 0.0, None).astype(B.B.dtype)


def _sums(B: Any) -> Any:
    return np.asarray(B.sum(axis=0)).reshape(-1)
