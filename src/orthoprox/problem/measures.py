"""What is measured at a point: stationarity (the paper's Crit), infeasibility, sparsity."""

from __future__ import annotations

import functools
import math
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from array_api_compat import is_array_api_obj

from orthoprox._fields import parts
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.problem.point import Point

if TYPE_CHECKING:
    from orthoprox.problem.problem import Problem

NEGLIGIBLE = 1e-6
"""Entries up to this size count as zeros in what is reported."""


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
    return Criticality(*(float(part) for part in distances(problem, certificate)))


def distances(problem: Problem, certificate: Certificate) -> tuple[Scalar, Scalar, Scalar]:
    """The parts of Crit where the arrays are, so that a compiled program can compute them."""
    point, y, z = certificate.point, certificate.y, certificate.z
    gradient = problem.f.gradient_at(point.X, point.HX)
    G = gradient - problem.g.subgradient(point.X) + problem.A.adjoint(z)
    primal = norm(point.AX - y)
    dual = problem.h.subgradient_distance(y, z)
    stationarity = norm(problem.M.tangent(point.X, G))
    return primal, dual, stationarity


class Sizes(NamedTuple):
    """The sizes to which the parts of Crit are compared."""

    gradients: Scalar
    y: Scalar
    z: Scalar


def sizes(problem: Problem, certificate: Certificate) -> Sizes:
    """Of the gradients of f and g, of y and of z."""
    X, y, z = certificate.point.X, certificate.y, certificate.z
    gradients = norm(problem.f.gradient_at(X, certificate.point.HX)) + norm(problem.g.subgradient(X))
    return Sizes(gradients, norm(y), norm(z))


def relative_criticality(problem: Problem, certificate: Certificate, parts: Criticality) -> Criticality:
    """The parts of Crit as shares of what they compare, in which the units of the data cancel."""
    return shares(problem, parts, sizes(problem, certificate))


def shares(problem: Problem, parts: Criticality, of: Sizes) -> Criticality:
    """The relative Crit from the sizes that it compares.

    The primal part is a share of the sizes of A(X) and y, stationarity one of the sizes of the gradients, and the dual
    part one of the sizes of z and of the gradients.
    """
    a, root = problem.A.norm, math.sqrt(problem.M.r)
    # L_f |X| stands for a gradient that vanishes at the solution, as |A| |X| does for A(X).
    slope = (problem.f.lipschitz or 0.0) * root + float(of.gradients) + a * float(of.z)
    return Criticality(
        _share(parts.primal, a * root + float(of.y)),
        _share(parts.dual, float(of.z) + (slope / a if a > 0 else 0.0)),
        _share(parts.stationarity, slope),
    )


def _share(part: float, whole: float) -> float:
    """The part as a share of the whole, at most 1; nothing is no share."""
    return part / max(part, whole) if part > 0 else part


class Numbers(NamedTuple):
    """All that a run records of a state; each is a number where the arrays are, until it is fetched."""

    objective: Scalar
    primal: Scalar
    dual: Scalar
    stationarity: Scalar
    gradients: Scalar
    y: Scalar
    z: Scalar
    infeasibility: Scalar
    nonzeros: Scalar
    finite: Scalar
    """Whether everything in the state is."""


def numbers(problem: Problem, X: Array, certificate: Certificate, state: Any) -> Numbers:
    """Measure a feasible point and its certificate in one go, without a word to the host."""
    xp = array_namespace(X)
    arrays = [part for part in parts(state) if is_array_api_obj(part) and xp.isdtype(part.dtype, "real floating")]
    return Numbers(
        problem.objective(certificate.point),
        *distances(problem, certificate),
        *sizes(problem, certificate),
        problem.M.infeasibility(X),
        xp.sum(xp.astype(xp.abs(X) > NEGLIGIBLE, X.dtype)),
        functools.reduce(operator.and_, (xp.all(xp.isfinite(array)) for array in arrays)),
    )


def nonzeros(X: Array, tolerance: float = NEGLIGIBLE) -> int:
    """The number of entries larger than the tolerance in magnitude."""
    xp = array_namespace(X)
    return int(xp.count_nonzero(xp.abs(X) > tolerance))


def sparsity(X: Array, tolerance: float = NEGLIGIBLE) -> float:
    """The fraction of entries that are zero, up to the tolerance."""
    rows, columns = X.shape
    return 1.0 - nonzeros(X, tolerance) / int(rows * columns)
