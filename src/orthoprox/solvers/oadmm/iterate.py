"""A triple (X, y, z) with what was measured there: once, for the guard, the finish, rules and records alike."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._linalg import norm, rounding
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of, either, speculation
from orthoprox.problem import Certificate, Criticality, Point, Problem, distances


@dataclass(frozen=True, eq=False)
class Iterate:
    """A triple, its objective and its criticality."""

    at: Certificate
    objective: float
    parts: Criticality
    crit: float
    """Crit with its primal part in units of the gradient: then all of it grows with the objective."""
    scale: float
    """The size of the gradients that Crit is made of."""

    @property
    def point(self) -> Point:
        return self.at.point

    @property
    def y(self) -> Array:
        return self.at.y

    @property
    def z(self) -> Array:
        return self.at.z

    @property
    def size(self) -> float:
        """The size of F: that of its value, or of the gradients times |X| where the value happens to be small."""
        return max(abs(self.objective), self.scale * float(norm(self.point.X)))

    def is_exact(self) -> bool:
        """Whether Crit is nothing but rounding."""
        return self.crit <= rounding(self.point.X, self.scale)


def measure(problem: Problem, point: Point, y: Array, z: Array) -> Iterate:
    """The triple with its objective and criticality."""
    at = Certificate(point, y, z)
    if speculation() is None:
        objective, *apart, gradient, size = backend_of(point.X).evaluate(_numbers, problem, at)
    else:
        objective, *apart, gradient, size = _numbers(problem, at)
    parts = Criticality(*apart)
    scale = either(gradient > 0, gradient, problem.h.lipschitz_constant(problem.shape) * problem.A.norm or 1.0)
    unit = either(size > 0, scale / either(size > 0, size, 1.0), 1.0)
    crit = unit * parts.primal + parts.dual + parts.stationarity
    return Iterate(at, objective, parts, crit, scale)


def _numbers(problem: Problem, at: Certificate) -> tuple[Scalar, ...]:
    point = at.point
    gradient = norm(problem.f.gradient_at(point.X, point.HX))
    return problem.objective(point), *distances(problem, at), gradient, norm(point.AX)


def is_better(one: Iterate, other: Iterate, even: float) -> bool:
    """Whether F is lower, or even and Crit smaller.

    Two values of F are even where they differ by rounding, or by no more than the smaller Crit times |X|, by which that
    point may still fall, and no more than a relative difference of ``even``.
    """
    room = min(one.crit, other.crit) * float(norm(one.point.X))
    slack = max(min(room, even * one.size), rounding(one.point.X, one.size))
    difference = one.objective - other.objective
    return difference < -slack or (difference <= slack and one.crit < other.crit)
