"""Derivatives of proximal maps, as operators on matrices of y's shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from orthoprox._namespace import array_namespace
from orthoprox._types import Array

ProxDerivative = Callable[[Array], Array]
"""A symmetric linear map, D -> the derivative of the prox along D."""


def group_dots(a: Array, b: Array, by: str) -> Array:
    """The scalar products of the rows or columns of a with those of b; the summed axis stays, with length 1."""
    xp, axis = array_namespace(a), (-1 if by == "rows" else -2)
    return xp.linalg.vecdot(a, b, axis=axis)[(..., None) if by == "rows" else (..., None, slice(None))]


@dataclass(frozen=True, eq=False)
class EntrywiseDerivative:
    """The derivative of a prox that acts entry by entry: ``D -> slope D``."""

    slope: Array

    def __call__(self, D: Array) -> Array:
        return self.slope * D


@dataclass(frozen=True, eq=False)
class GroupDerivative:
    """The derivative of a prox that acts on rows or columns: ``D -> scale D + along <along, D>``, group by group."""

    scale: Array
    """One number for each group, along the axis of the groups."""
    along: Array
    by: str
    """"rows" or "columns"."""

    def __call__(self, D: Array) -> Array:
        return self.scale * D + self.along * group_dots(self.along, D, self.by)


@dataclass(frozen=True, eq=False)
class StackedDerivative:
    """Derivatives that each act on their own rows."""

    parts: tuple[ProxDerivative, ...]
    rows: tuple[range, ...]
    """Of each: ranges, since a step that is recorded takes numbers for something that changes."""

    def __call__(self, D: Array) -> Array:
        blocks = [part(D[own.start : own.stop, :]) for part, own in zip(self.parts, self.rows, strict=True)]
        return array_namespace(D).concat(blocks, axis=0)
