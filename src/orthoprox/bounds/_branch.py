"""Branch and bound over the supports of few features."""

from __future__ import annotations

import heapq
import itertools
import math
import time
from dataclasses import dataclass, field

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._allocations import allocations, sizes_of
from orthoprox.bounds._incumbent import Incumbent
from orthoprox.bounds._supports import Column, Descent, Peak, Peaks, all_supports, descend, values_on
from orthoprox.bounds._tree import Case, Supports, Tree, screen, split

_CLOSE = 5e-7  # a case within this share of the best components known is closed
_FIRST, _LATER, _LAST = 400, 40, 400  # iterations for a root, for other cases, and where nothing is left to split


@dataclass(eq=False)
class _Node:
    """A case while the search runs."""

    supports: Supports
    bound: float
    descent: Descent
    cut: tuple[int, int] = (-1, -1)
    children: list[_Node] = field(default_factory=list)

    def frozen(self) -> Case:
        """The case as a proof keeps it."""
        return Case(self.descent.U, *self.cut, tuple(child.frozen() for child in self.children))


class Search:
    """Best first: the case with the largest bound is split next, until time is up or all cases are closed."""

    def __init__(self, C: Array, allowance: Allowance, U: Array, incumbent: Incumbent, seconds: float) -> None:
        self.C, self.allowance, self.U = C, allowance, U
        self.incumbent = incumbent
        self.end = time.perf_counter() + seconds
        self._order = itertools.count()

    @property
    def level(self) -> float:
        """The bound below which a case is closed."""
        return self.incumbent.low + _CLOSE * abs(self.incumbent.low)

    def run(self) -> Tree:
        """Search, and return the proof."""
        known = {size: all_supports(len(self.C), size) for size in sizes_of(self.allowance)}
        roots = []
        for sizes in allocations(self.allowance):
            roots.append((sizes, self._node(tuple(known[size] for size in sizes), self.U, math.inf, _FIRST)))
        heap = [(-node.bound, next(self._order), node) for _, node in roots]
        heapq.heapify(heap)
        while heap and -heap[0][0] > self.level and time.perf_counter() < self.end:
            node = heapq.heappop(heap)[2]
            for child in self._branch(node):
                if child.bound > self.level:
                    heapq.heappush(heap, (-child.bound, next(self._order), child))
        return Tree(self.level, tuple((sizes, node.frozen()) for sizes, node in roots))

    def _branch(self, node: _Node) -> list[_Node]:
        """Split a case where its supports are least certain, and return what can be split further."""
        U, bound = node.descent.U, node.bound
        left, _ = screen(node.supports, [values_on(U, column) for column in node.supports], bound, self.level)
        open_ = np.array([_undecided(column, len(self.C)) for column in left]).T
        if not np.any(open_) or any(len(column) == 0 for column in left):
            node.children = [self._node(left, U, bound, _LAST)]
            return []
        share = node.descent.share / max(1.0, float(np.max(node.descent.share)))
        doubt = np.where(open_, np.minimum(share, 1 - share) + 1e-6 * share, -1.0)
        feature, column = (int(i) for i in np.unravel_index(np.argmax(doubt), doubt.shape))
        node.cut = feature, column
        node.children = [self._node(supports, U, bound, _LATER) for supports in split(left, feature, column)]
        return node.children

    def _node(self, supports: Supports, U: Array, bound: float, iterations: int) -> _Node:
        if any(len(column) == 0 for column in supports):
            return _Node(supports, -math.inf, Descent(-math.inf, U, np.zeros((len(U), len(supports)))))
        descent = descend(self.C, U, _peaks_on(supports), self.incumbent, iterations, self.end)
        return _Node(supports, min(bound, descent.value), descent)


def _peaks_on(supports: Supports) -> Peaks:
    """The peaks of given supports; columns that are alike share them."""
    owners = [next(i for i in range(j + 1) if np.array_equal(supports[i], supports[j])) for j in range(len(supports))]
    columns = {i: Column(supports[i]) for i in set(owners)}

    def peaks(U: Array) -> list[Peak]:
        found = {i: column.peak(U) for i, column in columns.items()}
        return [found[i] for i in owners]

    return peaks


def _undecided(supports: Array, n: int) -> Array:
    """Which features are in some supports and not in others."""
    counts = np.bincount(supports.ravel(), minlength=n)
    return (counts > 0) & (counts < len(supports))
