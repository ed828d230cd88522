"""The homotopy in the weight of h: where it begins, how it finds the least weight at which h - g vanishes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from orthoprox.solvers._path import (
    _NARROW,
    _STAGES,
    Path,
    apart,
    first_level,
    has_path,
    next_level,
    raised,
    refilled,
    vanishes,
)

from orthoprox import Critical, Iterations, Problem, Stiefel, solve
from orthoprox._fields import replace
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, ExplainedVariance, GroupL2, LargestK, NegativePart, SmoothConvex, WeightedL1

N, R, K = 8, 2, 5
B = np.random.default_rng(3).standard_normal((20, N))
PROBLEM = sparse_pca(B, n_components=R, weight=7.0, k=K)
SPARSE = np.zeros((N, R))
SPARSE[:2] = [[0.6, -0.8], [0.8, 0.6]]
DENSE = np.random.default_rng(4).standard_normal((N, R))


def walk(threshold, path, most=60):
    """All of the path, where h - g vanishes from a threshold on: the shares that are tried."""
    tried = []
    while not path.closing and not path.finished:
        tried.append(path.level)
        path = next_level(path, PROBLEM, SPARSE if path.level >= threshold else DENSE)
        assert len(tried) < most
    return tried, path


def test_where_h_minus_g_vanishes():
    assert vanishes(PROBLEM, SPARSE)
    assert not vanishes(PROBLEM, DENSE)
    assert not vanishes(PROBLEM, 0 * DENSE)  # where h vanishes, that says nothing
    assert vanishes(PROBLEM, 1e-9 * SPARSE)
    nearly = SPARSE.copy()
    nearly[2:, 0] = 1e-10
    assert not vanishes(PROBLEM, nearly)


def test_it_begins_where_the_slope_of_h_is_small_beside_the_curvature_of_f():
    path = first_level(PROBLEM)
    assert path == Path(1e-3 * PROBLEM.f.lipschitz / 7.0, 0.0, math.inf, 0, False, False)
    weights = np.random.default_rng(5).uniform(1, 2, (N, R))
    weighted = Problem.of(ExplainedVariance(B) - LargestK(3) + WeightedL1(weights), over=Stiefel(N, R))
    assert 0 < first_level(weighted).level < 1


def test_where_there_is_nothing_to_follow_it_is_over():
    light = sparse_pca(B, n_components=R, weight=1e-4 * PROBLEM.f.lipschitz, k=K)
    assert first_level(light) == Path.over()
    nothing = sparse_pca(B, n_components=R, weight=0.0, k=K)
    assert first_level(nothing).finished
    flat = Problem.of(L1() - LargestK(3), over=Stiefel(N, R))
    assert first_level(flat).finished
    assert Path.over().level == 1


def test_which_problems_have_a_path():
    f, over = ExplainedVariance(B), Stiefel(N, R)
    assert has_path(PROBLEM)
    assert has_path(Problem.of(f - SmoothConvex(lambda X: (np.sum(X**2) / 2, X)) + NegativePart(), over=over))
    assert not has_path(Problem.of(f + L1(), over=over))
    assert not has_path(Problem.of(f - LargestK(3) + GroupL2(), over=over))


@pytest.mark.parametrize("threshold", [1.3e-3, 0.02, 0.4, 0.999])
def test_the_share_is_doubled_until_h_minus_g_vanishes_and_then_narrowed(threshold):
    start = first_level(PROBLEM)
    tried, path = walk(threshold, start)
    doubled = [level for level in tried if level <= min((t for t in tried if t >= threshold), default=1.0)]
    first = next(i for i, level in enumerate(tried) if level >= threshold)
    for i in range(first):
        assert tried[i + 1] == min(2 * tried[i], 1.0)
    assert doubled
    assert path.closing
    assert not path.finished
    # The share that is kept is one at which h - g vanished, and the least of those that were tried.
    assert path.level == path.high == min(level for level in tried if level >= threshold)
    assert path.low == max((level for level in tried if level < threshold), default=0.0)
    assert path.low < threshold <= path.level
    if path.stage < _STAGES:
        assert path.high <= _NARROW * path.low
    for level in tried[first + 1 :]:
        assert level < tried[first]


def test_the_interval_is_halved_on_a_logarithmic_scale():
    path = Path(level=0.3, low=0.1, high=0.4, stage=3, closing=False, finished=False)
    up = next_level(path, PROBLEM, DENSE)
    assert (up.low, up.high, up.stage, up.closing) == (0.3, 0.4, 4, False)
    assert up.level == pytest.approx(math.sqrt(0.12))
    down = next_level(path, PROBLEM, SPARSE)
    assert (down.low, down.high, down.level) == (0.1, 0.3, pytest.approx(math.sqrt(0.03)))
    from_zero = next_level(replace(path, low=0.0), PROBLEM, SPARSE)
    assert (from_zero.low, from_zero.level) == (0.0, 0.15)
    # an answer that contradicts an earlier one does not widen it
    assert next_level(replace(path, level=0.5), PROBLEM, SPARSE).high == 0.4
    assert next_level(replace(path, level=0.05), PROBLEM, DENSE).low == 0.1


def test_it_closes_when_the_interval_is_narrow_or_after_many_stages():
    path = Path(level=0.3, low=0.295, high=0.4, stage=3, closing=False, finished=False)
    narrow = next_level(path, PROBLEM, SPARSE)
    assert (narrow.closing, narrow.level, narrow.finished) == (True, 0.3, False)
    late = next_level(replace(path, low=0.1, stage=_STAGES - 1), PROBLEM, SPARSE)
    assert (late.closing, late.level) == (True, 0.3)
    assert not next_level(replace(path, low=0.1, stage=_STAGES - 2), PROBLEM, SPARSE).closing


def test_it_is_over_where_the_whole_weight_does_not_suffice():
    whole = Path(level=1.0, low=0.5, high=math.inf, stage=5, closing=False, finished=False)
    assert next_level(whole, PROBLEM, DENSE) == Path.over()
    almost = next_level(replace(whole, level=0.7), PROBLEM, DENSE)
    assert (almost.level, almost.finished) == (1.0, False)
    tried, path = walk(2.0, first_level(PROBLEM))
    assert path.finished
    assert tried[-1] == 1.0


def test_an_exact_solution_with_too_many_entries_takes_a_little_more_weight():
    path = Path(level=0.5, low=0.4, high=0.5, stage=9, closing=True, finished=False)
    more = raised(path, exact=True)
    assert more.level == pytest.approx(1.03 * 0.5)
    assert (more.closing, more.finished, more.stage, more.high) == (True, False, 10, 0.5)
    assert raised(replace(path, level=0.99), exact=True) == Path.over()


def test_where_no_exact_solution_was_found_the_weight_is_tried_again_a_few_times():
    path = Path(level=0.5, low=0.4, high=0.5, stage=9, closing=True, finished=False)
    levels, path = [], replace(path, level=0.9)
    while not path.finished:
        levels.append(path.level)
        path = raised(path, exact=False)
        assert path.stage == 9 + len(levels) or path.finished
        assert len(levels) < 100  # it ends
    runs = [levels.count(level) for level in dict.fromkeys(levels)]
    assert max(runs) == runs[1] == 4
    assert all(b == pytest.approx(1.03 * a) for a, b in pairwise(dict.fromkeys(levels)))


# ------------------------------------------------------------------ where the homotopy has failed


@pytest.mark.parametrize("k", [3, 5, 9, 30])
def test_columns_set_apart_are_orthonormal_with_few_entries(k):
    X = np.linalg.qr(np.random.default_rng(31).standard_normal((10, 3)))[0]
    Y = apart(X, k)
    assert np.count_nonzero(Y) == min(k, 10)
    assert np.all(np.count_nonzero(Y, axis=1) <= 1) and np.all(np.count_nonzero(Y, axis=0) >= 1)
    np.testing.assert_allclose(Y.T @ Y, np.eye(3), atol=1e-15)
    for column, own in zip(X.T, Y.T, strict=True):  # what is kept is kept in proportion
        on = own != 0
        np.testing.assert_allclose(own[on], column[on] / np.linalg.norm(column[on]))
    # beyond the first of each column: the largest entries of rows, in the largest column
    beyond = [(i, j) for i, j in np.argwhere(Y != 0) if np.abs(X[i, j]) == np.max(np.abs(X[i]))]
    assert len(beyond) >= min(k, 10) - 3


def test_a_column_of_zeros_gets_an_entry_too():
    X = np.zeros((4, 2))
    X[1, 0] = 1.0
    Y = apart(X, 2)
    assert np.array_equal(np.count_nonzero(Y, axis=0), [1, 1])
    np.testing.assert_allclose(Y.T @ Y, np.eye(2))


def test_the_objective_decides_whether_to_go_on_from_columns_set_apart():
    B = np.random.default_rng(32).standard_normal((20, 8))
    X = np.linalg.svd(B)[2][:2].T.copy()  # with hardly any weight nothing is better
    z = np.ones((8, 2))
    for weight, moves in ((100.0, True), (1e-6, False)):
        problem = Problem.of(ExplainedVariance(B) - weight * LargestK(4) + weight * L1(), over=Stiefel(8, 2))
        now, y, _ = refilled(problem, problem.at(X), X, z)
        assert np.array_equal(now.X, apart(X, 4) if moves else X) and np.array_equal(y, now.X)
        sparse = apart(X, 4)
        assert refilled(problem, problem.at(X), sparse, z)[0].X is X  # it has not failed
        wiped = np.where(np.arange(2) == 0, sparse, 0.0)
        assert (refilled(problem, problem.at(X), wiped, z)[0].X is not X) == moves
    few = Problem.of(ExplainedVariance(B) - 9.0 * LargestK(1) + 9.0 * L1(), over=Stiefel(8, 2))
    assert refilled(few, few.at(X), X, z)[0].X is X  # no orthonormal matrix has one entry


def test_with_one_entry_a_column_heavy_weights_end_at_single_entries():
    """At such weights l1 alone has local minima with more: the best is known, the features of largest variance."""
    D = np.random.default_rng(34).standard_normal((60, 20)) * np.linspace(1, 2, 20)
    problem = sparse_pca(D, n_components=6, weight=50.0, k=6)
    best = (np.sum(D**2) - np.sum(np.sort(np.sum(D**2, axis=0))[-6:])) / 120
    for seed in range(3):
        result = solve(problem, seed=seed, stop=Iterations(60) | Critical(1e-8))
        assert np.count_nonzero(result.X) == 6
        assert best - 1e-9 <= result.objective <= 1.1 * best
