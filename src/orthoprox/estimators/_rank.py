"""More components than the data have directions: the further ones are single features."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from orthoprox._types import Array
from orthoprox.estimators._input import Samples
from orthoprox.estimators._spread import standard_deviations
from orthoprox.estimators._warn import Note


def rank_note(rank: int, r: int) -> Note:
    """A sentence on r components, which are more than the rank."""
    return Note(
        f"n_components = {r} is more than the rank of the data, {rank}: so many principal components keep all of the "
        f"variance. Only {rank} {'is' if rank == 1 else 'are'} fitted, the others follow from these or keep nothing; "
        "ask for fewer.",
        warn=True,
    )


def features_for_rank(data: Samples, extra: int) -> Array:
    """The features without those of least variance, one for each further component.

    Components of these leave so many features without a loading, and there are always enough: r components have at
    least r features.
    """
    return np.sort(_by_variance(data)[: data.n_features - extra])


def with_single_features(data: Samples, X: Array, inside: Array, extra: int) -> Array:
    """Components of some features, and further ones that are a single feature each, of those without a loading.

    They are orthogonal to all others, and what they add is their variance; those of largest variance add most.
    """
    r = X.shape[1] + extra
    V = np.zeros((data.n_features, r), dtype=X.dtype)
    V[inside, : X.shape[1]] = X
    order = _by_variance(data)
    left = order[~np.any(V[order], axis=1)]
    V[left[:extra], np.arange(X.shape[1], r)] = 1.0
    return V


def of_rank(estimator: Any, data: Samples, rank: int) -> Any:
    """The same sparse PCA for as many components as the rank, which leaves a nonzero to each of the others."""
    inner = clone(estimator)
    inner.n_components_, inner._notes = rank, []
    if estimator.weight is None:
        allowance = estimator._allowance(data)
        caps = None if estimator.n_nonzero_per_component is None else allowance.caps[:rank]
        total = allowance.total - (estimator.n_components_ - rank)
        inner.set_params(n_nonzero=total, n_nonzero_per_component=caps)
    return inner


def _by_variance(data: Samples) -> Array:
    return np.argsort(-standard_deviations(data), kind="stable")
