"""Dual principal component pursuit: the problem, its two norms, and a tiny one by brute force."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from orthoprox import solve
from orthoprox.maps import Centred
from orthoprox.models import Reweighting, dual_pcp


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
