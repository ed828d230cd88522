"""Problems too large or too small for the squares of their gradients are solved in other units."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._fields import replace
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._norm import check_square
from orthoprox.problem import Certificate, Criticality, Point, Problem
from orthoprox.solvers._units import nearest_unit
from orthoprox.terms import Zero


@dataclass(frozen=True, eq=False)
class Units:
    """A problem as the user wrote it, and as the solver sees it: F times a power of two."""

    problem: Problem
    scaled: Problem
    factor: float = 1.0

    def restore(self, at: Certificate) -> Certificate:
        """A certificate of the scaled problem, in the user's units."""
        if self.factor == 1:
            return at
        HX = None if at.point.HX is None else at.point.HX / self.factor
        return Certificate(Point(at.point.X, HX, at.point.AX), at.y, at.z / self.factor)

    def restore_parts(self, parts: Criticality) -> Criticality:
        """The parts of Crit of the scaled problem, in the user's units."""
        return Criticality(parts.primal, parts.dual / self.factor, parts.stationarity / self.factor)


def choose_units(problem: Problem, like: Array | None = None) -> Units:
    """The user's own units, unless fourth powers of the size of F leave the range of the float type.

    Where they do, F is scaled to ordinary size; where g is all there is, to unit size, since it has no constants from
    which a solver could tell its size. The factor is a power of two, so that nothing is rounded. Whoever knows what
    ``problem.like`` is need not have it looked for again.
    """
    like = problem.like if like is None else like
    if not isinstance(problem.h, Zero):
        check_square(problem.A.norm, like, "A")
    of_h = problem.h.lipschitz_constant((1, 1)) * problem.A.norm
    size = max(problem.f.lipschitz or 0.0, of_h if math.isfinite(of_h) else 0.0)
    most = float(array_namespace(like).finfo(like.dtype).max) ** 0.25
    factor = 1.0
    if size == 0 and problem.f.lipschitz is not None:
        slope = float(norm(problem.g.subgradient(problem.M.random(0, like=like))))
        # By its exponent: a rounded logarithm would part 2^1.5 and 2^-1.5.
        factor = math.ldexp(1.0, -math.frexp(slope)[1]) if slope > 0 and math.isfinite(slope) else 1.0
    elif 0 < size < math.inf and not 1 / most <= size <= most:
        factor = 1 / nearest_unit(size)
    if factor == 1:
        return Units(problem, problem)
    f, g, h = (factor * term for term in (problem.f, problem.g, problem.h))
    return Units(problem, replace(problem, f=f, g=g, h=h, offset=factor * problem.offset), factor)
