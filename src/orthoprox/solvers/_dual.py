"""The tangent subproblem of proximal gradient methods with any A, by accelerated gradient steps on another dual.

The subproblem at X is to minimise ``<G, V> + |V|^2/(2 s) + h(A(X + V))`` over the tangent V. With h written as the
conjugate of h*, each u has its ``V(u) = -s P(G + A*(u))``, where P projects onto the tangent space. It remains to
maximise ``<u, A(X)> - h*(u) - |V(u)|^2/(2 s)``; the prox of h* comes from that of h, by Moreau.

A. Beck, M. Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm for Linear Inverse Problems", SIAM J. Imaging
Sci. 2, 2009; B. O'Donoghue, E. Candes, "Adaptive Restart for Accelerated Gradient Schemes", Found. Comput. Math. 15,
2015.
"""

from __future__ import annotations

import math

from orthoprox._linalg import inner, norm, rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.problem import Point, Problem
from orthoprox.solvers._newton import TangentStep

MOST_STEPS = 1000


def dual_tangent_step(
    problem: Problem, at: Point, G: Array, s: float, u: Array, *, least: float, share: float
) -> TangentStep:
    """Solve the subproblem at a point with gradient G and step size s, warm-started at u; h must be convex.

    V is tangent, and the multiplier is a u that is a subgradient of h at y.

    Parameters
    ----------
    least, share : float
        The tolerance for the duality gap: the larger of ``least`` and ``share |V|^2 / s``, but not below rounding. V
        is then within the root of ``2 s`` times the gap of the solution. The distance from A(X + V) to y has to be as
        small too: where h is flat, the gap does not show it.
    """
    M, A, h, X, xp = problem.M, problem.A, problem.h, at.X, array_namespace(at.X)
    gain = A.norm or 1.0
    sigma = 1 / (s * gain**2)

    def primal(u: Array) -> tuple[Array, Array]:
        V = -s * M.tangent(X, G + A.adjoint(u))
        return V, at.AX + A(V)

    AXV = primal(u)[1]
    u_ahead, AXV_ahead, momentum, steps = u, AXV, 1.0, 0
    while True:
        steps += 1
        w = u_ahead + sigma * AXV_ahead
        y = h.prox(w / sigma, 1 / sigma)
        u_new = w - sigma * y
        V, AXV_new = primal(u_new)
        # u is a subgradient at y, so h*(u) = <u, y> - h(y).
        there, here = h.value(AXV_new), h.value(y)
        gap = float(there - here - inner(u_new, AXV_new - y))
        tolerance = max(least, rounding(X, float(xp.abs(there) + xp.abs(here))), share / s * float(norm(V)) ** 2)
        distance = max(0.0, float(norm(AXV_new - y)) - rounding(X, float(norm(y)))) / gain
        if not max(gap, distance**2 / (2 * s)) > tolerance or steps == MOST_STEPS:
            return TangentStep(V, u_new, y, steps)
        if float(inner(u_ahead - u_new, u_new - u)) > 0:
            momentum = 1.0  # restart: the steps have gone past the maximum
        longer = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (momentum - 1) / longer
        # A(X + V(u)) is affine in u, so the extrapolation needs no product.
        u_ahead, AXV_ahead = u_new + ahead * (u_new - u), AXV_new + ahead * (AXV_new - AXV)
        u, AXV, momentum = u_new, AXV_new, longer
