"""The shortest tangent subgradient where some entries of the subgradient are free within bounds."""

from __future__ import annotations

from array_api_compat import array_namespace

from orthoprox._linalg import conjugate_gradients, inner
from orthoprox._types import Array
from orthoprox.solvers._support import Support

_STEPS = 30
_ACCURACY = 1e-5


def shortest(X: Array, base: Array, z: Array, low: Array, high: Array, enough: float = 0.0) -> Array:
    """The z between its bounds for which the tangent part of base + z is as short as it can be.

    The tangent part of W is W - X Lam with the symmetric Lam that makes it shortest. So z and Lam together minimise
    |base + z - X Lam|; given Lam, z is X Lam - base brought between its bounds, and what is left is a convex function
    of Lam, piecewise quadratic. It is minimised by Newton steps with a Levenberg-Marquardt term: where columns of X
    meet in small entries only, the Hessian is nearly singular, and whole steps would drive z to its bounds elsewhere.

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
    """
    xp, r = array_namespace(X), X.shape[1]

    def left_over(Lam: Array) -> tuple[Array, Array, float]:
        W = X @ Lam - base
        z = xp.clip(W, low, high)
        R = W - z
        return z, R, float(inner(R, R))

    def symmetric(W: Array) -> Array:
        XtW = X.T @ W
        return (XtW + XtW.T) / 2

    given = low == high
    Lam = symmetric(base + xp.clip(z, low, high))
    z, R, square = left_over(Lam)
    ridge, moved = 1e-2, True
    for _ in range(_STEPS):
        if moved:
            C = symmetric(R)
            if float(inner(C, C)) <= _ACCURACY**2 * square or square <= enough**2:
                break
            support = Support(X, xp.astype((R != 0) | given, X.dtype), dense=False)

        def apply(D: Array, support: Support = support, ridge: float = ridge) -> Array:
            return support.apply(D) + ridge * D

        D = conjugate_gradients(apply, C, tolerance=1e-2, most=r * r).x
        trial = left_over(Lam - D)
        moved = trial[2] < square - 1e-2 * float(inner(C, D))
        if moved:
            Lam, (z, R, square) = Lam - D, trial
        ridge = max(0.1 * ridge, 1e-10) if moved else min(10 * ridge, 1.0)
    return z
