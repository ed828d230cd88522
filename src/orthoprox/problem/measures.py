"""What is measured at a point: stationarity (the paper's Crit), infeasibility, sparsity."""

from __future__ import annotations

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


def criticality(problem: Problem, certificate: Certificate, *, relative: bool = False) -> Criticality:
    """Measure how far a triple is from a critical point.

    Parameters
    ----------
    problem : Problem
    certificate : Certificate
    relative : bool
        Divide the primal part by ``1 + |A(X)| + |y|``, the dual one by ``1 + |z|`` and the stationarity
        by ``1 + |grad f(X)|``. On badly scaled data these pass early; the absolute ones do not.
    """
    point, y, z = certificate.point, certificate.y, certificate.z
    gradient = problem.f.gradient_at(point.X, point.HX)
    G = gradient - problem.g.subgradient(point.X) + problem.A.adjoint(z)
    primal = norm(point.AX - y)
    dual = problem.h.subgradient_distance(y, z)
    stationarity = norm(problem.M.tangent(point.X, G))
    if relative:
        primal = primal / (1.0 + norm(point.AX) + norm(y))
        dual = dual / (1.0 + norm(z))
        stationarity = stationarity / (1.0 + norm(gradient))
    return Criticality(float(primal), float(dual), float(stationarity))


def nonzeros(X: Array, tolerance: float = 1e-6) -> int:
    """The number of entries larger than the tolerance in magnitude."""
    xp = array_namespace(X)
    return int(xp.count_nonzero(xp.abs(X) > tolerance))


def sparsity(X: Array, tolerance: float = 1e-6) -> float:
    """The fraction of entries that are zero, up to the tolerance."""
    rows, columns = X.shape
    return 1.0 - nonzeros(X, tolerance) / int(rows * columns)
