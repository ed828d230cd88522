"""Newton's method for X, z and the multiplier of X'X = I together, as one small dense system.

For small matrices, and many of them at once: every round is a few dense operations and asks the host nothing, so it can
be part of a program (``backends._speculation``) and of a batch. ``finish`` is for matrices of any size, one at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from array_api_compat import device

from orthoprox._linalg import identity_like, symmetric, triangle
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of, speculation
from orthoprox.maps import Identity
from orthoprox.problem import Point, Problem
from orthoprox.terms import Zero
from orthoprox.terms._base import EntrywiseTerm, QuadraticTerm

DUAL_STEPS = 8
"""Newton steps for the best multiplier: a convex piecewise quadratic function of r (r + 1)/2 variables."""
NEAR = 0.1
"""The norm of X'X - I up to which X may still be what the steps were meant to lead to."""


class Joint(NamedTuple):
    """X, a subgradient z of h, and the symmetric multiplier L of X'X = I; critical where grad f + z + XL = 0."""

    X: Array
    z: Array
    L: Array


class Free(NamedTuple):
    """Which entries a round moves, and how."""

    on: Array
    """The entries that move with the multiplier; the others are where the prox puts them."""
    X: Array
    z: Array
    """What z becomes on the entries that move, but for ``bend`` times their step."""
    bend: Array
    """The curvature of h there."""


class Dual(NamedTuple):
    """A multiplier on its way, and the best so far with the square of what it leaves."""

    L: Array
    best: Array
    least: Scalar


def takes(problem: Problem) -> bool:
    """Whether the system can be written down: f quadratic in the columns of X, h entrywise and finite, no g, A = I."""
    f, h = problem.f, problem.h
    columnwise = isinstance(f, QuadraticTerm) and bool(getattr(f, "left", False))
    finite = isinstance(h, EntrywiseTerm) and math.isfinite(h.lipschitz_constant(problem.shape))
    return columnwise and finite and isinstance(problem.g, Zero) and isinstance(problem.A, Identity)


def newton(problem: Problem, X: Array, z: Array, beta: Scalar, rounds: int) -> tuple[Point, Array, Array]:
    """A point, y and z after so many rounds from X and z; far from a solution they may be anything, even NaN.

    In each round the prox at X + z/beta says which entries are free. The equations grad f + z + XL = 0 on these entries
    and X'X = I are linearised and solved for X and L. At most half of the entries may be free. Where more are, the step
    is NaN, but there h acts so little that projections are fast.
    """
    xp = array_namespace(X)
    C = problem.f.product(xp.eye(problem.M.n, dtype=X.dtype, device=device(X)))
    at = balanced(problem, C, X, z, beta)
    at = backend_of(X).loop(lambda at: newton_round(problem, C, at, beta), at, rounds)
    point = problem.at(_nearest(problem, at.X))
    return point, at.X, shortest_subgradient(problem, point, at)


def balanced(problem: Problem, C: Array, X: Array, z: Array, beta: Scalar) -> Joint:
    """Where the rounds begin: X on its free entries, with the multiplier that leaves the least to be desired there.

    Two columns that share no row have no say in their entry of L. Any other entry than the best one would ask for a
    single new row in both, which their product forbids; at the best one those that ask are in balance, so two or more
    rows enter together or none does.
    """
    xp = array_namespace(X)
    assert isinstance(problem.h, EntrywiseTerm)
    moves = problem.h.prox_slope(X + z / beta, 1 / beta) > 0
    on = moves & ~meets_alone(moves, X)
    X = xp.where(on, X, xp.zeros_like(X))
    G = problem.f.gradient_at(X, C @ X)
    L = best_multiplier(problem, X, X, G, -symmetric(X.T @ (G + z)))
    return Joint(X, xp.where(on, z, -(G + X @ L)), L)


def _nearest(problem: Problem, X: Array) -> Array:
    """The orthonormal matrix nearest to one that is nearly orthonormal; NaN for others, where the steps have failed."""
    xp, program = array_namespace(X), speculation()
    excess = X.T @ X - identity_like(X)
    near = xp.sum(excess * excess) < NEAR**2
    if program is None:
        return problem.M.project(X) if bool(near) else math.nan * X
    with program.only_where(near):
        return xp.where(near, problem.M.project(X), math.nan * X)


