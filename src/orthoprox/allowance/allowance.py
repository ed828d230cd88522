"""How many entries may differ from zero: in all, and in each column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array

_FEW = 48  # entries up to which a search passes through every smaller number


@dataclass(frozen=True)
class Allowance:
    """At most ``total`` nonzeros in all and ``caps[j]`` in column j.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.allowance import Allowance
    >>> Allowance(4, (3, 3)).choose(np.array([[[5.0, 1.0], [4.0, 0.5], [3.0, 2.0]]])).astype(int)
    array([[[1, 0],
            [1, 0],
            [1, 1]]])
    """

    total: int
    caps: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", min(self.total, sum(self.caps)))

    @property
    def r(self) -> int:
        return len(self.caps)

    @property
    def slack(self) -> bool:
        """Whether columns share the entries out among themselves, because the caps allow more than the total."""
        return self.total < sum(self.caps)

    def holds(self, X: Array) -> bool:
        """Whether X, shape (n, r), has no more nonzeros than that."""
        counts = np.count_nonzero(X, axis=0)
        return bool(np.sum(counts) <= self.total and np.all(counts <= self.caps))

    def choose(self, sizes: Array) -> Array:
        """Masks of the largest sizes, shape (N, n, r): ``total`` of them, and at least one in each column."""
        N, n, r = sizes.shape
        if not self.slack:
            return _largest(sizes, self.caps)
        order = sizes if min(self.caps) >= n else np.where(_largest(sizes, self.caps), sizes, -np.inf)
        order = order.copy()
        np.put_along_axis(order, np.argmax(sizes, axis=1)[:, None, :], np.inf, axis=1)
        return _largest(order.reshape(N, n * r, 1), (self.total,)).reshape(N, n, r)

    def equal_caps(self) -> Allowance:
        """Equal parts of the total, as far as the caps allow."""
        part = max(self.total // self.r, 1)
        return Allowance(self.total, tuple(min(part, cap) for cap in self.caps))

    def level(self) -> tuple[int, ...]:
        """Caps that add up to at most the total: the largest are lowered, to one level.

        Examples
        --------
        >>> from orthoprox.allowance import Allowance
        >>> Allowance(total=9, caps=(2, 6, 8)).level()
        (2, 4, 3)
        """
        caps = list(self.caps)
        for _ in range(sum(caps) - self.total):
            last = max(range(len(caps)), key=lambda j: (caps[j], j))
            caps[last] -= 1
        return tuple(caps)

    def with_falling_caps(self) -> Allowance:
        """The same with the largest cap first."""
        return Allowance(self.total, tuple(sorted(self.caps, reverse=True)))

    def with_total(self, total: int) -> Allowance:
        """Another total with the same caps."""
        return Allowance(total, self.caps)

    def grid(self) -> Iterator[Allowance]:
        """Smaller caps in rising order up to these: one entry more in each column every time."""
        for i in range(1, max(self.caps)):
            caps = tuple(min(i, cap) for cap in self.caps)
            yield Allowance(sum(caps), caps)
        yield self

    @property
    def few(self) -> bool:
        """Whether a search can afford to pass through every smaller number, so that more is never worse."""
        return self.total <= _FEW


def _largest(sizes: Array, caps: tuple[int, ...]) -> Array:
    """Masks of the caps[j] largest sizes of column j, shape (N, n, r)."""
    mask, n = np.zeros(sizes.shape, dtype=bool), sizes.shape[1]
    for cap in set(caps):
        columns = [j for j, k in enumerate(caps) if k == cap]
        part = sizes[:, :, columns]
        if cap < n:
            first = np.argpartition(-part, cap - 1, axis=1)[:, :cap]
            chosen = np.zeros(part.shape, dtype=bool)
            np.put_along_axis(chosen, first, True, axis=1)
        else:
            chosen = np.ones(part.shape, dtype=bool)
        mask[:, :, columns] = chosen
    return mask
