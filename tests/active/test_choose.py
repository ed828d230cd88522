"""Ways to choose a support, each against its definition; corners, where two columns meet in one row."""

import itertools

import numpy as np
import pytest

from active.problems import is_orthonormal
from orthoprox import Critical, Iterations, Problem, Status, Stiefel, solve
from orthoprox.active import best_of_rows, disjoint, fill, greedy, largest, resolve_corners, restore, separate
from orthoprox.manifolds import SparseStiefel
from orthoprox.terms import L1, ExplainedVariance

SIZES = np.array([[3.0, 0.0], [1.0, 2.0], [3.0, 0.0], [2.0, 1.0]])


def test_the_largest_are_counted_in_all_or_by_column_and_zeros_never_count():
    assert np.array_equal(largest(SIZES, 3), [[1, 0], [0, 1], [1, 0], [0, 0]])  # of equal ones the first
    assert np.array_equal(largest(SIZES, 7), SIZES > 0) and not largest(SIZES, 0).any()
    assert np.array_equal(largest(SIZES, [2, 3]), [[1, 0], [0, 1], [1, 0], [0, 1]])
    assert np.array_equal(largest(SIZES, [1, 0]), [[1, 0], [0, 0], [0, 0], [0, 0]])
    assert np.array_equal(best_of_rows(np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 0.0]])), [[0, 2, 0], [3, 0, 0]])


@pytest.mark.parametrize("count", [0, 6, 9, 11, 99])
def test_a_support_is_filled_in_all(count, rng):
    support, gains = rng.random((8, 3)) < 0.3, rng.random((8, 3))
    there = np.count_nonzero(support)
    added = fill(support, gains, count) & ~support
    assert 6 < there < 11 and fill(support, gains, count)[support].all()
    steepest = np.sort(np.max(np.where(support, 0.0, gains), axis=1))[::-1][: max(count - there, 0)]
    assert np.all(added.sum(axis=1) <= 1) and np.array_equal(np.sort(gains[added])[::-1], steepest)


