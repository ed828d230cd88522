"""States as lists of arrays and numbers, and back."""

from __future__ import annotations

import dataclasses
import enum
import functools
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
        names = field_names(type(part))
        if names is not None:
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
        if array or _is_number(part):
            leaves.append(part)
            places.append([path])
            return _leaf(len(leaves) - 1), len(leaves) - 1
        # What cannot be compared, as a sparse matrix, has the shape of itself alone.
        return (lambda _: part), part if isinstance(part, Hashable) else id(part)

    build, shape = visit(obj, ())
    return Tree(leaves, build, shape, places)


def field_names(kind: Any) -> tuple[str, ...] | None:
    """The names of the fields of a dataclass; None for any other class."""
    return _field_names(kind)


@functools.cache
def _field_names(kind: Any) -> tuple[str, ...] | None:
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else None


def _is_number(part: Any) -> bool:
    return isinstance(part, (int, float)) and not isinstance(part, enum.Enum)


class Pattern:
    """The shape of an object, to read the leaves of thousands of others of that shape.

    Whatever another object shares with this one is not looked at again: of many problems that differ in their data,
    only the data are.
    """

    def __init__(self, obj: Any) -> None:
        self.tree = flatten(obj)
        numbers = {path: k for k, paths in enumerate(self.tree.places) for path in paths}
        self._root = self._node(obj, (), numbers)
        self._arrays = [k for k, leaf in enumerate(self.tree.leaves) if getattr(leaf, "ndim", 0) > 0]

    def _node(self, part: Any, path: Path, numbers: dict[Path, int]) -> _Node:
        names = field_names(type(part))
        if path in numbers:
            return _Node(part, None, None, [numbers[path]])
        if names is not None or isinstance(part, (tuple, list)):
            keys = range(len(part)) if names is None else names
            inner = [self._node(_at(part, (key,)), (*path, key), numbers) for key in keys]
            return _Node(part, names, inner, [k for node in inner for k in node.leaves])
        return _Node(part, None, None, [])

    def leaves(self, obj: Any) -> list[Any] | None:
        """The leaves of an object, in the order of the first one's; None where it has another shape."""
        found: list[Any] = [None] * len(self.tree.leaves)
        if not self._read(self._root, obj, found):
            return None
        # What is two matrices here must be two there as well.
        return found if len({id(found[k]) for k in self._arrays}) == len(self._arrays) else None

    def _read(self, node: _Node, part: Any, found: list[Any]) -> bool:
        # Plain loops: this is called for every part of thousands of problems.
        if part is node.part:
            for k in node.leaves:  # noqa: SIM110 - a loop is faster
                if not self._put(k, self.tree.leaves[k], found):
                    return False
            return True
        if node.inner is not None:
            if type(part) is not type(node.part):
                return False
            if node.names is None and len(part) != len(node.part):
                return False
            items = part if node.names is None else [getattr(part, name) for name in node.names]
            for child, item in zip(node.inner, items, strict=True):  # noqa: SIM110
                if not self._read(child, item, found):
                    return False
            return True
        if node.leaves:
            return self._fits(node.part, part) and self._put(node.leaves[0], part, found)
        return type(part) is type(node.part) and isinstance(part, Hashable) and bool(part == node.part)

    @staticmethod
    def _put(place: int, leaf: Any, found: list[Any]) -> bool:
        """Take up a leaf; whether it is the matrix that stood in another place of the same number."""
        if found[place] is None:
            found[place] = leaf
        return found[place] is leaf

    @staticmethod
    def _fits(first: Any, part: Any) -> bool:
        """Whether both are numbers, or matrices of one shape and float type."""
        if _is_number(part) or (is_array_api_obj(part) and part.ndim == 0):
            return getattr(first, "ndim", 0) == 0
        alike = getattr(part, "ndim", None) == getattr(first, "ndim", 0)
        return bool(alike and is_array_api_obj(part) and part.shape == first.shape and part.dtype == first.dtype)


class _Node(NamedTuple):
    part: Any
    names: tuple[str, ...] | None
    """Of the fields of a dataclass."""
    inner: list[Any] | None
    """Of its fields or items; None for what has none."""
    leaves: list[int]
    """The numbers of the leaves in it."""


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
    names = field_names(type(one))
    if names is not None:
        twin = object.__new__(type(one))
        for name in names:
            object.__setattr__(twin, name, select(test, where, getattr(one, name), getattr(other, name)))
        return twin
    if isinstance(one, (tuple, list)):
        items = [select(test, where, yes, no) for yes, no in zip(one, other, strict=True)]
        return type(one)(*items) if hasattr(one, "_fields") else type(one)(items)
    return where(test, one, other)
