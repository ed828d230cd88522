"""Digests of what a run is made of, by which a checkpoint tells its own problem from any other.

The arrays of a problem count with every bit, as do its weights, its classes and their other fields. What is computed
from these does not: a norm may differ in its last digit on another machine, and so may an offset, which shows in F. A
function is known by the arrays and floats it refers to, an object of a class of the user's by its public attributes
that hold such. A function's code and counters, which may change during a run, are not compared.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import inspect
import types
from collections.abc import Iterator
from operator import itemgetter
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from orthoprox._fields import cached_property
from orthoprox.backends import backend_of
from orthoprox.blocks import ArrayBlocks, Rows
from orthoprox.maps import LinearMap
from orthoprox.maps.operator import is_operator
from orthoprox.maps.sparse import is_sparse
from orthoprox.problem import Problem
from orthoprox.terms import Term

Parts = Iterator[tuple[str, Any]]


def fingerprint(problem: Problem) -> dict[str, str]:
    """A digest for each part of a problem.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Problem
    >>> from orthoprox.driver._fingerprint import fingerprint
    >>> from orthoprox.terms import L1, Linear
    >>> one, other = (fingerprint(Problem.of(Linear(np.eye(3)) + w * L1(), over=(3, 3))) for w in (1.0, 1.0 + 2**-52))
    >>> [name for name in one if one[name] != other[name]]
    ['h']
    """
    return {name: digest(getattr(problem, name)) for name in ("M", "f", "g", "h", "A")}


def digest(value: Any) -> str:
    """A text of 64 characters, the same for equal values only."""
    total = hashlib.sha256()
    _add(total, value, set())
    return total.hexdigest()


def _add(total: Any, value: Any, above: set[int]) -> None:
    """Add a value to a digest: what it is, its bytes, then its parts."""
    if isinstance(value, np.ndarray):
        # the same bytes whatever the order in memory
        bare = np.ascontiguousarray(value)
        total.update(f"array {bare.dtype.str} {value.shape} ".encode())
        total.update(bare.data if bare.size and bare.dtype.kind in "fiub" else bare.tobytes())
    elif is_array_api_obj(value):
        _add(total, backend_of(value).to_numpy(value), above)
    elif value is None or isinstance(value, (bool, int, float, str, enum.Enum)):
        total.update(f"{type(value).__name__} {value!r} ".encode())
    else:
        total.update(f"{_kind(value)} ".encode())
        if id(value) not in above:  # no way out of a function that refers to itself
            for name, part in _parts(value):
                total.update(f"{name} ".encode())
                _add(total, part, above | {id(value)})
        total.update(b"end ")


def _kind(value: Any) -> str:
    cls = type(value)
    return f"{cls.__module__}.{cls.__qualname__}"


def _parts(value: Any) -> Parts:
    """What a value is made of, as far as it can be known and does not change by itself."""
    if _is_frozen(value):
        derived = getattr(value, "_derived", ())
        names = (field.name for field in dataclasses.fields(value) if field.name not in derived)
        yield from ((name, getattr(value, name)) for name in names)
    elif isinstance(value, (tuple, list)):
        yield from ((str(i), part) for i, part in enumerate(value))
    elif isinstance(value, dict):
        yield from sorted(((repr(key), part) for key, part in value.items()), key=itemgetter(0))
    elif is_sparse(value):
        by_rows = value.tocsr()
        indices = (("indices", by_rows.indices.astype(np.int64)), ("indptr", by_rows.indptr.astype(np.int64)))
        yield from (("shape", value.shape), ("data", by_rows.data), *indices)
    elif isinstance(value, Rows):
        # neither where the data lie nor who computes: the same file may be elsewhere on another machine
        source = value.source
        yield from (("shape", source.shape), ("bounds", source.bounds), ("stamp", source.stamp))
        yield from (("array", source.array),) if isinstance(source, ArrayBlocks) else ()
    elif isinstance(value, functools.partial):
        yield from (("func", value.func), ("args", value.args), *sorted(value.keywords.items()))
    elif isinstance(value, types.MethodType):
        yield from (("self", value.__self__), ("func", value.__func__))
    elif isinstance(value, types.FunctionType):
        yield from _referred(value)
    elif hasattr(value, "__dict__") and not isinstance(value, (type, types.ModuleType)):
        yield from _attributes(value)


def _referred(function: types.FunctionType) -> Parts:
    """The data that a function refers to, inside it and outside."""
    yield "defaults", tuple(part for part in function.__defaults__ or () if _is_data(part))
    try:
        outside = inspect.getclosurevars(function)
    except ValueError:  # a name that has no value yet
        return
    for names in (outside.nonlocals, outside.globals):
        for name, part in sorted(names.items()):
            if _is_data(part) or (names is outside.nonlocals and callable(part)):
                yield name, part


def _attributes(value: Any) -> Parts:
    """The data in the attributes of an object that are not its own business; of a LinearOperator its functions too."""
    for name, part in sorted(vars(value).items()):
        cached = isinstance(getattr(type(value), name, None), (cached_property, functools.cached_property))  # noqa: TID251 -- a user's
        open_to_see = not name.startswith("_") or (is_operator(value) and name.endswith("_impl"))
        if open_to_see and not cached and (_is_data(part) or callable(part)):
            yield name, part


def _is_data(value: Any) -> bool:
    """Whether a value is data: an array, a float, a term or map with these, or a tuple of such."""
    known = isinstance(value, (float, tuple, Term, LinearMap)) or _is_frozen(value)
    return known or is_array_api_obj(value) or is_sparse(value) or is_operator(value)


def _is_frozen(value: Any) -> bool:
    """Whether a value is a dataclass that cannot change."""
    parameters = getattr(type(value), "__dataclass_params__", None)
    return parameters is not None and bool(parameters.frozen)
