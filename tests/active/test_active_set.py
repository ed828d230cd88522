"""Which entries may move, which sign they keep, and what holds the others at zero."""

import numpy as np
import pytest

from active.problems import PROBLEMS, WEIGHTS, N, R, sparse_start
from orthoprox.active import ActiveSet


@pytest.mark.parametrize("name", PROBLEMS)
def test_at_a_point_the_nonzeros_and_the_entries_without_a_kink_are_free(name):
    problem, (X, _) = PROBLEMS[name], sparse_start(1)
    active = ActiveSet.at(problem, X)
    low, high = problem.h.subdifferential(0.0 * X)
    assert np.array_equal(active.low, low) and np.array_equal(active.high, high)
    kinks = {"huber": np.zeros((N, R), bool), "weighted l1": WEIGHTS > 0}.get(name, np.ones((N, R), bool))
    assert np.array_equal(active.kinks, kinks)
    assert np.array_equal(active.support, np.where(kinks, X != 0, 1.0)) and active.support.dtype == X.dtype
    assert np.array_equal(active.signs, np.where(kinks, np.sign(X), 0.0))


def test_the_slope_at_a_zero_is_the_one_on_the_side_it_moves_to():
    problem, (X, _) = PROBLEMS["negative part"], sparse_start(0)
    up, down, still = (tuple(at) for at in np.argwhere(X == 0)[:3])
    signs = np.zeros_like(X)
    signs[up], signs[down] = 1.0, -1.0
    active = ActiveSet.at(problem, X).with_entries(signs)
    assert np.array_equal(active.support, (X != 0) | (signs != 0))
    assert np.array_equal(active.signs, np.sign(X) + signs)
    slope = active.slope(problem.h, X)
    assert (slope[up], slope[down], slope[still]) == (0.0, -0.5, 0.0)
    assert not slope[X > 0].any() and (slope[X < 0] == -0.5).all()
    moved = np.where(signs != 0, 0.1, X)
    assert active.slope(problem.h, moved)[down] == 0.0  # once it has moved it has the slope where it is


def test_entries_that_change_sign_or_reach_zero_leave_where_there_is_a_kink():
    X, _ = sparse_start(1)
    flipped, zeroed, weak = (tuple(at) for at in np.argwhere((X != 0) & (WEIGHTS > 0))[[2, 5, 7]])
    free = tuple(np.argwhere((X != 0) & (WEIGHTS == 0))[0])
    Y = X.copy()
    Y[flipped], Y[zeroed], Y[free], Y[weak] = -X[flipped], 0.0, -X[free], 1e-3 * X[weak]
    active = ActiveSet.at(PROBLEMS["weighted l1"], X)
    leaving = active.leaving(Y)
    assert np.argwhere(leaving).tolist() == [list(flipped), list(zeroed)]
    rest = active.without(leaving)
    for before, after in ((active.support, rest.support), (active.signs, rest.signs)):
        assert not after[leaving].any() and np.array_equal(after[~leaving], before[~leaving])
    assert rest.low is active.low and rest.high is active.high
    followed = active.follow(Y)  # here the step was taken: what changed its sign keeps the new one
    assert np.array_equal(
        followed.support,
        np.where(np.isin(np.arange(X.size), [zeroed[0] * R + zeroed[1]]).reshape(X.shape), 0.0, active.support),
    )
    assert np.array_equal(followed.signs, np.where(WEIGHTS > 0, np.sign(Y), 0.0))


def test_what_is_but_rounding_is_cleared_where_there_is_a_kink():
    X, _ = sparse_start(1)
    active = ActiveSet.at(PROBLEMS["weighted l1"], X)
    for dtype in (np.float64, np.float32):
        eps = float(np.finfo(dtype).eps)
        tiny, small = (np.sign(X) * size * eps for size in (60, 70))
        assert np.array_equal(active.clear(tiny.astype(dtype)) == 0, (X == 0) | (WEIGHTS > 0))
        assert np.array_equal(active.clear(small.astype(dtype)), small.astype(dtype))


def test_of_a_fixed_support_nothing_leaves():
    X, _ = sparse_start(1)
    support = (X != 0).astype(float)
    active = ActiveSet.fixed(support)
    assert active.support is support and not active.signs.any() and active.kinks.all()
    assert not active.leaving(-X).any() and np.array_equal(active.follow(0.0 * X).support, support)
    assert np.all(active.low == -np.inf) and np.all(active.high == np.inf)
    assert np.array_equal(active.clear(1e-300 * X), 1e-300 * X)
