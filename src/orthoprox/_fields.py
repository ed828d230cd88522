"""Helpers for frozen dataclasses: derived fields, checked fields, properties computed once, copies with changes."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")

DERIVED: Any = None
"""The default of a field that is computed from the others when not given."""


def require(condition: bool, sentence: str) -> None:
    """Raise a ``ValueError`` with this sentence unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


class cached_property(Generic[T]):  # noqa: N801 -- a decorator, named as the one of functools
    """A property that is computed once and then lies in the ``__dict__`` of its object.

    Unlike the one of ``functools`` in Python 3.11 it has no lock: a Ctrl-C at the wrong moment would leave that held,
    and a run in another thread would wait for ever.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, obj: None, owner: type) -> cached_property[T]: ...
    @overload
    def __get__(self, obj: Any, owner: type) -> T: ...
    def __get__(self, obj: Any, owner: type) -> Any:
        if obj is None:
            return self
        value = vars(obj)[self.name] = self.compute(obj)
        return value


def derive(obj: Any, **rules: Callable[[], Any]) -> None:
    """Compute the fields that were left to be derived."""
    derived = set()
    for name, rule in rules.items():
        if getattr(obj, name) is DERIVED:
            object.__setattr__(obj, name, rule())
            derived.add(name)
    object.__setattr__(obj, "_derived", frozenset(derived))


def replace(obj: T, **changes: Any) -> T:
    """Copy with changes; fields that had been derived are derived again."""
    derived: frozenset[str] = getattr(obj, "_derived", frozenset())
    kind: Any = type(obj)
    kept = {name: getattr(obj, name) for name in _init_fields(kind) if name not in derived and name not in changes}
    twin: T = kind(**kept, **changes)
    return twin


@functools.cache
def _init_fields(kind: Any) -> tuple[str, ...]:
    """The fields that the constructor of a dataclass takes: states are copied at every step."""
    return tuple(field.name for field in dataclasses.fields(kind) if field.init)


def with_weight(obj: T, weight: float) -> T:
    """Copy with another weight, keeping everything computed from the data."""
    twin = copy.copy(obj)
    object.__setattr__(twin, "weight", weight)
    return twin


def parts(obj: Any) -> Iterator[Any]:
    """Yield the leaves of nested dataclasses and tuples."""
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        for field in dataclasses.fields(obj):
            yield from parts(getattr(obj, field.name))
    elif isinstance(obj, (tuple, list)):
        for item in obj:
            yield from parts(item)
    else:
        yield obj
