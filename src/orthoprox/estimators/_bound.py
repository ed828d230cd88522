"""What variance no sparse components of the samples exceed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds import variance_bound
from orthoprox.estimators._input import Samples
from orthoprox.estimators._spectrum import is_formed, principal_shares

_WORK = 4e8  # multiplications beside a fit of many features, less than half a second
_MORE_WORK = 4e9
_SECONDS = 3.0  # of branch and bound


@dataclass(frozen=True)
class UpperBound:
    """A bound on the variance in the units of the data, and the share of it that is not kept."""

    value: float
    gap: float


def upper_bound(fitted: Any, data: Samples, V: Array, kept: float) -> UpperBound:
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
    if data.remainder is not None:
        kept = float(np.sum(np.square(data.remainder.rows @ V))) / data.degrees_of_freedom
    return _bound(data, allowance, fitted.effort, kept, fitted.pca_variance_ratio_ * data.total_variance)


def _bound(data: Samples, allowance: Allowance, effort: str, kept: float, pca: float) -> UpperBound:
    """A bound for all components with an allowance.

    Parameters
    ----------
    data : Samples
    allowance : Allowance
    effort : {"fast", "balanced", "thorough"}
        That of the fit: only a thorough one waits seconds for a bound.
    kept, pca : float
        The variances that the components and as many principal components keep, of samples of unit size. Of a sketch,
        what the components keep for certain.

    Notes
    -----
    Of a sketch B, the covariance of the data is (B'B + R) / d: what holds for B'B holds for the data with the most that
    R can add.
    """
    beyond = 0.0
    if data.remainder is not None:
        beyond = data.remainder.largest_part(allowance.r, allowance.total) / data.degrees_of_freedom
        data = replace(data, X=data.remainder.rows, remainder=None)
        pca = float(np.sum(principal_shares(data, allowance.r))) * data.total_variance
    thorough = effort == "thorough"
    bound = variance_bound(
        data.covariance,
        allowance.r,
        n_nonzero=allowance.total,
        n_nonzero_per_component=allowance.caps,
        effort="thorough" if thorough else "fast",
        incumbent=kept,
        time_limit=_SECONDS,
        work_limit=_MORE_WORK if thorough else _WORK,
    )
    value = bound.value
    if is_formed(data):  # iterated eigenvalues may lie below the true ones, and prove nothing
        value = min(value, pca * (1.0 + math.sqrt(np.finfo(data.like.dtype).eps)))
    value += beyond
    return UpperBound(data.to_data(value, 2), max(0.0, 1.0 - kept / value))
