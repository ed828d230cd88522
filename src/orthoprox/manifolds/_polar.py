"""The polar factor: the nearest matrix with orthonormal columns."""

from __future__ import annotations

from orthoprox._linalg import identity_like, safe_squares
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.backends._speculation import MOST_EFFORT, PRODUCTS, speculation

# Squared condition numbers, as multiples of 1/eps, up to which the r-by-r route keeps enough digits of the
# nearest point: its error is about eps times the squared condition number.
_ACCURATE = {True: 1e-11, False: 1e-4}
# Up to this squared condition number the r-by-r route is orthonormal to rounding without a correction.
_EXACT = 4.0
# And up to this bound on it the route by products is.
_MILD = 16.0


def nearest(Y: Array) -> Array:
    """The polar factor alone; in a program, where nothing is left out by itself, two launches less than with S."""
    program = speculation()
    if program is None:
        return polar_factor(Y)[0]
    with backend_of(Y).quiet():
        Q, _, half, enough = _by_products(Y, Y.T @ Y, program.effort)
        program.settle(enough)
        return _corrected(Q, half)


def polar_factor(Y: Array) -> tuple[Array, Array]:
    """The polar factor Q of Y, and the r-by-r S with ``Q = Y S``.

    The route through the r-by-r Gram matrix Y'Y costs two products of Y's size and a small
    eigenproblem; where Y is not very well conditioned a Newton-Schulz step restores orthonormality.
    Its error grows with the square of the condition number, so ill-conditioned, rank-deficient and
    badly scaled input goes through the SVD. For rank-deficient Y the factor is one of several and
    S is a pseudo-inverse square root, with ``Q = Y S`` on the row space of Y only.
    A Y that is not finite gives NaN, not an error: the run that made it is told so elsewhere.
    """
    backend = backend_of(Y)
    with backend.quiet():  # an overflow here is seen to below
        gram = Y.T @ Y
        program = speculation()
        if program is not None:
            Q, S, half, enough = _by_products(Y, gram, program.effort)
            program.settle(enough)
            return _corrected(Q, half), _corrected(S, half)
        if backend.prefers_products(gram):
            Q, S, half, enough = _by_products(Y, gram, MOST_EFFORT)
            found = _corrected(Q, half), _corrected(S, half)
            return backend.cond(enough, lambda *_: found, _by_decomposition, Y, gram)
        return _by_decomposition(Y, gram)


def _by_products(Y: Array, gram: Array, effort: int) -> tuple[Array, Array, Array | None, Array]:
    """Q and S without a decomposition, half of Q'Q - I to correct them with, and whether Q is then one to rounding.

    S from the Gram matrix is a polynomial of it, so it is symmetric, and Q = YS is the polar factor if only its columns
    are orthonormal. The least effort relies on the Gram matrix for that, whose rounding errors are eps times a
    condition number that is bounded by norms. The others measure Q'Q, and one more Newton-Schulz step with it restores
    what rounding has cost.
    """
    xp = array_namespace(Y)
    S, residual = _inverse_root(gram, PRODUCTS[effort])
    Q, near = Y @ S, backend_of(Y).eps(Y) ** 0.5 / 2  # one step makes a rounding error of this
    if effort == 0:
        return Q, S, None, (residual <= near) & (_row_norm(S) ** 2 * _row_norm(gram) <= _MILD)
    half = 0.5 * (Q.T @ Q - identity_like(Y))
    return Q, S, half, xp.max(xp.abs(half)) <= near / 2


def _corrected(Q: Array, half: Array | None) -> Array:
    """Q after a Newton-Schulz step: Q (3I - Q'Q)/2."""
    return Q if half is None else Q - Q @ half


