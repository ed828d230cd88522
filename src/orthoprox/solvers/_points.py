"""One of two points, by a test that is known only at run time."""

from __future__ import annotations

from array_api_compat import array_namespace

from orthoprox._types import Scalar
from orthoprox.problem import Point


def chosen(first: Scalar, a: Point, b: Point) -> Point:
    """The point a where the test holds, else b."""
    where = array_namespace(a.X).where
    HX = None if a.HX is None else where(first, a.HX, b.HX)
    return Point(where(first, a.X, b.X), HX, where(first, a.AX, b.AX))