def newton_round(problem: Problem, C: Array, at: Joint, beta: Scalar) -> Joint:
    """One round; entries that are not free are exactly where the prox puts them."""
    free = free_entries(problem, at, beta)
    dX, dL = solve_system(C, free, at.L, problem.f.gradient_at(free.X, C @ free.X))
    X, L = free.X + dX, at.L + dL
    off = -(problem.f.gradient_at(X, C @ X) + X @ L)
    return Joint(X, array_namespace(X).where(free.on, free.z + free.bend * dX, off), L)


def free_entries(problem: Problem, at: Joint, beta: Scalar) -> Free:
    """The entries at which the prox at u = X + z/beta is not constant, with h's part of the equations there.

    The derivative D of the prox ties the steps of X and z together, (1 - D) dX - D dz/beta = prox(u) - X. Where D is 0,
    X goes to prox(u). Elsewhere z + dz = z + beta (X - prox(u))/D + beta (1 - D)/D dX.
    """
    xp, h = array_namespace(at.X), problem.h
    assert isinstance(h, EntrywiseTerm)
    u = at.X + at.z / beta
    p, D = h.prox(u, 1 / beta), h.prox_slope(u, 1 / beta)
    moves = D > 0
    alone = meets_alone(moves, at.X)
    on, nothing = moves & ~alone, xp.zeros_like(at.X)
    X = xp.where(on, at.X, xp.where(alone, nothing, p))
    safe = xp.where(on, D, xp.ones_like(D))
    return Free(on, X, at.z + beta * (X - p) / safe, beta * (1 - safe) / safe)


def meets_alone(on: Array, X: Array) -> Array:
    """Entries in the only row that two columns share, the smaller one of each such pair.

    Their product is all that the constraint on the two columns says, so one of them is zero in the end. With both free,
    the equations ask for a multiplier that grows without bound as the smaller one gets there.
    """
    xp = array_namespace(X)
    ones = xp.astype(on, X.dtype)
    once = xp.astype(ones.T @ ones == 1, X.dtype) * (1 - identity_like(X))
    size = xp.abs(X) * ones
    smaller = (size[:, :, None] < size[:, None, :]) & on[:, :, None] & on[:, None, :]
    return xp.sum(xp.astype(smaller, X.dtype) * once[None, :, :], axis=2) > 0


