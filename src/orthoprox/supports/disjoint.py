"""One column after the other, on features that no other has."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import Covariance
from orthoprox.supports.points import Points, at, orthonormalise

_STARTS = 12  # of the power methods for one column, by each of two rules
_TURNS = 5  # of the truncated power method
_POOL = 400  # features whose columns of C are looked at
_SKETCH = 20  # random vectors that tell their lengths


def one_by_one(C: Covariance, allowance: Allowance, X: Array) -> Points:
    """One column after the other on features that no other has, each the best of several truncated power methods.

    Half of them begin at the features that matter most to X among those left, half at those whose columns of C have the
    largest sums over as many rows as are allowed.
    """
    caps = allowance.caps if not allowance.slack else allowance.equal_caps().caps
    Z, free = np.zeros((1, C.n, allowance.r)), np.ones(C.n, dtype=bool)
    order = np.linalg.norm(C.product(X), axis=1)
    pool = _long_columns(C)
    columns = np.abs(C.columns(pool))
    for j in sorted(range(allowance.r), key=lambda j: -caps[j]):
        if np.count_nonzero(free) < caps[j]:
            break
        sums = np.full(C.n, -1.0)
        sums[pool] = np.sum(np.partition(columns[free], -caps[j], axis=0)[-caps[j] :], axis=0)
        firsts = [np.argsort(-np.where(free, sizes, -1.0), kind="stable")[:_STARTS] for sizes in (order, sums)]
        starts = np.unique(np.concatenate(firsts))
        x = _units(C.n, starts[free[starts]])
        for _ in range(_TURNS):
            y = np.where(free[:, None], C.product(x), 0.0)
            x = np.where(_top(np.abs(y), caps[j]), y, 0.0)
            x /= np.maximum(np.linalg.norm(x, axis=0), np.finfo(x.dtype).tiny)
        best = x[:, np.argmax(np.einsum("ij,ij->j", x, C.product(x)))]
        Z[0, :, j] = best
        free &= best == 0
    X, _, _ = orthonormalise(np.where(Z != 0, Z, 0.0), Z != 0)
    if len(X) == 0:  # fewer features than entries
        return Points(X, X != 0, np.zeros(0))
    return at(C, X, allowance)


def _long_columns(C: Covariance) -> Array:
    """The features whose columns of C are longest, by a few products if there are many."""
    if C.n <= _POOL:
        return np.arange(C.n)
    sketch = C.product(np.random.default_rng(0).standard_normal((C.n, _SKETCH)))
    return np.sort(np.argsort(-np.linalg.norm(sketch, axis=1), kind="stable")[:_POOL])


def _units(n: int, features: Array) -> Array:
    """The unit vectors of some features as columns."""
    E = np.zeros((n, len(features)))
    E[features, np.arange(len(features))] = 1.0
    return E


def _top(sizes: Array, k: int) -> Array:
    """A mask of the k largest of each column, not one more where some are equal."""
    mask = np.zeros(sizes.shape, dtype=bool)
    np.put_along_axis(mask, np.argpartition(-sizes, min(k, len(sizes)) - 1, axis=0)[:k], True, axis=0)
    return mask
