"""The units of a problem, for published constants that have units."""

from __future__ import annotations

import math

from orthoprox._namespace import array_namespace
from orthoprox._types import Scalar
from orthoprox.backends import either
from orthoprox.problem import Problem
from orthoprox.solvers._schedules import entry_slope

_BAND = 40  # a problem up to a million times larger or smaller than 1 is of ordinary size


def unit(problem: Problem, L: Scalar) -> Scalar:
    """The power of 2^40 nearest to L_f, or to the slope of h where f has no curvature; 1 at ordinary size.

    Step sizes, tolerances and penalties that a paper gives as plain numbers are for problems of about unit size. In
    these units they hold for all: F times 2^40 gives the same iterates.
    """
    slope = entry_slope(problem.h) * problem.A.norm
    return nearest_unit(either(L > 0, L, either((0 < slope) & (slope < math.inf), slope, 1.0)))


def nearest_unit(size: Scalar) -> Scalar:
    """The power of 2^40 nearest to a size; the larger one halfway, whichever they are."""
    if isinstance(size, (int, float)):
        return math.ldexp(1.0, _BAND * math.floor(math.log2(size) / _BAND + 0.5))
    xp = array_namespace(size)
    return 2.0 ** (_BAND * xp.floor(xp.log2(size) / _BAND + 0.5))
