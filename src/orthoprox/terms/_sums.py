"""What sums of terms share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from orthoprox._checks import check_weight
from orthoprox._fields import require
from orthoprox._linalg import sum_exactly
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import QuadraticTerm, SmoothTerm


def check_parts(obj: Any, kind: type, *, nonnegative: bool = True) -> None:
    """Refuse a sum of nothing, or of terms of another kind."""
    owner = type(obj).__name__
    parts = tuple(obj.parts)
    wrong = [type(part).__name__ for part in parts if not isinstance(part, kind)]
    require(len(parts) > 0, f"{owner} needs at least one part; given none.")
    require(not wrong, f"The parts of {owner} must be of the kind {kind.__name__}; given {', '.join(wrong)}.")
    object.__setattr__(obj, "parts", parts)
    object.__setattr__(obj, "weight", check_weight(obj.weight, owner, nonnegative=nonnegative))


def add_up(values: Sequence[Any]) -> Any:
    """The sum of at least one number or array."""
    total, *rest = values
    for value in rest:
        total = total + value
    return total


def total(terms: Sequence[SmoothTerm]) -> float | None:
    """The sum of the Lipschitz constants; None where one is not known."""
    constants = [f.lipschitz for f in terms]
    return None if None in constants else sum_exactly(c for c in constants if c is not None)


def total_upper(terms: Sequence[SmoothTerm]) -> float | None:
    """The sum of the upper curvatures; None where one is not known."""
    constants = [f.upper_curvature for f in terms]
    return None if None in constants else sum_exactly(c for c in constants if c is not None)


# A quadratic term with its HX set to zero is <C, X> + constant, so the sum needs no products but its own.


def affine_value(terms: Sequence[QuadraticTerm], X: Array) -> Scalar:
    """The value of the terms without their quadratic parts."""
    nothing = array_namespace(X).zeros_like(X)
    return add_up([f.value_at(X, nothing) for f in terms])


def affine_gradient(terms: Sequence[QuadraticTerm], X: Array) -> Array:
    """The gradient of the terms without their quadratic parts."""
    nothing = array_namespace(X).zeros_like(X)
    return add_up([f.gradient_at(X, nothing) for f in terms])
