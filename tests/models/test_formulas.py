"""What each model is, from its definition, and what it finds where the answer is planted."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import ortho_group

from orthoprox import solve
from orthoprox.maps import Centred
from orthoprox.models import Reweighting, dual_pcp, orthogonal_dictionary, sparse_lda, sparse_pca
from orthoprox.models.sparse_pca import PENALTIES


# The penalties of sparse principal components.
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


# Sparse discriminant directions.
def scatters(D, y):
    """S_w and S_b by their definitions."""
    mean, m = D.mean(axis=0), len(D)
    S_w, S_b = np.zeros((2, D.shape[1], D.shape[1]))
    for label in np.unique(y):
        own = D[y == label]
        rest, gap = own - own.mean(axis=0), own.mean(axis=0) - mean
        S_w += rest.T @ rest / m
        S_b += len(own) * np.outer(gap, gap) / m
    return S_w, S_b


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("margin", [1.0, 3.5, 0.0])
def test_the_smooth_part_is_the_margin(rng, kind, margin):
    D, y = rng.standard_normal((30, 6)) + 2.0, rng.integers(0, 3, 30)
    S_w, S_b = scatters(D, y)
    H = S_w - margin * S_b
    problem = sparse_lda(kind(D), y, n_components=2, weight=0.3, margin=margin)
    X = problem.M.random(3)
    assert problem.f.value(X) == pytest.approx(np.trace(X.T @ H @ X) / 2)
    assert np.allclose(problem.f.gradient(X), H @ X)
    assert problem.objective(X) == pytest.approx(np.trace(X.T @ H @ X) / 2 + 0.3 * np.abs(X).sum())
    assert problem.f.lipschitz >= np.linalg.norm(H, 2) * (1 - 1e-12)


def test_the_features_that_separate_are_chosen(rng):
    # More features than samples; classes differ in features 3 and 7.
    y = np.repeat(["a", "b", "c"], 20)
    D = rng.standard_normal((60, 80))
    D[:, 3] += np.where(y == "a", 5.0, 0.0)
    D[:, 7] += np.where(y == "b", 5.0, 0.0)
    problem = sparse_lda(D, y, n_components=2, weight=1.2)
    result = min((solve(problem, seed=seed) for seed in range(3)), key=lambda result: result.objective)
    assert set(np.flatnonzero(np.any(result.y != 0, axis=1))) == {3, 7}
    means = np.array([D[y == label].mean(axis=0) @ result.X for label in "abc"])
    assert min(np.linalg.norm(means[i] - means[j]) for i in range(3) for j in range(i)) > 4


def test_labels_may_be_anything_with_an_order(rng):
    D, y = rng.standard_normal((30, 6)), rng.integers(0, 3, 30)
    X = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    kinds = (y, [f"k{i}" for i in y], 0.5 * y)
    assert len({float(sparse_lda(D, labels, n_components=2, weight=0.3).objective(X)) for labels in kinds}) == 1


# Dual principal component pursuit.
@pytest.mark.parametrize("kind", [np.asarray, csr_array, lambda Y: Centred(csr_array(Y), np.zeros(6))])
@pytest.mark.parametrize("normalize", [True, False])
def test_the_objective_is_a_mean(rng, kind, normalize):
    Y = rng.standard_normal((20, 6))
    X = np.linalg.qr(rng.standard_normal((6, 2)))[0]
    rows, entries = (dual_pcp(kind(Y), codimension=2, norm=norm, normalize=normalize) for norm in ("rows", "entries"))
    U = Y / np.linalg.norm(Y, axis=1, keepdims=True) if normalize else Y
    assert rows.objective(X) == pytest.approx(np.mean(np.linalg.norm(U @ X, axis=1)))
    assert entries.objective(X) == pytest.approx(np.mean(np.sum(np.abs(U @ X), axis=1)))
    single = dual_pcp(csr_array(Y.astype(np.float32)), codimension=2, normalize=normalize)
    assert single.data is None and single.like.dtype == np.float32  # sparse samples go with X of any library


def test_in_the_plane_the_best_normal_is_found(rng):
    # On the circle the minimum is at a normal of one of the samples: the sum is concave in between.
    Y = rng.standard_normal((15, 2))
    problem = dual_pcp(Y, codimension=1)
    best = min(float(problem.objective(np.array([[-y[1]], [y[0]]]) / np.linalg.norm(y))) for y in Y)
    found = [solve(problem, Reweighting(), seed=seed).objective for seed in range(10)]
    assert min(found) == pytest.approx(best, abs=1e-6)
    assert min(solve(problem, seed=seed).objective for seed in range(10)) == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("norm", ["rows", "entries"])
def test_planted_normals_are_found_by_the_default_solver(norm):
    rng = np.random.default_rng(8)
    U = np.linalg.qr(rng.standard_normal((8, 6)))[0]
    Y = np.vstack([rng.standard_normal((80, 6)) @ U.T, rng.standard_normal((40, 8))])
    start = np.linalg.svd(Y / np.linalg.norm(Y, axis=1, keepdims=True))[2][6:].T
    result = solve(dual_pcp(Y, codimension=2, norm=norm), X0=start)
    assert np.linalg.norm(result.X.T @ U, 2) < 1e-5


def test_samples_that_are_zero_are_told_of():
    Y = np.vstack([np.zeros((2, 3)), np.eye(3)])
    problem = dual_pcp(Y, codimension=1)
    assert problem.notes == ("2 of the 5 rows of Y are zero: they lie in every subspace",)
    assert np.isfinite(problem.objective(np.eye(3, 1))) and dual_pcp(np.eye(3), codimension=1).notes == ()


# Orthogonal dictionaries.
def test_values_from_their_definitions(rng):
    Y, X = rng.standard_normal((30, 5)), ortho_group.rvs(5, random_state=1)[:, :3]
    C = Y @ X
    l1, l4 = (orthogonal_dictionary(Y, n_components=3, objective=name) for name in ("l1", "l4"))
    assert math.isclose(l1.objective(X), np.sum(np.abs(C)) / 30, rel_tol=1e-13)
    assert math.isclose(l4.objective(X), -np.sum(C**4) / 120, rel_tol=1e-13)
    assert np.allclose(l4.g.subgradient(X), Y.T @ C**3 / 30)


@pytest.mark.parametrize("r", [3, 5])
def test_codes_are_eliminated_exactly(r, rng):
    Y, X, w = rng.standard_normal((30, 5)), ortho_group.rvs(5, random_state=1)[:, :r], 0.4
    problem = orthogonal_dictionary(Y, n_components=r, objective="codes", weight=w)

    def cost(C: np.ndarray) -> float:
        return float(np.sum((Y - C @ X.T) ** 2) / 60 + w * np.sum(np.abs(C)) / 30)

    best = np.sign(Y @ X) * np.maximum(np.abs(Y @ X) - w, 0)
    assert math.isclose(problem.objective(X), cost(best), rel_tol=1e-12)
    for scale in (1e-3, 0.1, 1.0):
        assert problem.objective(X) < cost(best + scale * rng.standard_normal(best.shape))
