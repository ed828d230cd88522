"""States of runs, carried from one array library to another and compared."""

import dataclasses
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_array_api_obj

from orthoprox._fields import parts
from orthoprox.backends import backend_of


def numbers(state: Any) -> list[Any]:
    """All that a state holds, arrays in NumPy."""
    leaves = (leaf for leaf in parts(state) if leaf is not None)
    return [backend_of(leaf).to_numpy(leaf) if is_array_api_obj(leaf) else leaf for leaf in leaves]


def carried(state: Any, convert: Any) -> Any:
    """The same state in another library."""
    if dataclasses.is_dataclass(state):
        inner = {field.name: carried(getattr(state, field.name), convert) for field in dataclasses.fields(state)}
        return type(state)(**inner)
    return convert(np.asarray(state)) if is_array_api_obj(state) else state  # a scalar of NumPy is no array elsewhere


def apart(one: list[Any], other: list[Any]) -> float:
    """The largest difference between two states, relative to entries above 1; infinities agree with each other."""
    assert len(one) == len(other)
    finite = [(a, b) for a, b in zip(one, other, strict=True) if not np.all(np.isinf(a) & np.isinf(b))]
    return max(float(np.max(np.abs(a - b) / np.maximum(np.abs(a), 1.0))) for a, b in finite)


def single(library: Any) -> Any:
    """A conversion to a library that turns doubles into single precision."""

    def convert(a: Any) -> Any:
        a = np.asarray(a)
        return library.asarray(a.astype(np.float32) if a.dtype == np.float64 else a)

    return convert


def arrays_of(state: Any) -> list[Any]:
    return [leaf for leaf in parts(state) if is_array_api_obj(leaf) and leaf.ndim > 0]


def is_single(state: Any) -> bool:
    """Whether all arrays of a state are in single precision."""
    return all(a.dtype == array_namespace(a).float32 for a in arrays_of(state))
