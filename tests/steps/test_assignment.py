"""The alternation for nonnegative components: each step the best there is, never uphill, and fixed points critical."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Stiefel, UnsupportedProblem, solve
from orthoprox.maps import Entries
from orthoprox.models import nonnegative_pca
from orthoprox.problem import criticality
from orthoprox.solvers import Assignment
from orthoprox.solvers.assignment import assigned
from orthoprox.terms import L1, ExplainedVariance, LargestK, NegativePart, Nonnegative, Quadratic
from steps.checks import walk

SHAPES = [(30, 12, 3), (8, 12, 11), (5, 9, 9), (40, 7, 1), (3, 20, 6)]
"""Samples, features, components; with nearly as many components as features columns keep losing their rows."""


def drawn(m: int, n: int, seed: int, signs: bool) -> np.ndarray:
    rng = np.random.default_rng(100 + seed)
    D = rng.standard_normal((m, n)) if signs else rng.random((m, n)) ** 2
    D[:, 2] = 0.0
    return D


def nonnegative_and_orthonormal(X: Any) -> bool:
    X = np.asarray(X)
    return bool(np.min(X) >= 0 and np.max(np.abs(X.T @ X - np.eye(X.shape[1]))) <= 1e-14)


@pytest.mark.parametrize("signs", [True, False], ids=["any sign", "nonnegative"])
@pytest.mark.parametrize(("m", "n", "r"), SHAPES)
@pytest.mark.parametrize("seed", range(4))
def test_no_step_goes_uphill_or_leaves_the_constraints(m: int, n: int, r: int, seed: int, signs: bool) -> None:
    problem = nonnegative_pca(drawn(m, n, seed, signs), n_components=r)
    points = [state.now.X for state in walk(problem, Assignment(), problem.M.random(seed), 39)]
    assert all(nonnegative_and_orthonormal(X) for X in points)
    values = [float(problem.objective(X)) for X in points]
    assert max(np.diff(values)) <= 1e-13 * problem.offset
    assert values[-1] < values[0] or values[0] <= 1e-13 * problem.offset  # a feature for each component leaves nothing


@pytest.mark.parametrize("seed", range(10))
def test_the_rows_go_where_brute_force_puts_them(seed: int) -> None:
    n, r = 6, 3
    P = np.random.default_rng(seed).standard_normal((n, r))
    P[:3] += 3 * np.eye(3)  # no column stays empty

    def best(owner: tuple[int, ...]) -> float:
        """What unit columns with these rows reach at most in the sum of (x_j'P_j)^2."""
        return sum(np.sum(np.clip(P[[i for i in range(n) if owner[i] == j], j], 0, None) ** 2) for j in range(r))

    X = assigned(P, np.zeros(n))
    reached = np.sum(np.sum(X * P, axis=0) ** 2)
    assert reached == pytest.approx(max(best(owner) for owner in product(range(-1, r), repeat=n)), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_step_takes_each_column_along_its_data(seed: int) -> None:
    D = drawn(20, 8, seed, signs=True)
    problem, solver = nonnegative_pca(D, n_components=2), Assignment()
    old = solver.init(problem, problem.M.random(seed))
    new = solver.step(problem, old)
    assert np.allclose(old.squares, np.sum(D**2, axis=0) / 20) and new.squares is old.squares
    U = D @ old.now.X
    P = D.T @ (U / np.linalg.norm(U, axis=0))  # no weight: the best rows do not depend on it
    assert new.t == 1 and np.allclose(new.now.X, assigned(P, np.sum(D**2, axis=0)), rtol=0, atol=1e-12)


@pytest.mark.parametrize("signs", [True, False], ids=["any sign", "nonnegative"])
@pytest.mark.parametrize("seed", range(3))
def test_a_fixed_point_is_critical(seed: int, signs: bool) -> None:
    problem = nonnegative_pca(drawn(30, 12, seed, signs), n_components=3)
    result = solve(problem, Assignment(), seed=seed, stop=Iterations(2000) | Critical(1e-9))
    assert result.converged
    assert np.all(result.z <= 0) and np.all(result.z[result.X > 0] == 0)
    G = problem.f.gradient(result.X) + result.z
    Lam = result.X.T @ G
    assert np.linalg.norm(G - result.X @ Lam) <= 2e-9
    assert np.allclose(Lam, Lam.T, rtol=0, atol=2e-9)


def test_owners_that_are_not_best_do_not_pass_as_critical() -> None:
    # Two groups of parallel columns; each x_j is the best vector of its rows, but one row is with the wrong group.
    D = np.array([[4.0, 5.0, 0.5, 0.3], [0.0, 0.0, 1.0, 3.0]])
    problem, solver = nonnegative_pca(D, n_components=2), Assignment()
    X = np.zeros((4, 2))
    for j, rows in enumerate(([0, 1, 3], [2])):
        X[rows, j] = np.abs(np.linalg.svd(D[:, rows])[2][0])
    state = solver.init(problem, X)
    assert np.array_equal(state.now.X, X)
    assert criticality(problem, solver.certificate(problem, state)).total > 0.1
    new = solver.step(problem, state)
    assert float(problem.objective(new.now)) < float(problem.objective(state.now))
    assert np.argmax(new.now.X, axis=1).tolist() == [0, 0, 1, 1]


def test_empty_columns_get_the_row_that_gains_most_but_no_only_row() -> None:
    P = np.array([[3.0, -1.0], [2.0, -1.0], [1.0, 0.0], [-1.0, -1.0]])
    X = assigned(P, np.array([9.0, 9.0, 4.0, 4.5]))  # gains: 0, 5, 3, 4.5
    assert X[:, 1].tolist() == [0, 1, 0, 0]
    assert np.allclose(X[:, 0], np.array([3, 0, 1, 0]) / np.sqrt(10))
    X = assigned(np.array([[1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [0.0, 1.0, -1.0]]), np.array([1.0, 1.5, 100.0]))
    assert X.tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    nothing = solve(nonnegative_pca(np.zeros((4, 5)), n_components=3), Assignment())
    assert nonnegative_and_orthonormal(nothing.X) and nothing.objective == 0 and nothing.converged


def test_a_nonnegative_start_stays_and_another_is_led_to_the_constraint() -> None:
    problem, solver = nonnegative_pca(drawn(9, 4, 0, signs=True), n_components=2), Assignment()
    X0 = np.eye(4, 2)
    assert solver.init(problem, X0).now.X is X0
    assert nonnegative_and_orthonormal(solver.init(problem, problem.M.random(3)).now.X)


D = np.eye(4) + 0.1
M = Stiefel(4, 2)


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Problem.of(Quadratic(D) + Nonnegative(), over=M), "f = ExplainedVariance"),
        (Problem.of(ExplainedVariance(D, -1.0) + Nonnegative(), over=M), "f = ExplainedVariance"),
        (Problem.of(ExplainedVariance(Entries(np.ones((4, 2)))) + Nonnegative(), over=M), "from the left"),
        (Problem.of(ExplainedVariance(D) + NegativePart(), over=M), r"h = Nonnegative\(\); given NegativePart"),
        (Problem.of(ExplainedVariance(D) + Nonnegative(0.0), over=M), "h = Nonnegative"),
        (Problem.of(ExplainedVariance(D) - LargestK(2) + L1(), over=M), "g to be absent"),
        (Problem.of(ExplainedVariance(D) + Nonnegative() @ Entries(np.ones((4, 2))), over=M), "A = I"),
    ],
)
def test_other_problems_are_refused(problem: Problem, sentence: str) -> None:
    with pytest.raises(UnsupportedProblem, match=sentence):
        solve(problem, Assignment())
