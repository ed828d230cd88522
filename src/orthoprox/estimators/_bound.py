"""What variance no sparse components of the samples exceed, computed when somebody asks for it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds import variance_bound
from orthoprox.covariance import Covariance
from orthoprox.driver import Result
from orthoprox.estimators._input import Samples
from orthoprox.estimators._spectrum import is_formed, principal_shares
from orthoprox.estimators._streaming import StreamingTransformer
from orthoprox.estimators._units import times_power

BOUND = ("upper_bound_", "optimality_gap_")
"""The attributes that wait until somebody asks for them."""
_WORK = 4e8  # multiplications beside a fit of many features, less than half a second
_MORE_WORK = 4e9
_SECONDS = 3.0  # of branch and bound
_KEPT = 16_000_000  # bytes of a covariance, or of samples, that a fitted estimator may hold until somebody asks


@dataclass(frozen=True)
class UpperBound:
    """A bound on the variance in the units of the data, and the share of it that is not kept."""

    value: float
    gap: float


@dataclass(frozen=True, eq=False)
class BoundTask:
    """All that a bound depends on: what is allowed, of which covariance.

    Of a sketch B, the covariance of the data is (B'B + R) / d: what holds for B'B holds for the data with the most that
    R can add.
    """

    covariance: Covariance
    allowance: Allowance
    effort: str
    """That of the fit: only a thorough one waits seconds for a bound."""
    kept: float
    """The variance that the components keep, of samples of unit size; of a sketch, what they keep for certain."""
    most: float
    """What as many principal components keep, which is a bound too; infinite where iterations found it."""
    beyond: float
    """The most that R can add."""
    exponent: int
    """The data are 2^exponent times the samples of unit size."""

    def compute(self) -> UpperBound:
        """The bound, in the units of the data."""
        allowance, thorough = self.allowance, self.effort == "thorough"
        bound = variance_bound(
            self.covariance,
            allowance.r,
            n_nonzero=allowance.total,
            n_nonzero_per_component=allowance.caps,
            effort="thorough" if thorough else "fast",
            incumbent=self.kept,
            time_limit=_SECONDS,
            work_limit=_MORE_WORK if thorough else _WORK,
        )
        value = min(bound.value, self.most) + self.beyond
        return UpperBound(float(times_power(value, 2 * self.exponent)), max(0.0, 1.0 - self.kept / value))

    def separate(self) -> BoundTask | None:
        """The same with memory of its own, for later; None where that is too much to hold."""
        covariance = self.covariance.separate(_KEPT)
        return None if covariance is None else replace(self, covariance=covariance)


def bound_task(fitted: Any, data: Samples, V: Array, kept: float) -> BoundTask:
    """What no components exceed that are allowed or, with a weight, have no more nonzeros in all.

    Parameters
    ----------
    fitted : SparsePCA
        With ``pca_variance_ratio_``.
    data : Samples
    V : array, shape (n, r)
        The components.
    kept : float
        The variance that they keep, of samples of unit size; of a sketch a part of it is not certain.
    """
    found = Allowance(int(np.count_nonzero(V)), (data.n_features,) * V.shape[1])
    allowance = fitted._allowance(data) if fitted.weight is None else found
    most, beyond = fitted.pca_variance_ratio_ * data.total_variance, 0.0
    if data.remainder is not None:
        kept = float(np.sum(np.square(data.remainder.rows @ V))) / data.degrees_of_freedom
        beyond = data.remainder.largest_part(allowance.r, allowance.total) / data.degrees_of_freedom
        data = replace(data, X=data.remainder.rows, remainder=None)
        most = float(np.sum(principal_shares(data, allowance.r))) * data.total_variance
    # Iterated eigenvalues may lie below the true ones, and prove nothing.
    most = most * (1.0 + math.sqrt(np.finfo(data.like.dtype).eps)) if is_formed(data) else math.inf
    return BoundTask(data.covariance, allowance, fitted.effort, kept, most, beyond, data.exponent)


class WithBound(StreamingTransformer):
    """An estimator whose bound is computed when it is first asked for: who compares many fits asks for that of one."""

    upper_bound_: float
    optimality_gap_: float
    _lazy = StreamingTransformer._lazy.union(BOUND)
    _bound_task: BoundTask | None = None

    def _set_bound_task(self, task: BoundTask) -> None:
        """Replace the bound of the last fit; compute it now if what it depends on is too much to hold."""
        for name in BOUND:
            self.__dict__.pop(name, None)
        self._bound_task = task.separate()
        if self._bound_task is None:
            self._store_bound(task)

    def _solve(self, data: Samples) -> tuple[Result[Any], str]:
        """Without the bound that waits, which processes with a copy of this estimator would have to compute."""
        task, self._bound_task = self._bound_task, None
        try:
            return super()._solve(data)
        except BaseException:  # the last fit stays what it was
            self._bound_task = task
            raise

    def _store_bound(self, task: BoundTask) -> None:
        bound = task.compute()
        self.upper_bound_, self.optimality_gap_, self._bound_task = bound.value, bound.gap, None

    def _forget_fit(self) -> None:
        super()._forget_fit()
        self._bound_task = None

    def _supply(self, name: str) -> None:
        super()._supply(name)
        if name in BOUND and self._bound_task is not None:
            self._store_bound(self._bound_task)

    def __getstate__(self) -> Any:
        """The bound goes along in copies and pickles, and not the samples that it is computed from."""
        with self._lock:
            if self._bound_task is not None:
                self._store_bound(self._bound_task)
            return super().__getstate__()

    if not TYPE_CHECKING:

        def __dir__(self) -> list[str]:
            return [*super().__dir__(), *(BOUND if self._bound_task is not None else ())]
