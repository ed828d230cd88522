"""Newton's method on many supports at once: feasible, never down, and at the end critical."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox.supports.apart import replace_columns, share_no_row
from orthoprox.supports.newton import maximise, restore, variance
from orthoprox.supports.points import orthonormalise, plane_gain, worth
from orthoprox.supports.slots import Slots


def some_points(seed, N=6, n=9, r=3, k=5):
    """A covariance, and orthonormal points on random supports with k entries in each column."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((20, n)) @ rng.standard_normal((n, n))
    S = np.argsort(rng.random((N, n, r)), axis=1) < k
    X, S, _ = orthonormalise(rng.standard_normal((N, n, r)), S)
    return B.T @ B / 20, X, S


def gap(X):
    return np.abs(X.transpose(0, 2, 1) @ X - np.eye(X.shape[2])).max(axis=(1, 2))


@pytest.mark.parametrize("k", [1, 2, 5, 9])
def test_points_are_orthonormal_on_their_supports(k):
    _, X, S = some_points(0, N=40, k=k)
    assert len(X) > (0 if k == 1 else 20) and np.all(gap(X) <= 1e-8) and np.all(X[~S] == 0)


def test_a_point_is_orthonormal_again_after_a_step_off():
    _, X, S = some_points(1)
    Y = np.where(S, X + 0.05 * np.random.default_rng(0).standard_normal(X.shape), 0.0)
    Z, there = restore(Y, Slots.of(S), accuracy=1e-13)
    assert there.all() and np.all(gap(Z) <= 1e-13) and np.all(Z[~S] == 0)
    assert np.max(np.abs(Z - Y)) <= 0.3


@pytest.mark.parametrize("seed", range(5))
def test_newton_never_goes_down_and_ends_critical(seed):
    C, X, S = some_points(seed)
    values = variance(C, X)
    slots = Slots.of(S)
    for steps in (1, 2, 40):
        Y, new = maximise(C, X, S, steps)
        assert np.all(new >= values) and np.all(gap(Y) <= 1e-8) and np.all(Y[~S] == 0)
        assert np.allclose(new, variance(C, Y))
    # The gradient on the support is a combination of the gradients of the constraints.
    J, g = slots.jacobian(Y), slots.gather(C @ Y)
    rest = [g_ - J_.T @ np.linalg.lstsq(J_.T, g_, rcond=None)[0] for J_, g_ in zip(J, g, strict=True)]
    assert np.median(np.linalg.norm(rest, axis=1)) <= 1e-5 * np.linalg.norm(C, 2)


def test_the_jacobian_is_that_of_the_constraints():
    _, X, S = some_points(2)
    slots, h = Slots.of(S), 1e-6
    d = np.random.default_rng(3).standard_normal(slots.rows.shape)
    slope = (slots.violation(slots.add(X, h * d)) - slots.violation(slots.add(X, -h * d))) / (2 * h)
    assert np.allclose(np.einsum("kqp,kp->kq", slots.jacobian(X), d), slope, atol=1e-8)


def test_one_column_ends_at_the_leading_eigenvector_of_its_block():
    C, X, S = some_points(4, r=1, N=10)
    _, values = maximise(C, X, S, 60)
    for s, value in zip(S[:, :, 0], values, strict=True):
        assert value == pytest.approx(np.linalg.eigvalsh(C[np.ix_(s, s)])[-1], rel=1e-8)


def test_columns_that_share_no_row_are_leading_eigenvectors_of_their_blocks():
    C, _, _ = some_points(6)
    S = np.zeros((2, 9, 3), dtype=bool)
    S[0, [0, 1, 2, 3], 0] = S[0, [4, 5], 1] = S[0, 6, 2] = True  # counts differ, so that blocks are padded
    S[1, [0, 8], 0] = S[1, [2, 5, 7], 1] = S[1, [1, 3], 2] = True
    assert share_no_row(S).all() and not share_no_row(S | S[::-1]).any()
    X = replace_columns(C, np.zeros(S.shape), S, np.ones((2, 3), dtype=bool))
    assert np.all(X[~S] == 0) and np.all(gap(X) <= 1e-12)
    for value, s in zip(variance(C, X), S, strict=True):
        tops = [np.linalg.eigvalsh(C[np.ix_(rows, rows)])[-1] for rows in s.T]
        assert value == pytest.approx(sum(tops), rel=1e-12)
    assert np.array_equal(replace_columns(-C, X, S, np.zeros((2, 3), dtype=bool)), X)  # no column has changed
    y = replace_columns(-C, X, S, np.ones((2, 3), dtype=bool))  # padding is below the least eigenvalue too
    assert np.all(y[~S] == 0) and np.all(gap(y) <= 1e-12)


def test_a_point_that_cannot_reach_its_goal_is_given_up():
    C, X, S = some_points(7)
    ends = maximise(C, X, S, 40)[1]
    goals = np.where(np.arange(len(X)) % 2 == 0, variance(C, X), 100 * ends)
    Y, values = maximise(C, X, S, 40, goals=goals)
    assert np.array_equal(values[::2], ends[::2]) and np.array_equal(Y[1::2], X[1::2])
    assert np.all(ends > 1.01 * variance(C, X))


@pytest.mark.parametrize("seed", range(4))
def test_what_becomes_of_a_point_does_not_depend_on_the_others(seed):
    """To the last bit: the levels of a search share a batch, and each must find what it finds alone."""
    C, X, S = some_points(seed)
    Y, values = maximise(C, X, S, 40)
    for k in range(len(X)):
        alone, value = maximise(C, X[k : k + 1], S[k : k + 1], 40)
        assert np.array_equal(alone[0], Y[k]) and value[0] == values[k]


def test_gains_and_losses_are_those_of_the_plane():
    """Of a column x and a unit vector e the best combination; without an entry, what is left of x."""
    C, X, S = some_points(5, r=1)
    values = worth(X, S, C @ X, np.diag(C))
    for x, s, lam, gain in zip(X, S, values.lam, values.gain, strict=True):
        x, s, e = x[:, 0], s[:, 0], np.eye(len(x))
        Cx = C @ x - np.where(s, C @ x - lam * x, 0.0)  # as if x were an eigenvector of its block
        for i in np.flatnonzero(~s):
            plane = np.array([[lam[0], Cx[i]], [Cx[i], C[i, i]]])
            assert gain[i, 0] == pytest.approx(np.linalg.eigvalsh(plane)[-1] - lam[0])
        block = np.ix_(s, s)
        w, V = np.linalg.eigh(C[block])
        y = np.zeros(len(x))
        y[s] = V[:, -1]
        exact = worth(y[None, :, None], S[:1] * 0 + s[None, :, None], (C @ y)[None, :, None], np.diag(C)).loss[0, :, 0]
        for i in np.flatnonzero(s):
            z = y * (1 - e[i])
            assert exact[i] == pytest.approx(w[-1] - z @ C @ z / (z @ z))


def test_a_gain_keeps_its_digits_where_it_is_small():
    assert plane_gain(np.array(1.0), np.array(0.5), np.array(1e-9)) == pytest.approx(2e-18, rel=1e-6)
