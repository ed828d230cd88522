"""Checks on the inner parameters of terms, and on the shapes they meet."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar


def check_number(value: Any, name: str, above: float) -> float:
    """The value as a float, if it is a finite number above a bound."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number; given {value!r}.") from None
    if not (math.isfinite(number) and number > above):
        raise ValueError(f"{name} must be finite and greater than {above:g}; given {number}.")
    return number


def check_same_shape(X: Array, shape: tuple[int, ...], sentence: str) -> None:
    """Refuse an X of another shape; the sentence says what that shape is the shape of."""
    if tuple(X.shape) != tuple(shape):
        raise ValueError(f"{sentence} has shape {tuple(shape)}, so X must have the same; given {tuple(X.shape)}.")


def check_broadcasts(small: Array, y: Array, name: str) -> None:
    """Refuse a y to whose shape a smaller array does not extend."""
    given, wanted = tuple(small.shape), tuple(y.shape)
    pairs = zip(reversed(given), reversed(wanted), strict=False)
    if len(given) > len(wanted) or any(a not in (1, b) for a, b in pairs):
        raise ValueError(f"{name} has shape {given}, which does not extend to an array of shape {wanted}.")


def as_scalar(value: Scalar, y: Array) -> Array:
    """A number as an array without dimensions, of the float type and on the device of y."""
    xp = array_namespace(y)
    if isinstance(value, (int, float)):
        return xp.full((), value, dtype=y.dtype, device=device(y))  # filled in there, where a copy would be waited for
    return xp.asarray(value, dtype=y.dtype, device=device(y))


def check_callable(function: Any, name: str) -> None:
    """Refuse what cannot be called."""
    if not callable(function):
        raise TypeError(f"{name} must be a function of X; given {type(function).__name__}.")
