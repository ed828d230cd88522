"""Problems with random zeros, and what holds on the matrices that have them, from definitions alone."""

from __future__ import annotations

import math

import numpy as np
from orthoprox.solvers._polish import _Face, _Model
from orthoprox.solvers._support import restored
from scipy.optimize import lsq_linear

from orthoprox import Problem, Stiefel
from orthoprox.models import sparse_pca
from orthoprox.terms import (
    L1,
    MCP,
    SCAD,
    ExplainedVariance,
    Huber,
    LargestK,
    Linear,
    LogSum,
    NegativePart,
    Quadratic,
    WeightedL1,
)

N, R = 14, 3
M = Stiefel(N, R)
_rng = np.random.default_rng(21)
B = _rng.standard_normal((20, N))
S = _rng.standard_normal((N, N))
S = S + S.T
T = _rng.standard_normal((N, R))
WEIGHTS = np.where(_rng.random((N, R)) < 0.2, 0.0, _rng.uniform(0.3, 1.0, (N, R)))  # some entries cost nothing
f = ExplainedVariance(B, 0.1)

PROBLEMS = {
    "l1": Problem.of(f + 0.5 * L1(), over=M),
    "l1, indefinite f": Problem.of(Quadratic(S, 0.3) + Linear(T) + 0.4 * L1(), over=M),
    "weighted l1": Problem.of(f + 0.7 * WeightedL1(WEIGHTS), over=M),
    "mcp": Problem.of(f + 0.6 * MCP(0.8, 1.5), over=M),
    "scad": Problem.of(f + 0.6 * SCAD(0.3, 2.5), over=M),
    "log-sum": Problem.of(f + 0.2 * LogSum(0.3), over=M),
    "negative part": Problem.of(f + 0.5 * NegativePart(), over=M),
    "huber": Problem.of(f + 0.5 * Huber(0.2), over=M),  # no kinks, but curvature
    "l1 minus largest-k": Problem.of(f - 0.4 * LargestK(9) + 0.5 * L1(), over=M),
}
K_SPARSE = sparse_pca(B, n_components=R, weight=3.0, k=26)


def sparse_start(seed, share=0.7):
    """An orthonormal matrix with random zeros, and a z that is nobody's multiplier."""
    rng = np.random.default_rng(300 + seed)
    while True:
        on = (rng.random((N, R)) < share).astype(float)
        y = M.project(rng.standard_normal((N, R)) * on)
        X = restored(y, on)
        if X is not None and np.min(np.abs(X[on > 0])) > 1e-3:
            return X, 0.3 * rng.uniform(-1, 1, (N, R))


def value(problem, X):
    return float(problem.objective(X))


def a_model(problem, X, z, free=False, on=None):
    face = _Face(problem, X, free, on)
    now = problem.at(X)
    z, _ = face.shortest(now, z)
    XtG = X.T @ (face.base(now) + z)
    return face, now, _Model(face, now, (XtG + XtG.T) / 2)


def tangents(X, on, seed, count=4):
    """Random directions along the matrices with these zeros: zero off S, X'D + D'X = 0, from a null space."""
    rows = []
    for entry in zip(*np.nonzero(on), strict=True):
        E = np.zeros_like(X)
        E[entry] = 1.0
        rows.append((X.T @ E + E.T @ X)[np.triu_indices(X.shape[1])])
    _, s, Vt = np.linalg.svd(np.array(rows).T)
    basis = Vt[np.sum(s > 1e-10) :]
    rng = np.random.default_rng(seed)
    for _ in range(count):
        D = np.zeros_like(X)
        D[on > 0] = basis.T @ rng.standard_normal(len(basis))
        yield D / np.linalg.norm(D)


def second_differences(problem, X, on, D, t=1e-4):
    """The slope and the curvature of F along a curve on the face that begins in direction D."""
    ahead, behind = (value(problem, restored(X + s * t * D, on)) for s in (1, -1))
    return (ahead - behind) / (2 * t), (ahead - 2 * value(problem, X) + behind) / t**2


def shortest_by_least_squares(problem, X, free=False):
    """The least |tangent part of grad f - dg + z| over the subgradients z of h, from bounds and a dense matrix."""
    low, high = problem.h.subdifferential(X)
    if free:
        low = high = np.where(X != 0, problem.g.subgradient(X), 0.0)
        w = problem.h.weight
        low, high = np.where(X != 0, low, -w), np.where(X != 0, high, w)
    constant = problem.f.gradient(X) - problem.g.subgradient(X) + np.where(low == high, low, 0.0)
    columns = []
    for entry in zip(*np.nonzero(low < high), strict=True):
        E = np.zeros_like(X)
        E[entry] = 1.0
        columns.append(tangent(X, E).ravel())
    b = tangent(X, constant).ravel()
    if not columns:
        return np.linalg.norm(b)
    inside = low < high
    found = lsq_linear(np.array(columns).T, -b, bounds=(low[inside], high[inside]), tol=1e-14)
    return math.sqrt(2 * found.cost)


def tangent(X, G):
    XtG = X.T @ G
    return G - X @ (XtG + XtG.T) / 2
