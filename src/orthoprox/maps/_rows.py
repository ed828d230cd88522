"""The lengths of the rows of a map."""

from __future__ import annotations

import numpy as np
from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import beside, identity_blocks, like_of
from orthoprox.maps.centred import Centred
from orthoprox.maps.matrix import Matrix
from orthoprox.maps.scaled_rows import ScaledRows
from orthoprox.maps.sparse import Sparse

_NEAR = 1e-3  # of a square and that of the mean: below, a difference loses more than three digits
_BLOCK = 256  # rows that are filled in at a time


def squared_row_norms(A: LinearMap) -> Array:
    """The sums of squares of the rows of the matrix of a map, as a column.

    They come from the entries where the map has them, and otherwise from products with blocks of the identity.
    """
    n = A.columns
    if n is None or not A.left:
        raise ValueError(f"Only a product from the left with a known number of columns has rows; given {A!r}.")
    if isinstance(A, Matrix):
        return array_namespace(A.B).sum(A.B * A.B, axis=1, keepdims=True)
    if isinstance(A, Sparse):
        return np.asarray(A.B.multiply(A.B).sum(axis=1), dtype=A.B.dtype).reshape(-1, 1)
    if isinstance(A, Centred) and isinstance(A.B, Sparse):
        return _rows_of_centred(A, A.B)
    like = like_of(A)
    xp = array_namespace(like)
    total = xp.zeros((A.rows(n), 1), dtype=like.dtype, device=device(like))
    for E in identity_blocks(n, A.rows(n), like):
        part = A(E)
        total = total + xp.sum(part * part, axis=1, keepdims=True)
    return total


def _rows_of_centred(A: Centred, B: Sparse) -> Array:
    """The sum over the stored entries of b^2 - 2 b mean, and |mean|^2, in double precision.

    Only rows near the mean, of whose length this leaves few digits, are filled in, some at a time.
    """
    mean = beside(A.mean, np.zeros((1, 1)))
    doubles = B.B.astype(np.float64)
    whole = doubles.multiply(doubles).sum(axis=1).reshape(-1, 1) + np.sum(mean * mean)
    rest = whole - 2.0 * (doubles @ mean)
    near = np.flatnonzero(rest <= _NEAR * whole)
    for i in range(0, len(near), _BLOCK):
        some = near[i : i + _BLOCK]
        rest[some] = np.sum((doubles[some].toarray() - mean.T) ** 2, axis=1, keepdims=True)
    return rest.astype(B.B.dtype)


def unit_rows(A: LinearMap) -> LinearMap:
    """The map with every row divided by its length; rows that are zero stay zero."""
    squares = squared_row_norms(A)
    xp = array_namespace(squares)
    factors = 1.0 / xp.where(squares > 0, xp.sqrt(squares), 1.0)
    return Matrix(A.B * factors) if isinstance(A, Matrix) else ScaledRows(A, factors)
