"""The leading principal components: where to begin, and what sparse ones are compared to."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.problem import Problem

_MORE = 10  # directions beyond those wanted, which make the iteration converge faster
_STEPS = 300


def leading(problem: Problem, tolerance: float = 1e-12) -> Array:
    """The principal components as columns, from the f of a problem: minus half the variance of the components.

    Subspace iteration from a fixed start, with a Rayleigh-Ritz step at every turn, until the variances settle up to
    this part of the largest one.
    """
    n, r = problem.M.n, problem.M.r
    Q = np.random.default_rng(0).standard_normal((n, min(n, r + _MORE))).astype(problem.like.dtype)
    found = np.zeros(r)
    for _ in range(_STEPS):
        Q = np.linalg.qr(Q)[0]
        HQ = -1.0 * problem.f.gradient(Q)
        sizes, W = np.linalg.eigh(Q.T @ HQ)
        before, found = found, sizes[::-1][:r]
        X, Q = Q @ W[:, ::-1], HQ @ W[:, ::-1]
        if np.max(np.abs(found - before)) <= tolerance * found[0]:
            break
    return X[:, :r]
