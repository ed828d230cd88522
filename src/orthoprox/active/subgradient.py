"""The shortest tangent subgradient: how far a point is from critical when h may hold entries at zero."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._linalg import conjugate_gradients, inner, norm, symmetric
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.active.active_set import ActiveSet
from orthoprox.manifolds import SparseStiefel
from orthoprox.problem import Point, Problem

_STEPS = 30
_ACCURACY = 1e-5  # of the remainder: how short its symmetric part has to be
_CG = 1e-2  # accuracy of a Newton step
_RIDGE, _LEAST_RIDGE = 1e-2, 1e-10  # Levenberg-Marquardt, beside a Hessian of norm at most 1


@dataclass(frozen=True, eq=False)
class Subgradient:
    """A subgradient z of h, and the tangent part G of grad f - dg + z: as short as z can make it."""

    z: Array
    G: Array
    length: float
    """Of G. It is Crit where y = X, since z is a subgradient there."""


def shortest_subgradient(
    problem: Problem, point: Point, active: ActiveSet, guess: Array, enough: float = 0.0
) -> Subgradient:
    """The subgradient of h at X for which the tangent part of grad f - dg + z is shortest.

    Parameters
    ----------
    problem : Problem
        With an entrywise h and A = I.
    point : Point
        With zeros off the active set.
    active : ActiveSet
        On its support z is the slope of h, elsewhere it lies between the slopes at zero.
    guess : array
        A first z.
    enough : float
        A length that need not be improved upon.
    """
    xp, X = array_namespace(guess), point.X
    base = problem.f.gradient_at(X, point.HX) - problem.g.subgradient(X)
    slope, free = active.slope(problem.h, X), active.support > 0  # type: ignore[arg-type]
    low, high = (xp.where(free, slope, bound) for bound in (active.low, active.high))
    z = shortest(X, base, guess, low, high, enough)
    G = problem.M.tangent(X, base + z)
    return Subgradient(z, G, float(norm(G)))


def shortest(X: Array, base: Array, z: Array, low: Array, high: Array, enough: float = 0.0) -> Array:
    """The z between its bounds for which the tangent part of base + z is as short as it can be.

    The tangent part of W is W - X Lam with the symmetric Lam that makes it shortest. So z and Lam together minimise
    ``|base + z - X Lam|``; given Lam, z is X Lam - base brought between its bounds, and what is left is a convex
    function of Lam, piecewise quadratic. It is minimised by Newton steps with a Levenberg-Marquardt term: where columns
    of X meet in small entries only, the Hessian is nearly singular, and whole steps would drive z to its bounds
    elsewhere.

    Parameters
    ----------
    X : array, shape (n, r)
        With orthonormal columns.
    base : array, shape (n, r)
    z : array, shape (n, r)
        A guess.
    low, high : array
        The bounds; equal where z is given.
    enough : float
        A length that need not be improved upon.

    Notes
    -----
    Lam does not reach the rows where X vanishes: there z is -base between its bounds, and the rest is done without
    these rows where they are most.
    """
    xp = array_namespace(X)
    there = xp.any(X != 0, axis=1)
    if 2 * int(xp.count_nonzero(there)) >= X.shape[0]:
        return _shortest(X, base, z, low, high, enough)
    outside = xp.clip(-base, low, high)
    left = xp.where(there[:, None], xp.zeros_like(base), base + outside)
    rows = xp.nonzero(there)[0]
    X, base, z, low, high = (xp.take(a, rows, axis=0) for a in (X, base, z, low, high))
    inside = _shortest(X, base, z, low, high, enough, float(inner(left, left)))
    places = xp.cumulative_sum(xp.astype(there, rows.dtype), axis=0) - 1
    return xp.where(there[:, None], xp.take(inside, xp.clip(places, 0), axis=0), outside)


def _shortest(X: Array, base: Array, z: Array, low: Array, high: Array, enough: float, beyond: float = 0.0) -> Array:
    """The same with what is left in further rows, squared."""
    xp, r = array_namespace(X), X.shape[1]

    def remainder(Lam: Array) -> tuple[Array, Array, float]:
        W = X @ Lam - base
        z = xp.clip(W, low, high)
        R = W - z
        return z, R, float(inner(R, R)) + beyond

    given = low == high
    Lam = symmetric(X.T @ (base + xp.clip(z, low, high)))
    z, R, square = remainder(Lam)
    ridge, improved = _RIDGE, True
    for _ in range(_STEPS):
        if improved:
            C = symmetric(X.T @ R)
            if float(inner(C, C)) <= _ACCURACY**2 * square or square <= enough**2:
                break
            space = SparseStiefel(xp.astype((R != 0) | given, X.dtype)).tangent_space(X, dense=False)

        def hessian(D: Array, apply=space.apply, ridge: float = ridge) -> Array:  # type: ignore[no-untyped-def]
            return apply(D) + ridge * D

        D = conjugate_gradients(hessian, C, tolerance=_CG, most=r * r).x
        trial = remainder(Lam - D)
        improved = trial[2] < square - _CG * float(inner(C, D))
        if improved:
            Lam, (z, R, square) = Lam - D, trial
        ridge = max(0.1 * ridge, _LEAST_RIDGE) if improved else min(10 * ridge, 1.0)
    return z
