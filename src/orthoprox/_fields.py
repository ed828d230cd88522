"""Helpers for frozen dataclasses: derived fields, checked fields, copies with changes."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

DERIVED: Any = None
"""The default of a field that is computed from the others when not given."""


def require(condition: bool, sentence: str) -> None:
    """Raise a ``ValueError`` with this sentence unless the condition holds."""
    if not condition:
        raise ValueError(sentence)


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
