"""The matrices of a quadratic f and of A, where products from the left have one."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from array_api_compat import array_namespace, device

from orthoprox._types import Array
from orthoprox.maps import LinearMap
from orthoprox.problem import Problem
from orthoprox.terms import QuadraticTerm, Zero

LARGEST = 3000
"""Up to this n an n-by-n matrix is formed and factored without being asked to."""


def formable(problem: Problem) -> bool:
    """Whether f is quadratic and both its Hessian and A act on every column of X in the same way."""
    f = problem.f
    quadratic = isinstance(f, Zero) or (isinstance(f, QuadraticTerm) and is_dataclass(f))
    return quadratic and _all_left(f) and problem.A.left


def _all_left(part: Any) -> bool:
    if isinstance(part, LinearMap):
        return bool(part.left)
    if isinstance(part, (tuple, list)):
        return all(_all_left(item) for item in part)
    if is_dataclass(part):
        return all(_all_left(getattr(part, field.name)) for field in fields(part))
    return True


def hessian(problem: Problem, like: Array) -> Array:
    """The n-by-n Hessian of a quadratic f."""
    eye = _eye(problem, like)
    H = problem.f.product(eye)
    return 0.0 * eye if H is None else (H + H.T) / 2


def gram_of_map(problem: Problem, like: Array) -> Array:
    """The n-by-n matrix of X -> A*(A(X))."""
    eye = _eye(problem, like)
    K = problem.A.adjoint(problem.A(eye))
    return (K + K.T) / 2


def _eye(problem: Problem, like: Array) -> Array:
    return array_namespace(like).eye(problem.M.n, dtype=like.dtype, device=device(like))
