"""Many features: a search among those that matter, and a look at all others whether they would gain."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.covariance import Covariance
from orthoprox.supports.points import worth

_OVERSAMPLING = 10  # directions beyond those asked for, which speed up the iteration
_ALL = 3000  # features up to which there is no need for a working set
_LEAST = 300  # features of a working set, and of a covariance whose eigenvectors are all computed
_SHARE = 3  # features for each entry that is allowed
_DIGITS = 9  # of variances that are compared
_STEPS = 100
_TOLERANCE = 1e-3  # of the largest eigenvalue: candidates need no better


def leading_vectors(C: Covariance, q: int) -> Array:
    """Approximate leading eigenvectors as columns, the sum of cubes of each positive.

    Subspace iteration with Rayleigh-Ritz steps. Signs do not depend on the order of features.
    """
    n = C.n
    if n <= _LEAST:
        vectors = np.linalg.eigh(C.dense())[1][:, ::-1][:, :q]
    else:
        Q = np.random.default_rng(0).standard_normal((n, min(n, q + _OVERSAMPLING)))
        values = np.zeros(q)
        for _ in range(_STEPS):
            Q = np.linalg.qr(Q)[0]
            CQ = C.product(Q)
            ritz, W = np.linalg.eigh((Q.T @ CQ + CQ.T @ Q) / 2)
            before, values = values, ritz[::-1][:q]
            vectors, Q = (Q @ W[:, ::-1])[:, :q], CQ @ W[:, ::-1]
            if np.max(np.abs(values - before)) <= _TOLERANCE * values[0]:
                break
    return np.where(np.sum(vectors**3, axis=0) < 0, -1.0, 1.0) * vectors


def first_features(C: Covariance, V: Array, allowance: Allowance) -> Array:
    """The features that matter most to the leading eigenvectors, and those of largest variance, in rising order."""
    size = min(C.n, max(_LEAST, _SHARE * allowance.total))
    if C.n <= _ALL or 2 * size > C.n:
        return np.arange(C.n)
    loading = np.linalg.norm(V, axis=1)
    # Standardised features have equal variances up to rounding, which must not decide: then loadings do.
    variance = np.round(C.diagonal / np.max(C.diagonal), _DIGITS)
    by_variance = np.lexsort((-loading, -variance))[: size // 2]
    return np.union1d(np.argsort(-loading, kind="stable")[:size], by_variance)


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
