"""Many objects of one kind as one: their arrays and numbers stacked, whatever they have in common shared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends._tree import Pattern

Move = Callable[[Any], Array]


class NotOfOneShape(ValueError):
    """Objects that cannot be stacked."""


class Layout:
    """How an object is put together from the arrays of a stack."""

    def __init__(self, build: Callable[[list[Any]], Any], values: list[Any], places: list[int]) -> None:
        self._build, self._values, self._places = build, values, places

    def __call__(self, arrays: Sequence[Any]) -> Any:
        """The object with these arrays and numbers in place of the stacked ones."""
        values = list(self._values)
        for place, value in zip(self._places, arrays, strict=True):
            values[place] = value
        return self._build(values)


def stack(objects: Sequence[Any], move: Move, kind: Any) -> tuple[tuple[Array, ...], tuple[int | None, ...], Layout]:
    """The arrays of objects of one shape, the axis of each stack (None for an array that all share), and the layout.

    Numbers that are the same everywhere stay what they are, so that code may ask about them; others become an array.

    Parameters
    ----------
    objects : sequence
        Nested dataclasses, all with the same functions and words in the same places.
    move : callable
        Puts an array where the work is done.
    kind : NumPy dtype
        For numbers: one of double precision would make what it is multiplied with double.
    """
    pattern = Pattern(objects[0])
    columns = pattern.columns(objects)
    if columns is None:
        raise NotOfOneShape("They differ in their shapes, or in the kinds of their terms and maps.")
    arrays: list[Array] = []
    axes: list[int | None] = []
    values, places = list(pattern.tree.leaves), []
    for place, column in enumerate(columns):
        first = column[0]
        if not is_array_api_obj(first) and all(leaf == first for leaf in column):
            continue
        values[place] = None
        places.append(place)
        if not is_array_api_obj(first):
            arrays.append(move(np.asarray(column, dtype=kind)))
        elif all(leaf is first for leaf in column):
            arrays.append(move(first))
        else:
            arrays.append(move(array_namespace(first).stack(column)))
        axes.append(None if is_array_api_obj(first) and all(leaf is first for leaf in column) else 0)
    return tuple(arrays), tuple(axes), Layout(pattern.tree.build, values, places)