def solve_system(C: Array, free: Free, L: Array, G: Array) -> tuple[Array, Array]:
    """The steps of X on its free entries and of L by elimination, with the gradient G of f at ``free.X``.

    NaN where more than half of the entries are free.
    """
    xp, (n, r) = array_namespace(L), free.X.shape
    size, pairs = n * r // 2, triangle(xp, r, device(L))
    order = xp.argsort(xp.astype(xp.reshape(~free.on, (-1,)), xp.int64), stable=True)  # free entries first
    chosen, rank = order[:size], xp.argsort(order, stable=True)
    used = xp.astype(xp.take(xp.reshape(free.on, (-1,)), chosen), L.dtype)
    J = used[:, None] * xp.take(constraint_derivatives(free.X), chosen, axis=0)
    # Columns that share no row have no equation: a tiny term leaves their multiplier where it is.
    tiny = backend_of(L).eps(L) ** 0.75 / xp.max(xp.abs(C))
    corner = -tiny * xp.eye(J.shape[1], dtype=L.dtype, device=device(L))
    H = _hessian(C, L, chosen // r, chosen % r, used, xp.take(xp.reshape(free.bend, (-1,)), chosen))
    K = xp.concat([xp.concat([H, J], axis=1), xp.concat([J.T, corner], axis=1)], axis=0)
    gradient = used * xp.take(xp.reshape(G + free.z + free.X @ L, (-1,)), chosen)
    excess = xp.reshape(free.X.T @ free.X - identity_like(free.X), (-1,))
    excess = xp.take(excess, pairs.rows * r + pairs.columns) / xp.astype(1 + (pairs.rows == pairs.columns), L.dtype)
    found = backend_of(L).solve(K, -xp.concat([gradient, excess]))
    fits = xp.sum(xp.astype(free.on, xp.int64)) <= size
    step = xp.where(fits, used * found[:size], math.nan * used)
    step = xp.concat([step, xp.zeros((n * r - size,), dtype=L.dtype, device=device(L))])
    return xp.reshape(xp.take(step, rank), (n, r)), _matrix(found[size:], r)


def _hessian(C: Array, L: Array, row: Array, column: Array, used: Array, bend: Array) -> Array:
    """D -> CD + DL + bend D on some entries; the identity on places that are not used."""
    xp = array_namespace(C)
    in_column = xp.astype(column[:, None] == column[None, :], C.dtype)
    in_row = xp.astype(row[:, None] == row[None, :], C.dtype)
    H = in_column * xp.take(xp.take(C, row, axis=0), row, axis=1)
    H = H + in_row * xp.take(xp.take(L, column, axis=0), column, axis=1)
    diagonal = used * bend + (1 - used)
    return used[:, None] * H * used[None, :] + diagonal[:, None] * xp.eye(
        used.shape[0], dtype=C.dtype, device=device(C)
    )


def constraint_derivatives(X: Array) -> Array:
    """The derivatives of x_i'x_j, i < j, and |x_i|^2/2 in all entries of X, a column each; times L they are XL."""
    xp, (n, r) = array_namespace(X), X.shape
    pairs, identity = triangle(xp, r, device(X)), identity_like(X)
    first, second = (xp.take(identity, index, axis=0) for index in (pairs.rows, pairs.columns))  # unit vectors
    one = xp.take(X, pairs.columns, axis=1)[:, None, :] * first.T[None, :, :]
    other = xp.take(X, pairs.rows, axis=1)[:, None, :] * second.T[None, :, :]
    apart = xp.astype(pairs.rows != pairs.columns, X.dtype)
    return xp.reshape(one + apart * other, (n * r, apart.shape[0]))


def _matrix(entries: Array, r: int) -> Array:
    """The symmetric matrix with these entries on and above its diagonal."""
    xp = array_namespace(entries)
    return xp.reshape(xp.take(entries, triangle(xp, r, device(entries)).places), (r, r))


def shortest_subgradient(problem: Problem, point: Point, at: Joint) -> Array:
    """The subgradient z of h at ``at.X`` with the shortest grad f + z + XL over all L."""
    clip, h, X = backend_of(point.X).clip, problem.h, point.X
    assert isinstance(h, EntrywiseTerm)
    low, high = h.subdifferential(at.X)
    G = problem.f.gradient_at(X, point.HX)
    L = best_multiplier(problem, X, at.X, G, -symmetric(X.T @ (G + clip(at.z, low, high))))
    return clip(-(G + X @ L), low, high)


def best_multiplier(problem: Problem, X: Array, y: Array, G: Array, L: Array) -> Array:
    """The L with the shortest G + z + XL over all subgradients z of h at y, the best of a few Newton steps.

    The z for an L is -G - XL, cut to the subdifferential, so what is left is a function of L alone.
    """
    xp, clip, h = array_namespace(X), backend_of(X).clip, problem.h
    assert isinstance(h, EntrywiseTerm)
    low, high = h.subdifferential(y)
    J = constraint_derivatives(X)
    tiny = backend_of(L).eps(L) * xp.eye(J.shape[1], dtype=L.dtype, device=device(L))

    def descend(at: Dual) -> Dual:
        left = -(G + X @ at.L)
        left = xp.reshape(left - clip(left, low, high), (-1,))
        square = xp.sum(left * left)
        best, least = xp.where(square < at.least, at.L, at.best), xp.where(square < at.least, square, at.least)
        curvature = J.T @ (xp.astype(left != 0, J.dtype)[:, None] * J)
        step = backend_of(X).solve(curvature + tiny, J.T @ left)
        return Dual(at.L + _matrix(step, problem.M.r), best, least)

    return backend_of(X).loop(descend, Dual(L, L, xp.sum(X * X) * math.inf), DUAL_STEPS).best
