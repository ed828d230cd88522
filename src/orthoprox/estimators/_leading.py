"""The leading principal components, as a start."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.problem import Problem

_OVERSAMPLING = 10  # extra directions, which speed up the iteration
_STEPS = 300


def leading_components(problem: Problem, tolerance: float = 1e-12) -> Array:
    """The principal components as columns, from the f of a problem: minus half the variance of the components.

    Subspace iteration from a fixed start, with a Rayleigh-Ritz step each time, until no variance changes by more than
    ``tolerance`` times the largest.
    """
    n, r = problem.M.n, problem.M.r
    Q = np.random.default_rng(0).standard_normal((n, min(n, r + _OVERSAMPLING))).astype(problem.like.dtype)
    values = np.zeros(r)
    for _ in range(_STEPS):
        Q = np.linalg.qr(Q)[0]
        HQ = -1.0 * problem.f.gradient(Q)
        ritz, W = np.linalg.eigh(Q.T @ HQ)
        previous, values = values, ritz[::-1][:r]
        X, Q = Q @ W[:, ::-1], HQ @ W[:, ::-1]
        if np.max(np.abs(values - previous)) <= tolerance * values[0]:
            break
    return X[:, :r]
