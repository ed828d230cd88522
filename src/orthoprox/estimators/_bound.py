"""What variance no sparse components of the samples exceed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from orthoprox.allowance import Allowance
from orthoprox.bounds import variance_bound
from orthoprox.estimators._input import Samples
from orthoprox.estimators._search import covariance_of
from orthoprox.estimators._spectrum import is_formed

_WORK = 4e8  # multiplications beside a fit of many features, less than half a second
_MORE_WORK = 4e9
_SECONDS = 3.0  # of branch and bound


@dataclass(frozen=True)
class UpperBound:
    """A bound on the variance in the units of the data, and the share of it that is not kept."""

    value: float
    gap: float


def upper_bound(data: Samples, allowance: Allowance, effort: str, kept: float, pca: float) -> UpperBound:
    """A bound for all components with an allowance.

    Parameters
    ----------
    data : Samples
    allowance : Allowance
    effort : {"fast", "balanced", "thorough"}
        That of the fit: only a thorough one waits seconds for a bound.
    kept, pca : float
        The variances that the components and as many principal components keep, of samples of unit size.
    """
    thorough = effort == "thorough"
    bound = variance_bound(
        covariance_of(data),
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
    return UpperBound(data.to_data(value, 2), max(0.0, 1.0 - kept / value))
