"""A better split of C = (C - U) + U: the dual of sparse PCA's convex relaxation."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance

_ITERATIONS = 500
_WORK = 6e8  # iterations times n^3 at most
_EVERY = 5  # iterations between two values of the bound
_PATIENCE = 12  # values of the bound without progress
_PROGRESS = 1e-5


def improve_split(C: Array, U: Array, allowance: Allowance) -> Array:
    """Lower the bound of a symmetric U: the sum of the r largest eigenvalues of C - U, plus K max abs(U_ij).

    The least such bound is the value of max tr(CP) over 0 <= P <= I, tr P = r, sum of abs(P_ij) <= K [1]_, [2]_. The
    alternating direction method for this problem has U as its multiplier. Every iterate has a valid bound, and the
    best one is returned.

    References
    ----------
    .. [1] A. d'Aspremont, L. El Ghaoui, M. Jordan, G. Lanckriet, A direct formulation for sparse PCA using
       semidefinite programming, SIAM Review 49, 2007, 434-448.
    .. [2] V. Vu, J. Cho, J. Lei, K. Rohe, Fantope projection and selection, NeurIPS 2013.
    """
    n, r, K = len(C), allowance.r, allowance.total
    size = float(np.linalg.eigvalsh(C)[-1]) / np.sqrt(r)
    if not size > 0:
        return U
    V = np.linalg.eigh(C - U)[1][:, -r:]
    Q, Y = _to_l1_ball(V @ V.T, K), U / size
    best, best_U, waited = np.inf, U, 0
    for iteration in range(int(min(_ITERATIONS, _WORK / n**3)) + 1):
        P = _to_fantope(Q - Y + C / size, r)
        Q = _to_l1_ball(P + Y, K)
        Y = Y + P - Q
        if iteration % _EVERY == 0:
            U = size * (Y + Y.T) / 2
            value = float(np.sum(np.linalg.eigvalsh(C - U)[-r:]) + np.max(np.abs(U)) * K)
            waited = 0 if value < best * (1 - _PROGRESS) else waited + 1
            if value < best:
                best, best_U = value, U
            if waited >= _PATIENCE:
                break
    return best_U


def _to_fantope(A: Array, r: int) -> Array:
    """The nearest matrix with eigenvalues between 0 and 1 that sum to r."""
    w, V = np.linalg.eigh(A)
    # The sum of clip(w - shift, 0, 1) falls piecewise linearly in the shift, with corners at w - 1 and w.
    corners = np.sort(np.concatenate([w - 1, w]))
    sums = np.sum(np.clip(w[:, None] - corners, 0, 1), axis=0)
    i = max(int(np.searchsorted(-sums, -r, side="right")) - 1, 0)
    j = min(i + 1, len(corners) - 1)
    fall = sums[i] - sums[j]
    shift = corners[i] + (sums[i] - r) * (corners[j] - corners[i]) / fall if fall > 0 else corners[i]
    return np.asarray((V * np.clip(w - shift, 0, 1)) @ V.T)


def _to_l1_ball(A: Array, K: int) -> Array:
    """The nearest matrix whose entries sum to at most K in size."""
    sizes = np.sort(np.abs(A), axis=None)[::-1]
    excess = np.cumsum(sizes) - K
    if excess[-1] <= 0:
        return A
    kept = int(np.flatnonzero(sizes * np.arange(1, len(sizes) + 1) > excess)[-1]) + 1
    return A - np.clip(A, -excess[kept - 1] / kept, excess[kept - 1] / kept)
