"""OBCD from its definition: the best V of a pair by all kinks and all roots of quartics, and pair after pair."""

import importlib.util

import numpy as np
import pytest

from orthoprox.backends._obcd_jumps import FORBIDDEN, Jumps
from orthoprox.terms import L0, Nonnegative
from steps.cases import N, R

HAS_NUMBA = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="the sequential sweep needs numba")


def turns(angle):
    """The rotation and the reflection of an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]]), np.array([[-c, s], [s, c]])


GRID = np.concatenate([np.stack([turns(t)[i] for t in np.linspace(0, 2 * np.pi, 721)]) for i in (0, 1)])


def naive_pair(Z, G, H, h, slopes, alpha):
    """The V that minimises <G, N - Z> + <N - Z, H (N - Z)>/2 + alpha/2 |V - I|^2 + h(N) with N = V Z, and the value.

    ``slopes`` gives the gradient of h where it has one.
    """

    def smooth(V):
        D = V @ Z - Z
        return np.sum(G * D) + np.sum(D * (H @ D)) / 2 + alpha / 2 * np.sum((V - np.eye(2)) ** 2)

    best, chosen = h(Z), np.eye(2)
    for kind, x, y in ((0, [Z[0], Z[1]], [Z[1], -Z[0]]), (1, [-Z[0], Z[1]], [Z[1], Z[0]])):
        x, y = np.ravel(x), np.ravel(y)
        there = (x != 0) | (y != 0)
        angles = np.arctan2(-x[there], y[there])
        angles = np.unique(np.concatenate([angles, angles + np.pi, [0, np.pi / 2, np.pi, 1.5 * np.pi]]) % (2 * np.pi))
        found = list(angles)
        for low, high in zip(angles, [*angles[1:], angles[0] + 2 * np.pi], strict=True):
            slope = slopes(turns((low + high) / 2)[kind] @ Z)
            t = 2 * np.pi * np.arange(5) / 5
            found += stationary([smooth(turns(a)[kind]) + np.sum(slope * (turns(a)[kind] @ Z)) for a in t], low, high)
        for t in found:
            V = turns(t)[kind]
            value = smooth(V) + h(V @ Z)
            if value < best - 1e-13:
                best, chosen = value, V
    return chosen, best


def stationary(values, low, high):
    """Zeros of the slope of a trigonometric polynomial of degree two, from its values at five angles."""
    t = 2 * np.pi * np.arange(5) / 5
    basis = np.stack([np.ones(5), np.cos(t), np.sin(t), np.cos(2 * t), np.sin(2 * t)], axis=1)
    _, a, b, p, q = np.linalg.solve(basis, values)
    # -a sin + b cos - 2p sin 2t + 2q cos 2t = 0, times z^2 with z = exp(i t)
    coefficients = [q + 1j * p, (b + 1j * a) / 2, 0, (b - 1j * a) / 2, q - 1j * p]
    if np.max(np.abs(coefficients)) < 1e-14:
        return []
    roots = np.roots(coefficients)
    angles = np.angle(roots[np.abs(np.abs(roots) - 1) < 1e-6]) % (2 * np.pi)
    return [t for angle in angles for t in (angle, angle + 2 * np.pi) if low <= t <= high]


def dense(problem):
    return problem.f.product(np.eye(N))


def pair_terms(problem, rows):
    def embedded(Z):
        full = np.zeros((N, R))
        full[rows] = Z
        return full

    def h(Z):
        return problem.h.value(problem.A(embedded(rounded(problem, Z))))

    def kinked(Z):
        return problem.A.adjoint(problem.h.subgradient(problem.A(embedded(Z))))[rows]

    return h, kinked


def rounded(problem, Z):
    """Where h jumps at zero, what rounding has left of a zero counts as zero."""
    return np.where(np.abs(Z) < 1e-9, 0.0, Z) if isinstance(problem.h, (L0, Nonnegative)) else Z


def naive_rounds(problem, X, all_pairs, alpha, majorised=None):
    """Pair after pair; with a curvature given, all pairs of a round see the gradient at its beginning."""
    X, xi = X.copy(), problem.g.subgradient(X)
    for pairs in all_pairs:
        start = X.copy()
        for rows in pairs:
            at = X if majorised is None else start
            G = (problem.f.gradient(at) - xi)[rows]
            H = dense(problem)[np.ix_(rows, rows)] if majorised is None else majorised * np.eye(2)
            V, _ = naive_pair(X[rows], G, H, *pair_terms(problem, rows), alpha)
            X[rows] = rounded(problem, V @ X[rows])
    return X


def sparse_point(seed):
    """A nonnegative X with zero rows and rows of one entry, several of them in the same column."""
    rng = np.random.default_rng(seed)
    X = np.zeros((N, R))
    rows = rng.permutation(N)
    for column in range(R):
        X[rows[2 * column : 2 * column + 2], column] = rng.uniform(0.2, 1.0, 2)
    return X / np.linalg.norm(X, axis=0)


def mixed_point(seed):
    """A sparse X some of whose rows have several entries, so that columns overlap."""
    X = sparse_point(seed)
    Q = np.linalg.qr(np.random.default_rng(seed + 100).standard_normal((2, 2)))[0]
    X[:2], X[4:6] = Q @ X[:2], Q @ X[4:6]
    return X


def signs_of(must):
    """The jumps of entries that must be positive (1) or negative (-1); the others are free."""
    return Jumps(np.where(must < 0, FORBIDDEN, 0.0), np.where(must > 0, FORBIDDEN, 0.0), 1e-13)
