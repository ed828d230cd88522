"""The best sparse components by going through all supports, and a bound that takes long."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from orthoprox.bounds import variance_bound
from orthoprox.datasets import pitprops


@functools.cache
def solved_pitprops():
    """The bound for two components with four nonzeros each, by branch and bound: 5.2552."""
    return variance_bound(pitprops()[0], 2, n_nonzero_per_component=4, effort="thorough", time_limit=30)


def supports(n, k):
    return [list(S) for S in itertools.combinations(range(n), k)]


def best_single(C, k):
    """The largest variance of one component with k nonzeros: exact."""
    return max(np.linalg.eigvalsh(C[np.ix_(S, S)])[-1] for S in supports(len(C), k))


def best_pair(C, k, m, rng, starts=2, rounds=6):
    """The largest variance met of two orthonormal components with k and m nonzeros, on all pairs of supports.

    On disjoint supports it is exact. On others, each component in turn is the best one orthogonal to the other, from
    random starts.
    """
    best = -np.inf
    every = itertools.product(supports(len(C), k), supports(len(C), m))
    for S, T in every if k != m else itertools.combinations_with_replacement(supports(len(C), k), 2):
        if not set(S) & set(T):
            found = sum(np.linalg.eigvalsh(C[np.ix_(R, R)])[-1] for R in (S, T))
            best = max(best, found)
            continue
        for _ in range(starts):
            y = np.zeros(len(C))
            y[T] = rng.standard_normal(len(T))
            for _ in range(rounds):
                pair = _given(C, S, y)
                if pair is None:
                    break
                vx, x = pair
                vy, y = _given(C, T, x) or (-np.inf, y)
                if abs(x @ y) < 1e-12:
                    best = max(best, vx + vy)
    return best


def _given(C, S, y):
    """The best unit vector on S orthogonal to y, and its variance."""
    part = y[S]
    size = np.linalg.norm(part)
    basis = np.eye(len(S)) if size < 1e-12 else np.linalg.svd(part[:, None] / size)[0][:, 1:]
    if basis.shape[1] == 0:
        return None
    w, V = np.linalg.eigh(basis.T @ C[np.ix_(S, S)] @ basis)
    x = np.zeros(len(C))
    x[S] = basis @ V[:, -1]
    return w[-1], x
