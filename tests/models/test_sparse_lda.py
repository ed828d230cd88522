"""Sparse discriminant directions: the scatter matrices, and planted classes."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from orthoprox import solve
from orthoprox.models import sparse_lda


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
