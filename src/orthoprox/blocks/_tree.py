"""Sums in the order of a fixed binary tree: the same digits, whoever adds which part and when."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

Parts = dict[tuple[int, int], Any]
"""What is known of a tree: the value of a node by its level, 0 for leaves, and its number there."""

GROUPS = 64
"""The leaves of a tree, unless there are more workers than a quarter of them or fewer blocks."""


class Tree:
    """Merges the values of leaves, which may come in any order, as soon as both children of a node are known.

    Parameters
    ----------
    leaves : int
    merge : callable
        Of two values, left and right; it may change and return the left one.

    Examples
    --------
    >>> from orthoprox.blocks._tree import Tree
    >>> tree = Tree(3, lambda a, b: f"({a}{b})")
    >>> for leaf in (2, 0, 1):
    ...     tree.add((0, leaf), "abc"[leaf])
    >>> tree.parts
    {(2, 0): '((ab)c)'}
    """

    def __init__(self, leaves: int, merge: Callable[[Any, Any], Any]) -> None:
        self.leaves, self.merge = leaves, merge
        self.parts: Parts = {}

    def add(self, node: tuple[int, int], value: Any) -> None:
        """Put in the value of a node."""
        level, i = node
        while (width := -(-self.leaves // 2**level)) > 1:
            other = i ^ 1
            if other < width:
                if (level, other) not in self.parts:
                    break
                found = self.parts.pop((level, other))
                value = self.merge(value, found) if i < other else self.merge(found, value)
            level, i = level + 1, i // 2
        self.parts[level, i] = value

    def extend(self, parts: Parts) -> None:
        """Put in what another one knows."""
        for node, value in parts.items():
            self.add(node, value)

    @property
    def root(self) -> Any:
        """The value of all leaves."""
        (value,) = self.parts.values()
        return value


def grouped(count: int, workers: int = 1) -> tuple[tuple[int, ...], ...]:
    """Blocks in groups of neighbours, the leaves of a tree; a worker has whole groups.

    Examples
    --------
    >>> from orthoprox.blocks._tree import grouped
    >>> grouped(3), len(grouped(1000)), len(grouped(10**4, workers=100))
    (((0,), (1,), (2,)), 64, 512)
    """
    wanted = GROUPS
    while wanted < 4 * workers:
        wanted *= 2
    leaves = min(count, wanted)
    cuts = [count * k // leaves for k in range(leaves + 1)]
    return tuple(tuple(range(a, b)) for a, b in itertools.pairwise(cuts))
