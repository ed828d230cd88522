"""A proof by cases: which case has which split, and the bound that they prove together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._allocations import allocations
from orthoprox.bounds._eigen import upper_sum
from orthoprox.bounds._supports import all_supports, upper_values_on


@dataclass(frozen=True, eq=False)
class Case:
    """Columns whose supports are restricted, a U that bounds them, and the cases below, if any.

    There are two below where the case is split: the ``feature`` is in no column that is like ``column``, or in that
    one. One below has the supports that are left when those that the level rules out are dropped.
    """

    U: Array
    feature: int = -1
    column: int = -1
    below: tuple[Case, ...] = ()


@dataclass(frozen=True, eq=False)
class Tree:
    """A case for every allocation of nonzeros to columns.

    Supports with which no solution exceeds ``level``, by the U of a case, are left out of the cases below it.
    """

    level: float
    roots: tuple[tuple[tuple[int, ...], Case], ...]


Supports = tuple[Array, ...]
"""The supports that are left to each column."""


def tree_value(C: Array, tree: Tree, allowance: Allowance) -> float:
    """The bound that a tree proves, rounded up. Raises ``ValueError`` where allocations are missing."""
    cases = dict(tree.roots)
    missing = [sizes for sizes in allocations(allowance) if sizes not in cases]
    if missing:
        raise ValueError(f"The proof has no case for columns with {missing[0]} nonzeros.")
    known = {size: all_supports(len(C), size) for sizes in cases for size in sizes}
    return max(_case_value(C, case, tree.level, tuple(known[k] for k in sizes)) for sizes, case in tree.roots)


def _case_value(C: Array, case: Case, level: float, supports: Supports) -> float:
    if any(len(column) == 0 for column in supports):
        return -math.inf
    values = [upper_values_on(case.U, column) for column in supports]
    peaks = [float(np.max(column)) for column in values]
    bound = (upper_sum(C - case.U, len(supports)) + sum(peaks)) * (1 + 1e-15 * len(supports))
    if not case.below or bound <= level:
        return bound
    left, dropped = screen(supports, values, bound, level)
    parts = (left,) if len(case.below) == 1 else split(left, case.feature, case.column)
    found = max(_case_value(C, part, level, of_part) for part, of_part in zip(case.below, parts, strict=True))
    return min(bound, max(found, level) if dropped else found)


def screen(supports: Supports, values: list[Array], bound: float, level: float) -> tuple[Supports, bool]:
    """The supports that a solution above the level can have, and whether others were dropped.

    With S in place of the best support of its column, the bound falls by the difference of their values.
    """
    keep = [bound - (np.max(column) - column) > level for column in values]
    left = tuple(column[kept] for column, kept in zip(supports, keep, strict=True))
    return left, not all(bool(np.all(kept)) for kept in keep)


def split(supports: Supports, feature: int, column: int) -> tuple[Supports, Supports]:
    """The two cases: the feature in no column like the one named, or in that one.

    Columns with the same supports can change places, so if any of them has the feature, the named one may have it.
    """
    has = np.any(supports[column] == feature, axis=1)
    alike = [np.array_equal(other, supports[column]) for other in supports]
    without = tuple(other[~has] if like else other for other, like in zip(supports, alike, strict=True))
    having = tuple(other[has] if j == column else other for j, other in enumerate(supports))
    return without, having
