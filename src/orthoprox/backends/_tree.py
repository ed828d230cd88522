"""States as lists of arrays and numbers, and back."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from collections.abc import Callable, Hashable, Sequence
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

    A part is read of all objects before the next part is, so most questions are asked once for all. What all share with
    the first one is not looked at: of many problems that differ in their data, only the data are.
    """

    def __init__(self, obj: Any) -> None:
        self.tree = flatten(obj)
        numbers = {path: k for k, paths in enumerate(self.tree.places) for path in paths}
        self._root = self._node(obj, (), numbers)
        self._arrays = [k for k, leaf in enumerate(self.tree.leaves) if getattr(leaf, "ndim", 0) > 0]

    def _node(self, part: Any, path: Path, numbers: dict[Path, int]) -> _Node:
        names = field_names(type(part))
        if path in numbers:
            return _Node(part, None, [numbers[path]])
        if names is not None or isinstance(part, (tuple, list)):
            keys = range(len(part)) if names is None else names
            inner = {key: self._node(_at(part, (key,)), (*path, key), numbers) for key in keys}
            return _Node(part, inner, [k for node in inner.values() for k in node.leaves])
        return _Node(part, None, [])

    def columns(self, objects: Sequence[Any]) -> list[Sequence[Any]] | None:
        """The leaves of many objects, a column for each place in the first one; None where one has another shape."""
        found: dict[int, Sequence[Any]] = {}
        if not self._read(self._root, objects, found):
            return None
        # What is two matrices here must be two there as well.
        rows = zip(*(map(id, found[k]) for k in self._arrays), strict=True)
        apart = all(len(set(row)) == len(self._arrays) for row in rows)
        return [found[k] for k in range(len(found))] if apart else None

    def _read(self, node: _Node, parts: Sequence[Any], found: dict[int, Sequence[Any]]) -> bool:
        first = node.part
        if all(part is first for part in parts):
            return all(_put(k, [self.tree.leaves[k]] * len(parts), found) for k in node.leaves)
        if node.inner is not None:
            if not _alike(type, parts) or (isinstance(first, (tuple, list)) and not _alike(len, parts)):
                return False
            return all(self._read(child, list(map(_getter(key), parts)), found) for key, child in node.inner.items())
        if node.leaves:
            return _fit(parts) and _put(node.leaves[0], parts, found)
        return _alike(type, parts) and all(
            part is first or (isinstance(part, Hashable) and bool(part == first)) for part in parts
        )


class _Node(NamedTuple):
    part: Any
    inner: dict[Any, _Node] | None
    """Of its fields or items; None for what has none."""
    leaves: list[int]
    """The numbers of the leaves in it."""


def _put(place: int, column: Sequence[Any], found: dict[int, Sequence[Any]]) -> bool:
    """Take up leaves; whether they are the matrices that stood in another place of the same number."""
    return all(map(operator.is_, found.setdefault(place, column), column))


def _fit(parts: Sequence[Any]) -> bool:
    """Whether all are numbers, or matrices of one shape and float type."""
    kinds = dict(zip(map(type, parts), parts, strict=True)).values()  # one of each class
    if not all(_is_number(one) or is_array_api_obj(one) for one in kinds):
        return False
    if any(_is_number(one) or one.ndim == 0 for one in kinds):
        return all(getattr(part, "ndim", 0) == 0 for part in parts)
    return _alike(operator.attrgetter("shape"), parts) and _alike(operator.attrgetter("dtype"), parts)


def _alike(what: Callable[[Any], Any], parts: Sequence[Any]) -> bool:
    return len(set(map(what, parts))) == 1


def _getter(key: str | int) -> Callable[[Any], Any]:
    return operator.attrgetter(key) if isinstance(key, str) else operator.itemgetter(key)


def _at(obj: Any, path: Path) -> Any:
    for name in path:
        obj = getattr(obj, name) if isinstance(name, str) else obj[name]
    return obj


def _leaf(place: int) -> Build:
    return operator.itemgetter(place)


def _dataclass(kind: type, names: tuple[str, ...], inner: list[tuple[Build, Hashable]]) -> tuple[Build, Hashable]:
    makers, put = [(name, make) for name, (make, _) in zip(names, inner, strict=True)], object.__setattr__

    def build(values: list[Any]) -> Any:
        twin: Any = object.__new__(kind)
        for name, make in makers:  # thousands of states are made in the end
            put(twin, name, make(values))
        return twin

    return build, (kind, tuple(shape for _, shape in inner))


def _sequence(kind: type, inner: list[tuple[Build, Hashable]]) -> tuple[Build, Hashable]:
    def build(values: list[Any]) -> Any:
        items = [make(values) for make, _ in inner]
        return kind(*items) if hasattr(kind, "_fields") else kind(items)

    return build, (kind, tuple(shape for _, shape in inner))


def select(test: Any, where: Callable[..., Any], one: Any, other: Any) -> Any:
    """Leaf by leaf, one object where a test holds and another of the same kind where it does not.

    What is one matrix in two places of both stays one.
    """
    return _select(test, where, one, other, {})


def _select(test: Any, where: Callable[..., Any], one: Any, other: Any, known: dict[tuple[int, int], Any]) -> Any:
    if one is other:
        return one
    names = field_names(type(one))
    if names is not None:
        twin = object.__new__(type(one))
        for name in names:
            object.__setattr__(twin, name, _select(test, where, getattr(one, name), getattr(other, name), known))
        return twin
    if isinstance(one, (tuple, list)):
        items = [_select(test, where, yes, no, known) for yes, no in zip(one, other, strict=True)]
        return type(one)(*items) if hasattr(one, "_fields") else type(one)(items)
    pair = id(one), id(other)
    if pair not in known:
        known[pair] = where(test, one, other)
    return known[pair]
