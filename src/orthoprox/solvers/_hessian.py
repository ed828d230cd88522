"""The matrices of a quadratic f and of A where both multiply from the left, and linear systems with them."""

from __future__ import annotations

from array_api_compat import device

from orthoprox._linalg import symmetric
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps import Identity, LinearMap
from orthoprox.problem import Problem
from orthoprox.terms import ExplainedVariance, LeastSquares, QuadraticTerm, Zero

LARGEST = 3000
"""The largest matrix that is formed and factored by default."""


def formable(problem: Problem) -> bool:
    """Whether f is quadratic and both its Hessian and A act on every column of X in the same way."""
    f = problem.f
    return isinstance(f, (Zero, QuadraticTerm)) and f.left and problem.A.left


def hessian(problem: Problem, like: Array) -> Array:
    """The n-by-n Hessian of a quadratic f."""
    eye = _eye(problem.M.n, like)
    H = problem.f.product(eye)
    return 0.0 * eye if H is None else symmetric(H)


def gram_of_map(problem: Problem, like: Array) -> Array:
    """The n-by-n matrix of X -> A*(A(X))."""
    eye = _eye(problem.M.n, like)
    return symmetric(problem.A.adjoint(problem.A(eye)))


def few_rows(problem: Problem) -> tuple[float, LinearMap] | None:
    """The c and B of a Hessian c B*B, where A = I and products with B are cheaper than with an n-by-n matrix.

    This and the functions below are for problems that are ``formable``.
    """
    f, n = problem.f, problem.M.n
    if not isinstance(f, (ExplainedVariance, LeastSquares)) or not isinstance(problem.A, Identity):
        return None
    B: LinearMap = f.B
    if 2 * B.cost(n) + B.rows(n) ** 2 >= n * n:
        return None
    return (-f.weight if isinstance(f, ExplainedVariance) else f.weight), B


def system_size(problem: Problem) -> int:
    """The number of rows of ``system_matrix``."""
    few, n = few_rows(problem), problem.M.n
    return n if few is None else few[1].rows(n)


def system_matrix(problem: Problem, like: Array, lam: float) -> Array:
    """H + lam A*A, or for data B of few rows, with H = c B*B, the smaller c B B* + lam I.

    They have the same eigenvalues, except that the larger one also has lam.
    """
    few = few_rows(problem)
    if few is None:
        H = hessian(problem, like)
        return H if lam == 0 else H + lam * gram_of_map(problem, like)
    c, B = few
    eye = _eye(system_size(problem), like)
    return symmetric(c * B(B.adjoint(eye))) + lam * eye


def solve_system(problem: Problem, inverse: Array, shift: float, R: Array) -> Array:
    """The X with (H + beta I + lam A*A) X = R, by the inverse of beta I + ``system_matrix``.

    For data of few rows this is Woodbury's identity, where the shift is beta + lam.
    """
    few = few_rows(problem)
    if few is None:
        return inverse @ R
    c, B = few
    return (R - c * B.adjoint(inverse @ B(R))) / shift


def _eye(n: int, like: Array) -> Array:
    return array_namespace(like).eye(n, dtype=like.dtype, device=device(like))
