"""The problems on which solvers are compared, and a start that all of them share."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox import Iterations, Problem, Recorder, Stiefel, solve
from orthoprox.maps import Matrix
from orthoprox.models import compressed_modes, sparse_pca
from orthoprox.terms import L1, MCP, SCAD, ExplainedVariance, GroupL2


def unit_columns(m: int, n: int, seed: int) -> Any:
    """Gaussian data with centred columns of unit length (the generator of the ManPG and MIALM papers)."""
    B = np.random.default_rng(seed).standard_normal((m, n))
    B = B - B.mean(axis=0)
    return B / np.linalg.norm(B, axis=0)


def outliers(D: int, r: int, inliers: int, count: int, seed: int) -> Any:
    """Inliers on a subspace of codimension r and outliers all over the sphere, as rows."""
    rng = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(rng.standard_normal((D, D - r)))
    points = np.vstack([rng.standard_normal((inliers, D - r)) @ basis.T, rng.standard_normal((count, D))])
    return points / np.linalg.norm(points, axis=1, keepdims=True)


def dictionary(D: int, m: int, density: float, seed: int) -> Any:
    """Sparse combinations of the columns of an orthogonal matrix, as rows."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((D, D)))
    return (rng.standard_normal((m, D)) * (rng.random((m, D)) < density)) @ Q.T


def problems() -> dict[str, Problem]:
    """One of each kind that the solvers' scopes tell apart."""
    B = unit_columns(50, 200, 0)
    wide = Stiefel(200, 10)
    f = ExplainedVariance(B, weight=2.0)  # -tr(X'B'BX), as sections 12.2 to 12.4 of the literature have it
    D = np.random.default_rng(1).standard_normal((300, 100)) * 0.97 ** np.arange(100)
    Y = outliers(30, 5, 500, 1167, 2)
    Z = dictionary(20, 900, 0.3, 3)
    return {
        "sparse PCA, l1 - largest-k": sparse_pca(D, n_components=10, weight=0.2, k=200),
        "sparse PCA, l1": Problem.of(f + 0.4 * L1(), over=wide),
        "compressed modes": compressed_modes(128, n_components=10, weight=0.1),
        "dual PCP, l1": Problem.of(L1(1 / len(Y)) @ Matrix(Y), over=Stiefel(30, 5)),
        "dual PCP, rows": Problem.of(GroupL2(weight=1 / len(Y)) @ Matrix(Y), over=Stiefel(30, 5)),
        "dictionary": Problem.of(L1(1 / len(Z)) @ Matrix(Z), over=Stiefel(20, 20)),
        "MCP": Problem.of(f + 0.4 * MCP(1.0, 5.0), over=wide),
        "SCAD": Problem.of(f + 0.4 * SCAD(0.3, 3.7), over=wide),
    }


def common_start(problem: Problem, seed: int) -> Any:
    """A random point, moved a little way by the subgradient method, so that no method starts at a saddle."""
    stop = Iterations(100)
    return solve(problem, "subgradient", seed=seed, stop=stop, record=Recorder(every=100)).X
