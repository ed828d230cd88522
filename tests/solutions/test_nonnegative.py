"""Nonnegative PCA and orthogonal NMF as problems: what they claim to be, and planted answers."""

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from scipy.sparse.linalg import aslinearoperator

from orthoprox import Critical, Iterations, solve
from orthoprox.maps import Matrix
from orthoprox.models import nonnegative_pca, orthogonal_nmf
from orthoprox.models._seeding import seed_components
from orthoprox.solvers import Assignment
from orthoprox.terms import NegativePart, Nonnegative

DATA = np.random.default_rng(21).random((14, 6)) ** 2


def groups(X):
    """The rows of each column, as a partition without names."""
    return {tuple(np.flatnonzero(np.asarray(column) > 0).tolist()) for column in X.T}


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        *((nonnegative_pca, kind) for kind in (np.asarray, csr_array, Matrix, aslinearoperator)),
        *((orthogonal_nmf, kind) for kind in (np.asarray, csr_array, csr_matrix)),
    ],
)
def test_the_objective_is_the_reconstruction_error_with_a_constraint_or_a_penalty(model, kind):
    problem, D = model(kind(DATA), n_components=3), DATA if model is nonnegative_pca else DATA.T
    X = solve(problem, Assignment(), seed=3, stop=Iterations(2)).X
    error = np.sum((D - D @ X @ X.T) ** 2) / (2 * len(D))
    assert float(problem.objective(X)) == pytest.approx(error, rel=1e-12) and isinstance(problem.h, Nonnegative)
    for w in (0.7, 0.0):
        assert model(kind(DATA), n_components=2, weight=w).h == NegativePart(w)


def test_for_one_component_of_nonnegative_data_the_penalty_gives_the_constrained_answer():
    leading = np.abs(np.linalg.svd(DATA)[2][:1].T)
    for model in (nonnegative_pca(DATA, n_components=1), nonnegative_pca(DATA, n_components=1, weight=1.0)):
        solver = "oadmm" if isinstance(model.h, NegativePart) else Assignment()
        found = solve(model, solver, seed=1, stop=Iterations(500) | Critical(1e-9)).X
        assert np.allclose(found, leading, rtol=0, atol=1e-7)


@pytest.mark.parametrize("seed", range(5))
def test_scattered_columns_come_from_different_groups_and_opposite_ones_are_in_two(seed):
    # Exact multiples of orthogonal directions leave nothing once drawn, so any draw takes one of each.
    many, few = np.zeros((4, 9)), np.zeros((2, 12))
    many[np.arange(9) % 4, np.arange(9)] = np.random.default_rng(seed).random(9) + 0.1
    few[0, :6], few[1, 6:] = [1, 2, 3, -1, -2, -3], [2, 1, 1, -1, -1, -2]
    apart = {(0, 4, 8), (1, 5), (2, 6), (3, 7)}, {(0, 1, 2), (3, 4, 5), (6, 7, 8), (9, 10, 11)}
    for D, parts in zip((many, few), apart, strict=True):
        problem = nonnegative_pca(D, n_components=4)
        X = seed_components(problem, seed, D)
        assert groups(X) == parts and float(problem.objective(X)) == pytest.approx(0, abs=1e-15)


def test_of_two_draws_the_one_that_leaves_less_is_kept():
    # Ten columns of one direction and eight of another: the first is kept unless both draws are of the second, which
    # has the probability 0.2; of a single draw it would be 0.44.
    D = np.zeros((2, 18))
    D[0, :10], D[1, 10:] = 1.0, 1.0
    problem = nonnegative_pca(D, n_components=1)
    firsts = sum(seed_components(problem, seed, D)[0, 0] > 0 for seed in range(100))
    assert firsts >= 70  # four standard deviations above 56 would be 76, below 80 would be 64


def test_scattered_columns_differ_by_seed_and_not_by_call_and_those_of_nothing_are_orthonormal():
    problem = nonnegative_pca(DATA, n_components=3)
    starts = [seed_components(problem, seed, DATA) for seed in (0, 1, 2, 3, 0)]
    assert np.array_equal(starts[0], starts[4])
    assert any(not np.array_equal(starts[0], other) for other in starts[1:4])
    X = seed_components(nonnegative_pca(np.zeros((3, 5)), n_components=4), 0, DATA)
    assert np.allclose(X.T @ X, np.eye(4))
