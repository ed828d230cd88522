"""States as lists of arrays and numbers, and back."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from array_api_compat import is_array_api_obj

Build = Callable[[list[Any]], Any]
Path = tuple[Any, ...]


class OtherLayout(TypeError):
    """Two states that were taken for one kind differ in which of their matrices are the same."""


class Tree(NamedTuple):
    """An object taken apart."""

    leaves: list[Any]
    """Its arrays and numbers."""
    build: Build
    """Puts others in their places."""
    shape: Hashable
    """Two objects of one shape differ in the values of their leaves only."""
    places: list[list[Path]]
    """Where each leaf stands, by names of fields and numbers of items."""

    def read(self, obj: Any) -> list[Any]:
        """The leaves of another object, which has the same matrix wherever this one has."""
        found = []
        for first, *others in self.places:
            leaf = _at(obj, first)
            if any(_at(obj, place) is not leaf for place in others):
                raise OtherLayout("What is one matrix in two places of a state is not one in another state.")
            found.append(leaf)
        return found


def flatten(obj: Any) -> Tree:
    """Take nested dataclasses and tuples apart.

    A matrix that occurs twice is one leaf, so that it stays one matrix. Whether a number is one of Python's or an array
    without axes makes no difference to the shape.
    """
    leaves: list[Any] = []
    places: list[list[Path]] = []
    known: dict[int, int] = {}

    def visit(part: Any, path: Path) -> tuple[Build, Hashable]:
        if dataclasses.is_dataclass(part) and not isinstance(part, type):
            names = tuple(field.name for field in dataclasses.fields(part))
            return _dataclass(type(part), names, [visit(getattr(part, name), (*path, name)) for name in names])
        if isinstance(part, (tuple, list)):
            return _sequence(type(part), [visit(item, (*path, k)) for k, item in enumerate(part)])
        array = is_array_api_obj(part)
        if array and part.ndim > 0:
            if id(part) not in known:
                known[id(part)] = len(leaves)
                leaves.append(part)
                places.append([])
            place = known[id(part)]
            places[place].append(path)
            return _leaf(place), (place, tuple(part.shape), part.dtype)
        if array or (isinstance(part, (int, float)) and not isinstance(part, enum.Enum)):
            leaves.append(part)
            places.append([path])
            return _leaf(len(leaves) - 1), len(leaves) - 1
        # What cannot be compared, as a sparse matrix, has the shape of itself alone.
        return (lambda _: part), part if isinstance(part, Hashable) else id(part)

    build, shape = visit(obj, ())
    return Tree(leaves, build, shape, places)


def _at(obj: Any, path: Path) -> Any:
    for name in path:
        obj = getattr(obj, name) if isinstance(name, str) else obj[name]
    return obj


def _leaf(place: int) -> Build:
    return lambda values: values[place]


def _dataclass(kind: type, names: tuple[str, ...], inner: list[tuple[Build, Hashable]]) -> tuple[Build, Hashable]:
    def build(values: list[Any]) -> Any:
        twin: Any = object.__new__(kind)
        for name, (make, _) in zip(names, inner, strict=True):
            object.__setattr__(twin, name, make(values))
        return twin

    return build, (kind, tuple(shape for _, shape in inner))


def _sequence(kind: type, inner: list[tuple[Build, Hashable]]) -> tuple[Build, Hashable]:
    def build(values: list[Any]) -> Any:
        items = [make(values) for make, _ in inner]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    return build, (kind, tuple(shape for _, shape in inner))


def select(test: Any, where: Callable[..., Any], one: Any, other: Any) -> Any:
    """Leaf by leaf, one object where a test holds and another of the same kind where it does not."""
    if one is other:
        return one
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        twin = object.__new__(type(one))
        for name in (field.name for field in dataclasses.fields(one)):
            object.__setattr__(twin, name, select(test, where, getattr(one, name), getattr(other, name)))
        return twin
    if isinstance(one, (tuple, list)):
        items = [select(test, where, yes, no) for yes, no in zip(one, other, strict=True)]
        return type(one)(*items) if hasattr(one, "_fields") else type(one)(items)
    return where(test, one, other)
