"""Checks of user input; each failure is a sentence."""

from __future__ import annotations

import math
import numbers
from typing import Any

from array_api_compat import is_array_api_obj

from orthoprox._namespace import array_namespace
from orthoprox._types import Array


def check_matrix(B: Any, name: str) -> Array:
    """Return the array if it is two-dimensional, not empty, and holds finite floats."""
    if not is_array_api_obj(B):
        raise TypeError(
            f"{name} must be an array (NumPy, PyTorch, JAX or another library that keeps the array API "
            f"standard), a SciPy sparse matrix, a LinearOperator or a LinearMap; given {type(B).__name__}."
        )
    if len(B.shape) != 2:
        raise ValueError(f"{name} must have two dimensions; given shape {tuple(B.shape)}.")
    if 0 in B.shape:
        raise ValueError(f"{name} is empty: given shape {tuple(B.shape)}; both sides must be at least 1.")
    check_floating(B, name)
    xp = array_namespace(B)
    if not bool(xp.all(xp.isfinite(B))):
        bad = int(xp.count_nonzero(~xp.isfinite(B)))
        raise ValueError(
            f"{name} must be finite; given {bad} entries that are NaN or infinite out of {math.prod(B.shape)}. "
            "Fill or drop them first."
        )
    return B


def check_floating(B: Array, name: str) -> None:
    """Refuse integer, boolean, complex and object arrays."""
    xp = array_namespace(B)
    dtype = B.dtype
    if str(dtype) == "object" or not xp.isdtype(dtype, "real floating"):
        raise TypeError(
            f"{name} must hold real floating-point numbers; given dtype {dtype}. "
            f"Convert it first, for example with numpy.asarray({name}, dtype=float)."
        )
    if getattr(B, "requires_grad", False):
        raise ValueError(f"{name} requires gradients, and a run does not record them. Give {name}.detach().")


def check_weight(weight: Any, owner: str, *, nonnegative: bool = True) -> float:
    """Return the weight as a float if it is a finite number, and not negative unless that is allowed."""
    try:
        value = None if isinstance(weight, (str, bytes)) else float(weight)
    except (TypeError, ValueError):
        value = None
    if value is None:
        raise TypeError(f"The weight of {owner} must be a number; given {weight!r}.")
    if not math.isfinite(value):
        raise ValueError(f"The weight of {owner} must be finite; given {value}.")
    if nonnegative and value < 0:
        raise ValueError(f"The weight of {owner} must not be negative; given {value}. To subtract it, write f - g.")
    return value


def is_real(value: Any) -> bool:
    """Whether a number or an array is of a real type: a complex or an object would spoil a run without a word."""
    dtype = getattr(value, "dtype", None)
    if dtype is None:
        return isinstance(value, numbers.Real)
    return any(kind in str(dtype) for kind in ("float", "int", "bool"))
