"""Many features: a search among those that matter, and a look at all others whether they would gain."""

from __future__ import annotations

import numpy as np

from orthoprox._subspace import leading_eigenvectors, with_signs
from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import Covariance
from orthoprox.supports.points import worth

_LEAST = 300  # features of a working set
_FEWER = 120  # where all covariances were looked at
_DECOMPOSED = 300  # features of a covariance whose eigenvectors are all computed
_SUMMED = 3000  # the most features of which all covariances are looked at
_CHUNK = 500  # columns of them at a time
_SHARE = 3  # features for each entry that is allowed
_DIGITS = 9  # of variances that are compared
_ALIGNED = 1e-9  # of a sum of products of unit columns: what is less is rounding
_STEPS = 100
_TOLERANCE = 1e-3  # of the largest eigenvalue: candidates need no better


def leading_vectors(C: Covariance, q: int) -> Array:
    """Leading eigenvectors as columns, of a large covariance approximately.

    Features in another order, or some of them negated, give the same ones so changed, but for one sign of all.
    """
    if C.n <= _DECOMPOSED:
        return aligned(np.linalg.eigh(C.dense())[1][:, ::-1][:, :q])
    found = leading_eigenvectors(C.product, C.n, q, np.empty(0), tolerance=_TOLERANCE, steps=_STEPS)
    assert found.vectors is not None  # a covariance is finite
    return aligned(found.vectors)


def aligned(V: Array) -> Array:
    """The columns with the signs that make their products with the cubes of those before them positive.

    Four factors of a row change no sign where the row does. Columns that share no row go by their own sums of cubes.
    """
    V = with_signs(V)
    for j in range(1, V.shape[1]):
        product = float(V[:, j] @ np.sum(V[:, :j] ** 3, axis=1))
        if product < -_ALIGNED:
            V[:, j] *= -1.0
    return V


def first_features(C: Covariance, allowance: Allowance, leading: Array | None = None) -> Array:
    """Features that may matter, in rising order.

    They matter most to the leading eigenvectors, of which as many as components may be known, have the largest
    variances or, unless there are too many, the largest covariances with as many others as a component may have.
    """
    size = min(C.n, max(_FEWER if C.n <= _SUMMED else _LEAST, _SHARE * allowance.total))
    if 2 * size > C.n:
        return np.arange(C.n)
    loading = np.linalg.norm(leading_vectors(C, allowance.r) if leading is None else leading, axis=1)
    # Standardised features have equal variances up to rounding, which must not decide: then loadings do.
    variance = np.round(C.diagonal / np.max(C.diagonal), _DIGITS)
    by_variance = np.lexsort((-loading, -variance))[: size // 2]
    found = [np.argsort(-loading, kind="stable")[:size], by_variance]
    if C.n <= _SUMMED:
        sums = _largest_sums(C, -(-allowance.total // allowance.r))
        found.append(np.argsort(-np.round(sums / np.max(sums), _DIGITS), kind="stable")[:size])
    return np.unique(np.concatenate(found))


def _largest_sums(C: Covariance, k: int) -> Array:
    """The sum of the k largest entries of each column, in absolute value.

    No component of k features has a variance above the largest of theirs.
    """
    sums, every = np.empty(C.n), np.arange(C.n)
    for begin in range(0, C.n, _CHUNK):
        some = np.arange(begin, min(begin + _CHUNK, C.n))
        sizes = np.abs(C.cross(some, every))
        sums[some] = np.partition(sizes, C.n - k, axis=1)[:, C.n - k :].sum(axis=1)
    return sums


def entering_features(C: Covariance, X: Array, inside: Array, allowance: Allowance) -> Array:
    """Features outside whose entries promise more than the cheapest entries of X cost; those of most promise first."""
    S = (X != 0)[None]
    values = worth(X[None], S, C.product(X)[None], C.diagonal)
    outside = np.ones(C.n, dtype=bool)
    outside[inside] = False
    loss, gain = values.loss[0], np.where(outside[:, None], values.gain[0], -np.inf)
    full = np.sum(S[0], axis=0) >= np.asarray(allowance.caps)
    cheapest = np.where(full, np.min(loss, axis=0), np.min(loss) if np.sum(S) >= allowance.total else 0.0)
    promise = np.max(gain - cheapest, axis=1)
    order = np.argsort(-promise, kind="stable")[: max(_LEAST, allowance.total)]
    return np.asarray(order[promise[order] > 0])
