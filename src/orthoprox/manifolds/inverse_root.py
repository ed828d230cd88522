"""A polynomial for the inverse square root of a matrix near the identity, in few products.

J. Sastre, "Efficient evaluation of matrix polynomials", Linear Algebra and its Applications 539, 2018.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
from numpy.polynomial import Chebyshev, Polynomial

_DEGREE = 8
_TOLERANCE = 1.2e-7
"""The relative error of the polynomial: a unit in the last place of float32. In float64 a Newton step squares it."""


class Root(NamedTuple):
    """A polynomial in E, in three products: (I + E)^(-1/2) to rounding of float32 for norms of E up to ``reach``.

    With q = E^2 (x E^2 + y E) it is (q + a E^2 + b E)(q + c E^2) + d q + f E^2 + g E + h I.
    """

    x: float
    y: float
    a: float
    b: float
    c: float
    d: float
    f: float
    g: float
    h: float
    reach: float


class ShortRoot(NamedTuple):
    """The same of a lower degree, for smaller norms: the coefficients of I, E, E^2, ..."""

    coefficients: tuple[float, ...]
    reach: float


def orthonormal_within(rows: int, eps: float) -> float:
    """How far the entries of W W' - I may be from zero where steps have left W, in float32 and float64.

    The Newton step of float64 leaves the inverse root a relative error of 3/2 e^2, where e is that of the polynomial,
    and W W' twice that. The rest is rounding, and in float32 the polynomial, which is as exact as that.
    """
    return 3 * _TOLERANCE**2 + 100 * math.sqrt(rows) * eps


@functools.cache
def inverse_root() -> Root:
    """The polynomial that interpolates the inverse root, on the longest interval on which it keeps its tolerance."""
    reach = _reach(_DEGREE)
    return _in_three_products(_polynomial(_DEGREE, reach).coef, reach)


@functools.cache
def short_root(degree: int) -> ShortRoot:
    """That of a lower degree; with 2 it takes one product, with 4 two."""
    reach = _reach(degree)
    return ShortRoot(tuple(float(k) for k in _polynomial(degree, reach).coef), reach)


def _reach(degree: int) -> float:
    low, high = 1e-4, 0.9
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _error(degree, middle) <= _TOLERANCE else (low, middle)
    return low


def _polynomial(degree: int, radius: float) -> Any:
    return Chebyshev.interpolate(lambda x: (1 + x) ** -0.5, degree, [-radius, radius]).convert(kind=Polynomial)


def _error(degree: int, radius: float) -> float:
    x = radius * np.cos(np.linspace(0, math.pi, 400))
    return float(np.abs(_polynomial(degree, radius)(x) * np.sqrt(1 + x) - 1).max())


def _in_three_products(k: Any, reach: float) -> Root:
    """The scheme of Sastre for a polynomial of degree 8, from its coefficients: comparing powers, highest first."""
    x = math.sqrt(k[8])
    y = k[7] / (2 * x)
    a_and_c = (k[6] - y**2) / x
    b = (k[5] - y * a_and_c) / x
    # (a + c - c) c + b y + d x = k4 with d = (k3 - b c)/y: quadratic in c
    half = (a_and_c - b * x / y) / 2
    c = half + math.sqrt(half**2 + b * y + x * k[3] / y - k[4])
    d = (k[3] - b * c) / y
    return Root(*(float(v) for v in (x, y, a_and_c - c, b, c, d, k[2], k[1], k[0], reach)))
