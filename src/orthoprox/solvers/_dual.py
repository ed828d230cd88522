"""The tangent subproblem of proximal gradient methods with any A, by accelerated gradient steps on another dual.

The subproblem at X is to minimise ``<G, V> + |V|^2/(2 s) + h(A(X + V))`` over the tangent V. With h written through
its conjugate, V is known for each u: ``V(u) = -s P(G + A*(u))``, where P projects onto the tangent space. What is left
is to maximise ``<u, A(X)> - h*(u) - |V(u)|^2/(2 s)``, and the prox of h* is that of h, by Moreau.

A. Beck, M. Teboulle, "A Fast Iterative Shrinkage-Thresholding Algorithm for Linear Inverse Problems", SIAM J. Imaging
Sci. 2, 2009; B. O'Donoghue, E. Candes, "Adaptive Restart for Accelerated Gradient Schemes", Found. Comput. Math. 15,
2015.
"""

from __future__ import annotations

import math

from array_api_compat import array_namespace

from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.problem import Point, Problem
from orthoprox.solvers._newton import TangentStep

MOST_STEPS = 1000


def dual_tangent_step(
    problem: Problem, at: Point, G: Array, s: float, u: Array, *, least: float, share: float
) -> TangentStep:
    """Solve the subproblem at a point with gradient G and length s, from a first u; h must be convex.

    V is tangent, and the multiplier is a u that is a subgradient of h at y.

    Parameters
    ----------
    least, share : float
        The duality gap is brought below the larger of ``least`` and ``share |V|^2 / s``, but not below rounding. The
        distance from V to the solution is then at most the root of ``2 s`` times that, and that from A(X + V) to y is
        brought down as far: where h is flat, no gap between them is seen.
    """
    M, A, h, X, xp = problem.M, problem.A, problem.h, at.X, array_namespace(at.X)
    gain, eps = A.norm or 1.0, backend_of(X).eps(X)
    sigma = 1 / (s * gain**2)

    def moved(u: Array) -> tuple[Array, Array]:
        V = -s * M.tangent(X, G + A.adjoint(u))
        return V, at.AX + A(V)

    AXV = moved(u)[1]
    u_ahead, AXV_ahead, momentum, steps = u, AXV, 1.0, 0
    while True:
        steps += 1
        w = u_ahead + sigma * AXV_ahead
        y = h.prox(w / sigma, 1 / sigma)
        u_new = w - sigma * y
        V, AXV_new = moved(u_new)
        # u is a subgradient at y, so that h*(u) = <u, y> - h(y).
        there, here = h.value(AXV_new), h.value(y)
        gap = float(there - here - xp.sum(u_new * (AXV_new - y)))
        rounding = 16 * eps * float(xp.abs(there) + xp.abs(here))
        wanted = max(least, rounding, share / s * float(norm(V)) ** 2)
        apart = max(0.0, float(norm(AXV_new - y)) - 16 * eps * float(norm(y))) / gain
        if not max(gap, apart**2 / (2 * s)) > wanted or steps == MOST_STEPS:
            return TangentStep(V, u_new, y, steps)
        if float(xp.sum((u_ahead - u_new) * (u_new - u))) > 0:
            momentum = 1.0  # the steps have gone past the maximum
        longer = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        ahead = (momentum - 1) / longer
        # A(X + V(u)) is affine in u: what is ahead needs no product.
        u_ahead, AXV_ahead = u_new + ahead * (u_new - u), AXV_new + ahead * (AXV_new - AXV)
        u, AXV, momentum = u_new, AXV_new, longer
