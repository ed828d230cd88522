"""The penalties of OADMM's projections: the first, at which the iterates roam, and the last, at which they settle."""

from __future__ import annotations

from typing import NamedTuple

from array_api_compat import array_namespace

from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.problem import Point, Problem

_STEEP = 3.0  # times the penalty of h's kinks; where f asks for more, X is turned
_TURNED = (2.0, 60.0)  # the first and the last penalty then, in the same units


class Penalties(NamedTuple):
    """The first penalty and the last one, and whether X is turned before f is linearised."""

    first: float
    last: float
    turns: bool

    def at(self, share: float) -> float:
        """The penalty after a share of the way; past it after a share of more than one."""
        return float(self.first ** (1 - share) * self.last**share)


def penalties(problem: Problem, now: Point, z: Array, roam: float, settle: float) -> Penalties:
    """The penalties at a point with a subgradient z of h near it.

    Parameters
    ----------
    roam, settle : float
        The first penalty in units of ``kinks``, and the last one in units of ``curvature``.
    """
    bends, last = kinks(problem, now), settle * curvature(problem, now, z)
    if problem.f.rotation_invariant and bends > 0 and last > _STEEP * bends:
        first, most = _TURNED
        return Penalties(first * bends, min(last, most * bends), True)
    return Penalties(roam * bends or last, last, False)


def kinks(problem: Problem, now: Point) -> float:
    """The penalty at which the prox of h moves entries of A(X) by as much as they are large in the mean.

    No less than what the prox of a weakly convex h needs at three tenths of it.
    """
    size = float(norm(now.AX))
    return max(
        problem.h.lipschitz_constant(problem.shape) / size if size > 0 else 1.0, 2 * problem.h.weak_convexity / 0.3
    )


def curvature(problem: Problem, now: Point, z: Array) -> float:
    """What the penalty has to outweigh: the downward curvature of F along the manifold, or the kinks of h.

    The first is L_f plus the mean eigenvalue of the multiplier X'(grad f + z) of the constraint.
    """
    xp, r = array_namespace(now.X), problem.M.r
    L = problem.f.lipschitz or 0.0
    pull = problem.f.gradient_at(now.X, now.HX) - problem.g.subgradient(now.X) + z
    multiplier = float(xp.sum(now.X * pull)) / r
    return max(L + multiplier, kinks(problem, now)) or 1.0
