"""Small numerics that every layer uses: products and norms of all entries, rounding, conjugate gradients."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of

V = TypeVar("V")
_MOST_KEPT = 16
_ROUNDING = 64  # units in the last place that sums of thousands of terms may lose


def inner(a: Array, b: Array) -> Scalar:
    """The sum of the products of entries, without an array for the products."""
    return backend_of(a).dot(a, b)


def norm(a: Array) -> Scalar:
    """The Euclidean norm of all entries; it neither overflows nor underflows where the entries do not."""
    xp, backend = array_namespace(a), backend_of(a)
    with backend.quiet():
        square = backend.dot(a, a)
    low, high = safe_squares(xp, a.dtype)
    return backend.cond((square > low) & (square < high), _root, _scaled_norm, square, a)


def _root(square: Scalar, a: Array) -> Scalar:
    return array_namespace(a).sqrt(square)


def _scaled_norm(square: Scalar, a: Array) -> Scalar:
    """The norm by way of the largest entry, for squares outside the range of the float type."""
    xp = array_namespace(a)
    if 0 in a.shape:
        return square
    largest = xp.max(xp.abs(a))
    usable = (largest > 0) & xp.isfinite(largest)
    b = a / xp.where(usable, largest, xp.ones_like(largest))
    return xp.where(usable, largest * xp.sqrt(inner(b, b)), largest)


@functools.lru_cache(maxsize=16)
def safe_squares(xp: Any, dtype: Any) -> tuple[float, float]:
    """Between these a sum of squares has lost nothing to underflow or overflow."""
    info = xp.finfo(dtype)
    return float(info.smallest_normal) / float(info.eps) ** 2, float(info.max)


def sum_exactly(numbers: Iterable[float]) -> float:
    """The sum, rounded once; where one of them is an array, as among runs that go together, one after the other."""
    parts = tuple(numbers)
    return math.fsum(parts) if all(map(_is_plain, parts)) else sum(parts)


def root_of_squares(numbers: Iterable[float]) -> float:
    """The root of the sum of squares, of any size; where one of them is an array, of ordinary size."""
    parts = tuple(numbers)
    if all(map(_is_plain, parts)):
        return math.hypot(*parts)
    root: float = sum(part * part for part in parts) ** 0.5
    return root


def _is_plain(number: Any) -> bool:
    return isinstance(number, (int, float, np.generic))


def rounding(like: Array, scale: float) -> float:
    """What rounding may leave of a computed difference of quantities of this size, in the float type of an array."""
    return _ROUNDING * backend_of(like).eps(like) * abs(scale)


def symmetric(W: Array) -> Array:
    """The symmetric part of a square matrix."""
    return (W + W.T) / 2


class Solution(NamedTuple):
    """What conjugate gradients found, and in how many products."""

    x: Array
    products: int


def conjugate_gradients(
    apply: Callable[[Array], Array],
    b: Array,
    *,
    tolerance: float,
    most: int,
    precondition: Callable[[Array], Array] | None = None,
) -> Solution:
    """Solve ``apply(x) = b`` for a positive semidefinite map, up to a residual of ``tolerance |b|``.

    Parameters
    ----------
    apply : callable
        The map, on arrays of b's shape.
    b : array
    tolerance : float
        Relative to b.
    most : int
        The largest number of products with the map.
    precondition : callable, optional
        An approximate inverse of the map. The first x is what it makes of b; zero without it.
    """
    enough = tolerance**2 * float(inner(b, b))
    if precondition is None:
        x, R, products = 0.0 * b, b, 0
    else:
        x = precondition(b)
        R, products = b - apply(x), 1
    P = Z = R if precondition is None else precondition(R)
    size = float(inner(R, Z))
    while products < most and float(inner(R, R)) > enough:
        Q = apply(P)
        products += 1
        curvature = float(inner(P, Q))
        if not (curvature > 0 and size > 0):  # squares of a residual may underflow
            break
        x, R = x + (size / curvature) * P, R - (size / curvature) * Q
        Z = R if precondition is None else precondition(R)
        size, before = float(inner(R, Z)), size
        P = Z + (size / before) * P
    return Solution(x, products)


class Triangle(NamedTuple):
    """How the entries on and above the diagonal of a symmetric matrix lie in it, row by row."""

    rows: Array
    columns: Array
    places: Array
    """For every entry of the matrix, row by row, where it stands among them."""


def _cached_by_device(function: Callable[..., V]) -> Callable[..., V]:
    """Keep what a function computed, by its arguments; devices that cannot be compared, as CuPy's, by their name."""
    kept: dict[Any, V] = {}

    @functools.wraps(function)
    def ask(*arguments: Any) -> V:
        *others, where = arguments
        key = (*others, where if isinstance(where, Hashable) else repr(where))
        found = kept.get(key)
        if found is None:
            found = function(*arguments)
            if len(kept) >= _MOST_KEPT:
                kept.clear()
            kept[key] = found
        return found

    return ask


@_cached_by_device
def triangle(xp: Any, r: int, where: Any) -> Triangle:
    """The places on and above the diagonal of r-by-r matrices, as index arrays on a device."""
    pairs = [(i, j) for i in range(r) for j in range(i, r)]
    number = {pair: k for k, pair in enumerate(pairs)}
    places = [number[min(i, j), max(i, j)] for i in range(r) for j in range(r)]
    rows, columns = zip(*pairs, strict=True)
    return Triangle(*(xp.asarray(list(index), device=where) for index in (rows, columns, places)))


@_cached_by_device
def symmetric_basis(xp: Any, r: int, dtype: Any, where: Any) -> Array:
    """An orthonormal basis of the symmetric r-by-r matrices, along the last axis."""
    rows, columns, _ = triangle(xp, r, where)
    identity = xp.eye(r, dtype=dtype, device=where)
    first, second = (xp.take(identity, index, axis=1) for index in (rows, columns))
    both = first[:, None, :] * second[None, :, :] + second[:, None, :] * first[None, :, :]
    return both * xp.where(rows == columns, 0.5 * identity[0, 0], math.sqrt(0.5) * identity[0, 0])


def identity_like(X: Array) -> Array:
    """The identity matrix with as many columns as X, where X lives."""
    return backend_of(X).identity(X.shape[1], X)
