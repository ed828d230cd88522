"""States as JSON and arrays, and back. Decoding builds the classes that a state's type hints name, and no others."""

from __future__ import annotations

import dataclasses
import enum
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

from array_api_compat import is_array_api_obj

from orthoprox._namespace import array_namespace
from orthoprox._types import Array


def encode(value: Any, arrays: list[Array]) -> Any:
    """Encode a state as JSON; append its arrays to a list, an array that occurs twice only once."""
    if isinstance(value, enum.Enum):
        return {"class": type(value).__qualname__, "member": value.name}
    if _is_record(type(value)):
        names = _field_names(type(value))
        return {
            "class": type(value).__qualname__,
            "fields": {name: encode(getattr(value, name), arrays) for name in names},
        }
    if is_array_api_obj(value):
        return _encode_number(value) if value.ndim == 0 else {"array": _index(value, arrays)}
    if isinstance(value, tuple):
        return [encode(item, arrays) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(
        f"A checkpoint holds numbers, strings, arrays, enums, tuples and dataclasses; given {type(value).__name__}. "
        "Change the solver's state."
    )


def _encode_number(value: Array) -> bool | int | float:
    """Encode an array without dimensions; JSON keeps every digit."""
    xp = array_namespace(value)
    if xp.isdtype(value.dtype, "bool"):
        return bool(value)
    return int(value) if xp.isdtype(value.dtype, "integral") else float(value)


def _index(value: Array, arrays: list[Array]) -> int:
    for i, known in enumerate(arrays):
        if known is value:
            return i
    arrays.append(value)
    return len(arrays) - 1


class Decoder:
    """Decodes states of one class.

    Parameters
    ----------
    root : type
        The class of the state. Only classes that occur in its type hints, at any depth, are ever built.
    arrays : sequence of array
        The arrays that the encoded state refers to.
    """

    def __init__(self, root: type, arrays: Sequence[Array]) -> None:
        self.root, self.arrays = root, arrays
        self.classes: dict[str, type] = {}
        self._collect(root)

    def decode(self, value: Any, like: Any = None) -> Any:
        """Decode a state; where the template ``like`` has the same classes, arrays must have its dimensions."""
        return self._decode(value, self.root, like, self.root.__name__)

    def _collect(self, hint: Any) -> None:
        for cls in _classes(hint):
            known = self.classes.setdefault(cls.__qualname__, cls)
            if known is not cls:
                raise TypeError(
                    f"{self.root.__name__} has two classes named {cls.__qualname__}, and a checkpoint tells classes "
                    "apart by name. Rename one."
                )

    def _decode(self, value: Any, hint: Any, like: Any, place: str) -> Any:
        # A union decodes as the member that fits; its members differ in class or in kind.
        options = [option for option in _options(hint) if self._fits(value, option)]
        if not options or (_is_open(options[0]) and not _matches_template(value, like, self.arrays)):
            _refuse(place, hint, value)
        hint = options[0]
        if isinstance(value, dict) and "array" in value:
            return self.arrays[value["array"]]
        if isinstance(value, dict) and "member" in value:
            return self.classes[value["class"]].__members__[str(value["member"])]  # type: ignore[attr-defined]
        if isinstance(value, dict):
            return self._build(value, like, place)
        if isinstance(value, list):
            return self._tuple(value, hint, place)
        return value

    def _build(self, value: dict[str, Any], like: Any, place: str) -> Any:
        cls, given = self.classes[value["class"]], value["fields"]
        names = _field_names(cls)
        if set(given) != set(names):
            _refuse_text(place, f"the fields {', '.join(names)}", f"{', '.join(given) or 'none'}")
        hints = _hints(cls)
        return cls(
            **{
                name: self._decode(
                    given[name], hints[name], getattr(like, name) if type(like) is cls else None, f"{place}.{name}"
                )
                for name in names
            }
        )

    def _tuple(self, value: list[Any], hint: Any, place: str) -> tuple[Any, ...]:
        kinds = get_args(hint) or (Any, ...)
        if kinds[-1] is Ellipsis:
            kinds = (kinds[0],) * len(value)
        if len(kinds) != len(value):
            _refuse_text(place, f"{len(kinds)} values", f"{len(value)}")
        return tuple(
            self._decode(item, kind, None, f"{place}[{i}]")
            for i, (item, kind) in enumerate(zip(value, kinds, strict=True))
        )

    def _fits(self, value: Any, hint: Any) -> bool:
        """Whether the outermost layer of an encoded value agrees with a type hint."""
        origin = get_origin(hint) or hint
        if isinstance(value, dict):
            return self._fits_object(value, hint)
        if isinstance(value, list):
            return _is_open(hint) or origin is tuple
        if origin is Literal:
            return value in get_args(hint)
        if _is_open(hint) or hint is type(value):
            return True
        return (value is None and hint is types.NoneType) or (hint is float and type(value) is int)

    def _fits_object(self, value: dict[str, Any], hint: Any) -> bool:
        if set(value) == {"array"}:
            i = value["array"]
            return _is_open(hint) and type(i) is int and 0 <= i < len(self.arrays)
        cls = self.classes.get(str(value.get("class")))
        if cls is None or not (_is_open(hint) or (get_origin(hint) or hint) is cls):
            return False
        if issubclass(cls, enum.Enum):
            return set(value) == {"class", "member"} and str(value["member"]) in cls.__members__
        return set(value) == {"class", "fields"} and isinstance(value["fields"], dict)


def _is_record(cls: type) -> bool:
    """Whether a class is a dataclass or a NamedTuple."""
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def _field_names(cls: Any) -> tuple[str, ...]:
    if dataclasses.is_dataclass(cls):
        return tuple(field.name for field in dataclasses.fields(cls) if field.init)
    return tuple(cls._fields)


def _hints(cls: type) -> Mapping[str, Any]:
    try:
        return get_type_hints(cls)
    except NameError as error:
        raise TypeError(
            f"A checkpoint needs the type hints of {cls.__name__}, and one of them cannot be resolved: {error}. "
            "Import that name where the class is defined, and not only for the type checker."
        ) from None


def _classes(hint: Any, seen: set[type] | None = None) -> Iterator[type]:
    """Walk a type hint: yield every dataclass, NamedTuple and enum in it and in the fields of those."""
    seen = set() if seen is None else seen
    for argument in get_args(hint):
        yield from _classes(argument, seen)
    cls = get_origin(hint) or hint
    if not isinstance(cls, type) or cls in seen:
        return
    seen.add(cls)
    if issubclass(cls, enum.Enum):
        yield cls
    elif _is_record(cls):
        yield cls
        hints = _hints(cls)
        for name in _field_names(cls):
            if name not in hints:
                raise TypeError(
                    f"A checkpoint needs the types of the fields of {cls.__name__}, and {name!r} has none. Write it as "
                    "a typing.NamedTuple or a dataclass, with a type for each field."
                )
            yield from _classes(hints[name], seen)


def _options(hint: Any) -> tuple[Any, ...]:
    """List the members of a union, those that say most first; a plain hint is a union of one."""
    if get_origin(hint) not in (Union, types.UnionType):
        return (hint,)
    return tuple(sorted(get_args(hint), key=_is_open))


def _is_open(hint: Any) -> bool:
    """Whether a hint says nothing of the class: Array and Scalar are Any, a type variable may be anything."""
    return hint is Any or isinstance(hint, typing.TypeVar)


def _matches_template(value: Any, like: Any, arrays: Sequence[Array]) -> bool:
    """Whether a value is of the template's kind: an array with as many dimensions, of floats or not, or no array."""
    if like is None:
        return True
    if not (isinstance(value, dict) and "array" in value):
        return value is not None and not (is_array_api_obj(like) and like.ndim)
    given = arrays[value["array"]]
    return is_array_api_obj(like) and given.ndim == like.ndim and _holds_floats(given) == _holds_floats(like)


def _holds_floats(array: Array) -> bool:
    return bool(array_namespace(array).isdtype(array.dtype, "real floating"))


def _refuse(place: str, hint: Any, value: Any) -> NoReturn:
    wanted = getattr(hint, "__name__", None) if isinstance(hint, type) and not get_args(hint) else str(hint)
    if isinstance(value, dict):
        given = " ".join(str(value[key]) for key in ("class", "member") if key in value) or "an array"
    else:
        given = "None" if value is None else f"{value!r}"
    _refuse_text(place, "an array or a number, as the method starts with" if _is_open(hint) else str(wanted), given)


def _refuse_text(place: str, wanted: str, given: str) -> NoReturn:
    raise ValueError(
        f"The checkpoint does not fit the method's state: {place} needs {wanted}; given {given}. "
        "It comes from another version, or was edited; start the run anew."
    )