def test_a_support_is_filled_up_to_caps_and_a_full_column_takes_no_row_from_the_others():
    support = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 0], [0, 0, 0]], dtype=bool)
    gains = np.array([[9.0, 0, 0], [9, 9, 1], [9, 3, 0], [9, 2, 4]]) / 10
    added = fill(support, gains, [1, 3, 1]).astype(int) - support
    assert added.tolist() == [[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert np.array_equal(fill(support, gains, [0, 1, 0]), support)
    none = np.zeros((2, 2), dtype=bool)  # of equal gains the first is added, and without a gain none
    assert fill(none, np.array([[1.0, 1.0], [0.0, 0.0]]), 4).tolist() == [[True, False], [False, False]]


def test_only_the_pairs_that_meet_weakly_are_separated():
    Y = np.array([[0.8, 0.0], [0.2, 0.0], [0.6, 0.05], [0.0, 0.9], [0.0, 0.2]])
    on = (Y != 0).astype(float)
    assert np.array_equal(separate(Y, on, 0.36), on)  # 0.6^2 + 0.05^2 is not weak
    assert np.argwhere(on - separate(Y, on, 0.37)).tolist() == [[2, 1]]  # the smaller of the two goes
    mirrored = on[:, ::-1] - separate(Y[:, ::-1], on[:, ::-1], 0.37)
    assert np.argwhere(mirrored).tolist() == [[2, 0]]
    Y = np.array([[0.9, 0.01, 0.0], [0.1, 0.9, 0.0], [0.3, 0.3, 0.02], [0.0, 0.0, 0.9]])
    on = (Y != 0).astype(float)
    assert np.argwhere(on - separate(Y, on, 0.15)).tolist() == [[2, 2]]  # the last meets both in 0.0904
    assert np.array_equal(separate(Y, on, 0.09), on)
    apart = np.eye(3, 2)
    assert np.array_equal(separate(apart, apart, 0.5), apart)


def test_an_orthonormal_matrix_on_the_support_or_on_fewer_entries():
    helped = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, r = rng.integers(4, 12), rng.integers(2, 5)
        small = rng.choice([0.02, 0.05, 0.1], (n, r)) * rng.standard_normal((n, r))
        Y = 0.95 * np.eye(n)[:, :r] + small * (rng.random((n, r)) < 0.4)
        on = (Y != 0).astype(float)
        plain, found = SparseStiefel(on).restore(Y), restore(Y, on, (0.0, 1e-4, 1e-2, 1e-1))
        if plain is not None:
            assert np.array_equal(found[0], plain) and found[1] is on
        elif found is not None:
            X, kept = found
            helped += 1
            assert is_orthonormal(X) and not X[kept == 0].any() and np.linalg.norm(X - Y) < 0.7
            assert np.all(kept <= on) and np.sum(kept) < np.sum(on)
    assert helped > 0
    assert restore(np.ones((3, 2)), np.eye(3, 2) * [1, 0], (0.0, 0.1)) is None
    weak = np.array([[0.8, 0.0], [0.6, 0.05], [0.0, 1.0]])
    assert restore(weak, (weak != 0).astype(float), (0.5,))[1][1, 1] == 0  # separated before it is tried


def test_columns_apart_stay_where_they_may(rng):
    for _ in range(5):
        Y, on = rng.standard_normal((9, 3)), rng.random((9, 3)) < 0.5
        on[:3] |= np.eye(3, dtype=bool)  # so that every column can have a row of its own
        X = disjoint(Y, on)
        assert is_orthonormal(X) and np.all(np.count_nonzero(X, axis=1) <= 1) and not np.any(X[~on])
        assert np.array_equal(X != 0, X * Y > 0) and np.all(np.any(X != 0, axis=1) == np.any(on, axis=1))
        few = disjoint(Y, on, 5)
        assert np.count_nonzero(few) == 5 and np.all(X[few != 0] != 0) and is_orthonormal(few)
        assert np.count_nonzero(disjoint(Y, on, 3)) == 3


def test_every_column_gets_a_row_before_a_row_its_largest_entry():
    smaller = disjoint(np.array([[3.0, 1.0], [2.0, 0.5], [4.0, 0.1]]))
    assert np.allclose(smaller, [[0, 1], [1 / np.sqrt(5), 0], [2 / np.sqrt(5), 0]])
    empty = disjoint(np.array([[3.0, 0.0], [2.0, 0.0], [4.0, 0.0]]))
    assert is_orthonormal(empty) and np.count_nonzero(empty[:, 1]) == 1
    Y = np.array([[1.0, 2.0], [0.5, 0.4]])  # where the support leaves a column out, it goes elsewhere
    assert np.allclose(disjoint(Y, np.array([[True, True], [False, False]])), [[0, 1], [1, 0]])


DATA = np.random.default_rng(21).standard_normal((40, 9)) * np.linspace(1, 2, 9)
DATA[:, 2:5] += 2 * np.random.default_rng(22).standard_normal((40, 1))
C = np.cov(DATA.T)


def variance(on):
    """Of the best column with these nonzeros."""
    return np.linalg.eigvalsh(C[np.ix_(on, on)])[-1]


@pytest.mark.parametrize("caps", [None, [2, 4, 1]])
def test_each_entry_goes_where_it_gains_most(caps):
    before = greedy(C, 3, 3, caps)
    order = np.argsort(-np.diag(C))
    assert np.array_equal(np.argwhere(before.T)[:, 1], order[:3])
    for k in range(4, 8):
        now = greedy(C, 3, k, caps)
        assert np.count_nonzero(now) == k and np.all(np.count_nonzero(now, axis=1) <= 1)
        ((row, column),) = np.argwhere(now != before)
        gain = {
            (i, j): variance(before[:, j] | (np.arange(9) == i)) - variance(before[:, j])
            for i, j in itertools.product(range(9), range(3))
            if not before[i].any() and (caps is None or np.count_nonzero(before[:, j]) < caps[j])
        }
        assert gain[row, column] == pytest.approx(max(gain.values()))
        before = now
    # it ends when rows or room are used up
    assert np.count_nonzero(greedy(C, 3, 20)) == 9
    assert list(np.count_nonzero(greedy(C, 3, 20, [1, 3, 2]), axis=0)) == [1, 3, 2]


def has_corner(mask):
    return bool(np.any(np.triu((mask.T @ mask) == 1, 1)))


@pytest.mark.parametrize("seed", range(8))
def test_the_supports_are_the_cheapest_without_a_corner(seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((5, 3)) * (rng.random((5, 3)) < 0.5)
    Y[np.arange(3), np.arange(3)] = 1.0  # no column is empty
    entries = np.argwhere(Y != 0)
    losses = []
    for gone in itertools.product([False, True], repeat=len(entries)):
        mask = (Y != 0) * 1.0
        for (i, j), leaves in zip(entries, gone, strict=True):
            mask[i, j] -= leaves
        if mask.any(axis=0).all() and not has_corner(mask):
            losses.append(np.sum(Y[(Y != 0) & (mask == 0)] ** 2))
    found = resolve_corners(Y, (Y != 0) * 1.0, most=3)
    assert all(not has_corner(mask) and mask.any(axis=0).all() for mask in found)
    lost = [np.sum(Y[(Y != 0) & (mask == 0)] ** 2) for mask in found]
    assert lost == sorted(lost) and lost[0] == pytest.approx(min(losses))


def test_a_support_without_corners_stays():
    support = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    assert resolve_corners(support, support, most=4)[0] is support


def test_a_run_leaves_its_corner():
    """Crit stood at 1e-5 of the mean eigenvalue for good, nine tenths of the entries small and none of them zero."""
    rng = np.random.default_rng(2)
    loadings = rng.standard_normal((600, 25)), rng.standard_normal((25, 200)) * (rng.random((25, 200)) < 0.1)
    D = loadings[0] @ loadings[1] + 0.5 * rng.standard_normal((600, 200))
    D = D - D.mean(axis=0)
    D = D / np.linalg.norm(D, axis=0)
    mean = np.linalg.eigvalsh(D.T @ D / 600)[-8:].mean()
    problem = Problem.of(ExplainedVariance(D, 1 / 600) + 0.08 * mean * L1(), over=Stiefel(200, 8))
    result = solve(problem, seed=1, stop=Iterations(400) | Critical(1e-9 * mean))
    assert result.status is Status.CONVERGED
    assert np.mean(result.X == 0) > 0.85
