"""The curve of a line search: retractions along a direction, with their products."""

from __future__ import annotations

from typing import NamedTuple

from orthoprox._types import Array, Scalar
from orthoprox.manifolds.stiefel import Retraction
from orthoprox.maps import Identity
from orthoprox.problem import Point, Problem


class Along(NamedTuple):
    """The products of a direction; None where those of each point on the curve are computed anew."""

    HD: Array | None
    AD: Array | None


class Curve:
    """The points X(eta) = (X + eta D) S on the manifold, with f's product and A(X).

    A product from the left is computed once, for D: at X(eta) it is that of X + eta D, times S. Any other is computed
    for each point. Without ``carry`` all are, as they must be along a D that is very long or not tangent: X + eta D may
    be nearly singular there, and S would magnify the rounding errors of its product. A search that goes on has the
    products ``along`` D already.
    """

    def __init__(
        self,
        problem: Problem,
        start: Point,
        D: Array,
        retraction: Retraction = "polar",
        *,
        carry: bool = True,
        along: Along | None = None,
    ) -> None:
        self.problem, self.start, self.D, self.retraction = problem, start, D, retraction
        if along is None:
            along = products_along(problem, D) if carry else Along(None, None)
        self._HD, self._AD = along

    def at(self, eta: Scalar) -> Point:
        """The point a step of size eta along."""
        problem, start = self.problem, self.start
        X, S = problem.M.retraction(start.X, eta * self.D, self.retraction)
        HX = problem.f.product(X) if self._HD is None or start.HX is None else (start.HX + eta * self._HD) @ S
        AX = problem.A(X) if self._AD is None else (start.AX + eta * self._AD) @ S
        return Point(X, HX, AX)


def products_along(problem: Problem, D: Array) -> Along:
    """The products of a direction from which those of the points on the curve follow."""
    of_f, of_A = _carried(problem)
    return Along(problem.f.product(D) if of_f else None, problem.A(D) if of_A else None)


def placeholders(problem: Problem, start: Point) -> Along:
    """Arrays of the same shapes that are there already, for a loop that computes the products in its first round."""
    of_f, of_A = _carried(problem)
    return Along(start.HX if of_f else None, start.AX if of_A else None)


def _carried(problem: Problem) -> tuple[bool, bool]:
    """Whether the products of f, and of A, are those of a matrix from the left; A = I has none."""
    return problem.f.left, problem.A.left and not isinstance(problem.A, Identity)
