"""A matrix together with the products that were already computed for it."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._types import Array, Scalar


@dataclass(frozen=True, eq=False)
class Point:
    """X with f's product HX (None when f has none to share) and A(X).

    Both are linear in X, so a combination of points needs no product with the data.
    """

    X: Array
    HX: Array | None
    AX: Array


def extrapolate(now: Point, before: Point, alpha: Scalar) -> Point:
    """The point ``now + alpha (now - before)``."""
    X = _ahead(now.X, before.X, alpha)
    HX = None if now.HX is None else _ahead(now.HX, before.HX, alpha)
    AX = X if now.AX is now.X else _ahead(now.AX, before.AX, alpha)
    return Point(X, HX, AX)


def _ahead(now: Array, before: Array | None, alpha: Scalar) -> Array:
    return now + alpha * (now - before)
