"""The arrays that a function of the user's refers to: X lives where they live."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any

from array_api_compat import is_array_api_obj

from orthoprox._namespace import array_namespace
from orthoprox._types import Array


def arrays_in(function: Any) -> Iterator[Array]:
    """Yield the arrays of floats that a function refers to, inside it and outside.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms._referred import arrays_in
    >>> B = np.eye(2)
    >>> [a is B for a in arrays_in(lambda X: (B @ X).sum())]
    [True]
    """
    yield from _search(function, set())


def _search(value: Any, seen: set[int]) -> Iterator[Array]:
    if id(value) in seen:
        return
    seen.add(id(value))
    if is_array_api_obj(value) and not isinstance(value, type):  # the class of arrays has their attributes too
        if array_namespace(value).isdtype(value.dtype, "real floating"):
            yield value
        return
    for part in _parts(value):
        yield from _search(part, seen)


def _parts(value: Any) -> list[Any]:
    """What a function, or an object that is called like one, is made of."""
    if isinstance(value, functools.partial):
        return [*value.args, *value.keywords.values(), value.func]
    if isinstance(value, types.MethodType):
        return [value.__self__, value.__func__]
    if isinstance(value, types.FunctionType):
        return [*_outside(value), *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()]
    if isinstance(value, (tuple, list)):
        return list(value)
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, (type, types.ModuleType, types.BuiltinFunctionType)):
        return []
    if callable(getattr(value, "parameters", None)):  # a network of PyTorch
        return list(value.parameters())
    return list(vars(value).values()) if callable(value) and hasattr(value, "__dict__") else []


def _outside(function: types.FunctionType) -> list[Any]:
    try:
        outside = inspect.getclosurevars(function)
    except ValueError:  # a name that has no value yet
        return []
    return [*outside.nonlocals.values(), *outside.globals.values()]
