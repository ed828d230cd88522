"""The last steps to exact zeros: which entries stay, orthonormality on them, f no larger than where it began."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Iterations, solve
from orthoprox.estimators import _exact
from orthoprox.models import sparse_pca

N, R = 9, 3


@pytest.fixture(params=range(5))
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    return np.random.default_rng(300 + request.param)


def orthonormal(X: np.ndarray) -> bool:
    return bool(np.max(np.abs(X.T @ X - np.eye(X.shape[1]))) <= 1e-12)


def test_columns_apart_have_no_row_in_common_and_stay_where_they_may(rng: np.random.Generator) -> None:
    Y = rng.standard_normal((N, R))
    on = rng.random((N, R)) < 0.5
    on[:R] |= np.eye(R, dtype=bool)  # so that every column can have a row of its own
    X = _exact._apart(np.where(on, Y, 0.0), on)
    assert orthonormal(X) and np.all(np.count_nonzero(X, axis=1) <= 1) and not np.any(X[~on])


def test_a_column_that_is_smaller_everywhere_gets_a_row_all_the_same() -> None:
    Y = np.array([[3.0, 1.0], [2.0, 0.5], [4.0, 0.1]])
    assert np.allclose(np.abs(_exact._apart(Y, Y != 0)), [[0, 1], [1 / np.sqrt(5), 0], [2 / np.sqrt(5), 0]])


def test_a_column_of_zeros_gets_a_row_of_its_own() -> None:
    Y = np.array([[3.0, 0.0], [2.0, 0.0], [4.0, 0.0]])
    X = _exact._apart(Y, np.ones((3, 2), dtype=bool))
    assert orthonormal(X) and np.count_nonzero(X[:, 1]) == 1


def test_the_largest_are_counted_by_column_and_zeros_never_count() -> None:
    sizes = np.array([[3.0, 0.0], [1.0, 2.0], [3.0, 0.0], [2.0, 1.0]])
    assert np.array_equal(_exact._largest(sizes, [2, 3]), [[1, 0], [0, 1], [1, 0], [0, 1]])
    assert np.array_equal(_exact._largest_of_all(sizes, 3), [[1, 0], [0, 1], [1, 0], [0, 0]])


def test_on_a_support_f_falls_to_a_critical_point(rng: np.random.Generator) -> None:
    problem = sparse_pca(rng.standard_normal((20, N)), n_components=R, weight=1.0, k=12)
    X = problem.M.random(rng.integers(1000) + 7)
    result = solve(problem, "oadmm-ep", X, stop=Iterations(0))
    on = _exact._largest_of_all(np.abs(X), 16)
    first = _exact._near(problem, X, on, rounds=0)[1].point.X
    found = _exact._on_support(problem, result, on, 1e-6)
    assert orthonormal(first) and orthonormal(found.X) and not np.any(found.X[~on & (first == 0)])
    assert float(problem.f.value(found.X)) <= float(problem.f.value(first)) + 1e-12
    assert (
        found.converged
        and found.criticality < 1e-6
        and found.objective == pytest.approx(problem.offset + float(problem.f.value(found.X)))
    )


def test_filling_keeps_to_the_room_and_to_one_entry_a_row(rng: np.random.Generator) -> None:
    problem = sparse_pca(rng.standard_normal((20, N)), n_components=R, weight=1.0, k=12)
    X, caps = np.eye(N, R), [1, 3, 4]
    added = _exact._filled(problem, X, caps) & (X == 0)
    assert np.all(added.sum(axis=0) <= [0, 2, 3]) and added.sum() >= 2 and np.all(added.sum(axis=1) <= 1)
    assert np.all(_exact._filled(problem, X, caps)[X != 0])


def test_of_a_solution_that_is_not_sparse_the_largest_entries_of_y_stay(rng: np.random.Generator) -> None:
    problem = sparse_pca(rng.standard_normal((20, N)), n_components=R, weight=1.0, k=8)
    result = solve(problem, "oadmm-ep", problem.M.random(77), stop=Iterations(3))
    assert np.count_nonzero(result.X) > 8
    found = _exact.with_total(problem, result, 8, 1e-6)
    assert orthonormal(found.X) and R <= np.count_nonzero(found.X) <= 8
    assert _exact.with_total(problem, found, 8, 1e-6) is found
