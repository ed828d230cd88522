"""The curve of a line search: retractions along a direction, with their products."""

from __future__ import annotations

from orthoprox._types import Array, Scalar
from orthoprox.manifolds.stiefel import Retraction
from orthoprox.maps import Identity
from orthoprox.problem import Point, Problem


class Curve:
    """The points X(eta) = (X + eta D) S on the manifold, with f's product and A(X).

    A product from the left is computed once, for D: at X(eta) it is that of X + eta D, times S. Any other is computed
    for each point. Without ``carry`` all are, as they must be along a D that is very long or not tangent: X + eta D may
    be nearly singular there, and S would magnify the rounding errors of its product.
    """

    def __init__(
        self, problem: Problem, start: Point, D: Array, retraction: Retraction = "polar", *, carry: bool = True
    ) -> None:
        self.problem, self.start, self.D, self.retraction = problem, start, D, retraction
        self._HD = problem.f.product(D) if carry and problem.f.left else None
        self._AD = problem.A(D) if carry and problem.A.left and not isinstance(problem.A, Identity) else None

    def at(self, eta: Scalar) -> Point:
        """The point a step of size eta along."""
        problem, start = self.problem, self.start
        X, S = problem.M.retraction(start.X, eta * self.D, self.retraction)
        HX = problem.f.product(X) if self._HD is None or start.HX is None else (start.HX + eta * self._HD) @ S
        AX = problem.A(X) if self._AD is None else (start.AX + eta * self._AD) @ S
        return Point(X, HX, AX)
