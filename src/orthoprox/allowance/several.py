"""Several allowances at once, one for each of a batch of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance.allowance import Allowance

_FEW = 3  # different caps for which a partition is quicker than sorting


@dataclass(frozen=True, eq=False)
class Allowances:
    """At most ``totals[k]`` nonzeros in all and ``caps[k, j]`` in column j of candidate k.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.allowance import Allowance, Allowances
    >>> two = Allowances.of([Allowance(2, (1, 1)), Allowance(3, (3, 3))])
    >>> two.choose(np.array([[[5.0, 1.0], [4.0, 0.5], [3.0, 2.0]]] * 2)).astype(int)[:, :, 0]
    array([[1, 0, 0],
           [1, 1, 0]])
    """

    totals: Array
    caps: Array

    @staticmethod
    def of(every: Sequence[Allowance]) -> Allowances:
        """One for each of these."""
        return Allowances(np.array([a.total for a in every]), np.array([a.caps for a in every]))

    def __len__(self) -> int:
        return len(self.totals)

    @property
    def r(self) -> int:
        return int(self.caps.shape[1])

    @property
    def slack(self) -> Array:
        """Whether columns share the entries out among themselves."""
        return self.totals < self.caps.sum(axis=1)

    def take(self, which: Array) -> Allowances:
        return Allowances(self.totals[which], self.caps[which])

    def choose(self, sizes: Array) -> Array:
        """Masks of the largest sizes, shape (N, n, r): as many as are allowed, and at least one in each column.

        What is chosen for a candidate does not depend on the others. Of equal sizes the first counts.
        """
        slack = self.slack
        if not slack.any():
            return _largest(sizes, self.caps)
        if slack.all():
            return self._shared_out(sizes)
        masks = np.empty(sizes.shape, dtype=bool)
        masks[~slack] = _largest(sizes[~slack], self.caps[~slack])
        masks[slack] = self.take(slack)._shared_out(sizes[slack])
        return masks

    def _shared_out(self, sizes: Array) -> Array:
        N, n, r = sizes.shape
        order = sizes.copy() if self.caps.min() >= n else np.where(_largest(sizes, self.caps), sizes, -np.inf)
        np.put_along_axis(order, np.argmax(sizes, axis=1)[:, None, :], np.inf, axis=1)
        return _largest(order.reshape(N, n * r, 1), self.totals[:, None]).reshape(N, n, r)


def _largest(sizes: Array, caps: Array) -> Array:
    """Masks of the caps[k, j] largest sizes of column j, shape (N, n, r); of equal ones the first."""
    keys = -np.ascontiguousarray(sizes.transpose(0, 2, 1))
    caps = np.minimum(caps, keys.shape[2])
    ends = np.unique(caps) - 1
    sorted_ = np.sort(keys, axis=2) if len(ends) > _FEW else np.partition(keys, ends, axis=2)
    last = np.take_along_axis(sorted_, caps[:, :, None] - 1, axis=2)
    mask = keys <= last
    many = np.count_nonzero(mask, axis=2) > caps
    if many.any():
        first = np.argsort(keys[many], axis=1, kind="stable")
        some = np.zeros(first.shape, dtype=bool)
        np.put_along_axis(some, first, np.arange(first.shape[1]) < caps[many][:, None], axis=1)
        mask[many] = some
    return np.ascontiguousarray(mask.transpose(0, 2, 1))
