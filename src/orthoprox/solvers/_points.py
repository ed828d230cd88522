"""A choice between two points that a compiled step can make."""

from __future__ import annotations

from orthoprox._namespace import array_namespace
from orthoprox._types import Scalar
from orthoprox.problem import Point


def select(test: Scalar, a: Point, b: Point) -> Point:
    """The point a where the test holds, else b."""
    where = array_namespace(a.X).where
    HX = None if a.HX is None else where(test, a.HX, b.HX)
    return Point(where(test, a.X, b.X), HX, where(test, a.AX, b.AX))
