"""What is measured at a point: stationarity (the paper's Crit), infeasibility, sparsity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.problem.point import Point

if TYPE_CHECKING:
    from orthoprox.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Certificate:
    """The triple (X, y, z) at which stationarity is measured, X with its products."""

    point: Point
    y: Array
    z: Array


class Criticality(NamedTuple):
    """The three parts of Crit(X, y, z), the first-order optimality measure of section 2.2.

    Attributes
    ----------
    primal : float
        ``|A(X) - y|``.
    dual : float
        The distance from z to the subdifferential of h at y.
    stationarity : float
        The norm of the tangent part of ``grad f(X) - dg(X) + A*(z)``.
    """

    primal: float
    dual: float
    stationarity: float

    @property
    def total(self) -> float:
        """Crit itself, the sum of the three."""
        return self.primal + self.dual + self.stationarity


def criticality(problem: Problem, certificate: Certificate) -> Criticality:
    """Measure how far a triple is from a critical point."""
    point, y, z = certificate.point, certificate.y, certificate.z
    gradient = problem.f.gradient_at(point.X, point.HX)
    G = gradient - problem.g.subgradient(point.X) + problem.A.adjoint(z)
    primal = norm(point.AX - y)
    dual = problem.h.subgradient_distance(y, z)
    stationarity = norm(problem.M.tangent(point.X, G))
    return Criticality(float(primal), float(dual), float(stationarity))


def relative_criticality(problem: Problem, certificate: Certificate, parts: Criticality) -> Criticality:
    """The parts of Crit as shares of what they compare, in which the units of the data cancel.

    The primal part is a share of the sizes of A(X) and y, stationarity one of the sizes of the gradients, and the dual
    part one of the sizes of z and of the gradients.
    """
    X, y, z, a = certificate.point.X, certificate.y, certificate.z, problem.A.norm
    root = math.sqrt(problem.M.r)
    # L_f |X| stands for a gradient that vanishes at the solution, as |A| |X| does for A(X).
    gradient = norm(problem.f.gradient_at(X, certificate.point.HX)) + norm(problem.g.subgradient(X))
    slope = (problem.f.lipschitz or 0.0) * root + float(gradient) + a * float(norm(z))
    return Criticality(
        _share(parts.primal, a * root + float(norm(y))),
        _share(parts.dual, float(norm(z)) + (slope / a if a > 0 else 0.0)),
        _share(parts.stationarity, slope),
    )


def _share(part: float, whole: float) -> float:
    """The part as a share of the whole, at most 1; nothing is no share."""
    return part / max(part, whole) if part > 0 else part


def nonzeros(X: Array, tolerance: float = 1e-6) -> int:
    """The number of entries larger than the tolerance in magnitude."""
    xp = array_namespace(X)
    return int(xp.count_nonzero(xp.abs(X) > tolerance))


def sparsity(X: Array, tolerance: float = 1e-6) -> float:
    """The fraction of entries that are zero, up to the tolerance."""
    rows, columns = X.shape
    return 1.0 - nonzeros(X, tolerance) / int(rows * columns)
