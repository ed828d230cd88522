"""Settings of sparse PCA: what goes together, what has few values, what has units."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from orthoprox._checks import check_weight
from orthoprox.estimators._input import Samples
from orthoprox.estimators._spread import SCALES
from orthoprox.supports import EFFORTS


def check_sparse_pca(settings: Any) -> None:
    """Raise a sentence for settings of :class:`SparsePCA` that contradict each other or do not exist."""
    weight, penalty = settings.weight, settings.penalty
    if weight is not None:
        for name in ("n_nonzero", "n_nonzero_per_component"):
            if getattr(settings, name) is not None:
                raise ValueError(
                    f"Either weight or a number of nonzeros may be given; given weight = {weight!r} and "
                    f"{name} = {getattr(settings, name)!r}."
                )
    if weight is None and penalty != "l1":
        raise ValueError(
            f"penalty = {penalty!r} needs a weight, which says how strong it is; "
            "with a number of nonzeros the penalty is 'l1'."
        )
    for name, choices in (("scale", SCALES), ("effort", tuple(EFFORTS))):
        given = getattr(settings, name)
        if not (given is None or isinstance(given, str)) or given not in choices:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}; given {given!r}.")
    jobs = settings.n_jobs
    if jobs is not None and (not isinstance(jobs, numbers.Integral) or isinstance(jobs, bool) or jobs == 0):
        raise ValueError(f"n_jobs must be a number of processes, or -1 for as many as processors; given {jobs!r}.")


def unit_weight(data: Samples, weight: float | None) -> float | None:
    """A weight in units of the variance of samples of unit size."""
    if weight is None:
        return None
    unit = data.to_unit(check_weight(weight, "the penalty"), 2)
    if unit > np.finfo(data.like.dtype).max ** 0.25:
        raise ValueError(
            f"weight = {weight:g} is {unit:.0e} times the variance of X, which has no part in the fit then. "
            "The weight is in units of variance; beyond a few times the largest one all weights do the same."
        )
    return unit