def _inverse_root(gram: Array, steps: int) -> tuple[Array, Array]:
    """The inverse square root by Newton-Schulz steps, and the largest entry of S G S - I before the last one.

    With H half the Gram matrix, scaled so that its eigenvalues are at most 1, a step is T = 3/2 I - H, H <- T H T,
    S <- S T: eigenvalues in (0, 3/2) tend to 1/2.
    """
    known = backend_of(gram).inverse_root(gram, PRODUCTS[-1])  # in one kernel, where steps cost next to nothing
    if known is not None:
        return known
    xp = array_namespace(gram)
    identity = identity_like(gram)
    three_halves = 1.5 * identity
    scale = xp.maximum(2 * xp.linalg.trace(gram) / gram.shape[0], _row_norm(gram))
    H = gram / scale
    S = identity * xp.sqrt(2 / scale)
    for left in range(steps, 0, -1):
        T = three_halves - H
        S = S @ T
        if left > 1:
            H = T @ (H @ T)
    return S, 2 * xp.max(xp.abs(H - 0.5 * identity))


def _row_norm(S: Array) -> Array:
    """The largest sum of magnitudes in a column: no eigenvalue of a symmetric matrix exceeds it."""
    xp = array_namespace(S)
    return xp.max(xp.sum(xp.abs(S), axis=0))


def _by_decomposition(Y: Array, gram: Array) -> tuple[Array, Array]:
    backend = backend_of(Y)
    return backend.cond(backend.all_finite(gram), _by_gram, _by_svd_if_finite, Y, gram)


def _by_gram(Y: Array, gram: Array) -> tuple[Array, Array]:
    xp, backend = array_namespace(Y), backend_of(Y)
    eps = backend.eps(Y)
    squares, V = backend.eigh(gram)
    low, high = squares[0], squares[-1]
    worst = _ACCURATE[eps < 1e-12] / eps
    tiny, _ = safe_squares(xp, Y.dtype)  # smaller squares have lost digits to underflow
    return backend.cond((low * worst > high) & (low > tiny), _from_eigen, _by_svd_of, Y, squares, V)


def _from_eigen(Y: Array, squares: Array, V: Array) -> tuple[Array, Array]:
    xp = array_namespace(Y)
    S = (V / xp.sqrt(squares)) @ V.T
    exact = squares[-1] <= _EXACT * squares[0]
    return backend_of(Y).cond(exact, _keep, _correct, Y @ S, S)


def _keep(Q: Array, S: Array) -> tuple[Array, Array]:
    return Q, S


def _correct(Q: Array, S: Array) -> tuple[Array, Array]:
    """One Newton-Schulz step, Q (3I - Q'Q)/2: an error e in Q'Q becomes 3/4 e^2."""
    E = Q.T @ Q
    return 1.5 * Q - Q @ (0.5 * E), 1.5 * S - S @ (0.5 * E)


def _by_svd_of(Y: Array, squares: Array, V: Array) -> tuple[Array, Array]:
    return _by_svd(Y)


def _by_svd_if_finite(Y: Array, gram: Array) -> tuple[Array, Array]:
    # Y'Y overflows for entries above 1e154 (1e19 in single precision) although Y itself is finite.
    xp = array_namespace(Y)
    return backend_of(Y).cond(xp.all(xp.isfinite(Y)), _scaled_svd, _not_a_number, Y, gram)


def _scaled_svd(Y: Array, gram: Array) -> tuple[Array, Array]:
    return _by_svd(Y)


def _not_a_number(Y: Array, gram: Array) -> tuple[Array, Array]:
    xp = array_namespace(Y)
    return xp.full_like(Y, xp.nan), xp.full_like(gram, xp.nan)


def _by_svd(Y: Array) -> tuple[Array, Array]:
    xp = array_namespace(Y)
    eps, tiny = backend_of(Y).eps(Y), float(xp.finfo(Y.dtype).smallest_normal)
    scale = xp.clip(xp.max(xp.abs(Y)), min=tiny)
    U, sizes, Vt = xp.linalg.svd(Y / scale, full_matrices=False)
    kept = sizes > eps * max(Y.shape) * sizes[0]
    inverse = xp.where(kept, 1.0 / xp.where(kept, sizes, xp.ones_like(sizes)), xp.zeros_like(sizes))
    return U @ Vt, (Vt.T * inverse) @ Vt / scale
