"""The penalties of sparse principal components: what they are, and what each is for."""

import math

import numpy as np
import pytest

from orthoprox import solve
from orthoprox.models import sparse_pca
from orthoprox.models.sparse_pca import PENALTIES


@pytest.fixture
def D(rng):
    return rng.standard_normal((40, 12))


def penalty_of(problem, X):
    return float(problem.h.value(problem.A(X)))


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_slope_at_zero_is_the_weight_and_the_scale_of_the_data_plays_no_part(D, penalty):
    problem = sparse_pca(D, n_components=3, weight=0.7, penalty=penalty)
    E, X = np.zeros((12, 3)), problem.M.random(3)
    E[4, 1] = 1e-6
    assert penalty_of(problem, E) == pytest.approx(0.7e-6, rel=1e-5)
    error = np.sum((D - D @ X @ X.T) ** 2) / 80  # all have the same smooth part
    assert problem.objective(X) == pytest.approx(error + penalty_of(problem, X))
    if penalty == "group":  # the lengths of rows
        assert penalty_of(problem, 2 * X) == pytest.approx(1.4 * np.linalg.norm(X, axis=1).sum())
    # Data times c and weight times c^2 is the same problem times c^2.
    big = sparse_pca(1e4 * D, n_components=3, weight=0.7e8, penalty=penalty)
    assert big.objective(X) == pytest.approx(1e8 * problem.objective(X), rel=1e-12)


@pytest.mark.parametrize(("penalty", "setting", "usual"), [("mcp", "gamma", 3.0), ("scad", "a", 3.7)])
@pytest.mark.parametrize("n", [12, 400])
def test_they_are_constant_beyond_so_many_mean_entries(rng, penalty, setting, usual, n):
    D = rng.standard_normal((10, n))
    for flat, given in ((usual, {}), (2.5, {setting: 2.5})):
        problem = sparse_pca(D, n_components=1, weight=1.0, penalty=penalty, **given)
        cost = [penalty_of(problem, np.eye(n, 1) * size * flat / math.sqrt(n)) for size in (0.98, 1.0, 1.02, 9.0)]
        assert cost[0] < cost[1] == pytest.approx(cost[2], rel=1e-12) and cost[3] == pytest.approx(cost[1], rel=1e-12)


@pytest.mark.parametrize(("penalty", "flat"), [("mcp", {"gamma": 2.5}), ("scad", {"a": 2.5})])
def test_large_loadings_are_not_shrunk(rng, penalty, flat):
    # The planted loadings are 0.5 and the penalty is constant from 2.5 / sqrt(30) = 0.46 on. So the solution is PCA of
    # the planted features alone.
    V, best = np.zeros((2, 30, 2))
    V[:4, 0] = V[4:8, 1] = 0.5
    D = rng.standard_normal((400, 2)) * [4.0, 3.0] @ V.T + 0.5 * rng.standard_normal((400, 30))
    for rows, j in ((slice(0, 4), 0), (slice(4, 8), 1)):
        best[rows, j] = np.linalg.eigh(D[:, rows].T @ D[:, rows] / 400)[1][:, -1]
    result = solve(sparse_pca(D, n_components=2, weight=0.4, penalty=penalty, **flat), X0=np.linalg.qr(V + 0.05)[0])
    assert result.converged
    assert np.array_equal(result.y != 0, V != 0)
    assert np.max(np.abs(np.abs(result.X) - np.abs(best))) < 1e-6
