"""Moves of the search between columns: rows that change hands, columns that change places."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import DenseCovariance
from orthoprox.supports import find_components
from orthoprox.supports.closer import crossing
from orthoprox.supports.exchange import _made_orthogonal, _parted
from orthoprox.supports.levels import permuted
from orthoprox.supports.moves import promising
from orthoprox.supports.points import at, worth


def top(C, *supports):
    """The variance of columns that are leading eigenvectors on supports that share no row."""
    return sum(np.linalg.eigvalsh(C[np.ix_(s, s)])[-1] for s in supports)


def kept(C, total, caps):
    X = find_components(DenseCovariance(C), Allowance(total, caps))
    return float(np.sum(X * (C @ X)))


def on(C, allowance, *supports):
    """A point of leading eigenvectors on supports that share no row."""
    X = np.zeros((1, len(C), len(supports)))
    for j, s in enumerate(supports):
        X[0, s, j] = np.linalg.eigh(C[np.ix_(s, s)])[1][:, -1]
    return at(DenseCovariance(C), X, allowance)


TIED = np.array([[0.8, 0.14, 0.34, 0.14], [0.14, 0.8, -0.35, 0.13], [0.34, -0.35, 1.0, 0.3], [0.14, 0.13, 0.3, 0.3]])


def test_two_columns_trade_their_rows():
    assert kept(TIED, 3, (4, 4)) == pytest.approx(top(TIED, [1, 2], [0]), rel=1e-9)  # from [0, 2] and [1]


@pytest.mark.parametrize("supports", [([0, 2], [1]), ([1, 2], [0])])
def test_a_trade_is_estimated_by_what_it_brings(supports):
    allowance = Allowance(3, (2, 1))
    point = on(TIED, allowance, *supports)
    moves = promising(TIED, point, Allowances.of([allowance]), 8, 1.0)
    traded = np.flatnonzero(np.all(np.sort(moves.leave[:, :, 0]) == np.sort(moves.enter[:, :, 0]), axis=1))
    assert len(traded) > 0
    after = moves.supports(point.S)
    for i in traded:
        truth = top(TIED, *(np.flatnonzero(after[i, :, j]) for j in range(2))) - point.values[0]
        assert moves.estimate[i] <= truth + 1e-12  # of a column within a plane


def test_the_row_of_another_column_is_worth_what_it_is_once_that_gives_it_up():
    """The other column's part of the gradient goes with it."""
    X = on(TIED, Allowance(3, (2, 1)), [1, 2], [0]).X
    x = X[0, :, 0]
    found = worth(X, X != 0, TIED @ X, np.diag(TIED)).gain[0, 0, 0]
    plane = np.stack([x, np.eye(4)[0]])
    assert found == pytest.approx(np.linalg.eigvalsh(plane @ TIED @ plane.T)[-1] - x @ TIED @ x)


def test_columns_with_different_numbers_of_entries_change_places():
    C = np.array(
        [
            [22.0, 2.0, 21.0, 3.0, 14.0, 4.0],
            [2.0, 16.0, -2.0, -1.0, -3.0, -3.0],
            [21.0, -2.0, 28.0, 3.0, 22.0, 7.0],
            [3.0, -1.0, 3.0, 13.0, 11.0, 9.0],
            [14.0, -3.0, 22.0, 11.0, 35.0, 21.0],
            [4.0, -3.0, 7.0, 9.0, 21.0, 20.0],
        ]
    )
    assert kept(C, 6, (4, 2)) == pytest.approx(top(C, [1, 3, 4, 5], [0, 2]), rel=1e-9)


def test_columns_that_change_places_are_told_apart_by_what_they_grow_to():
    """Before they have grown, the places of three pairs are equally good."""
    C = np.zeros((9, 9))
    for j, (third, bond) in enumerate([(0.1, 0.0), (0.2, 0.0), (0.9, 0.8)]):
        block = np.array([[3.0 - j / 2, 1.0, bond], [1.0, 3.0 - j / 2, bond], [bond, bond, third]])
        C[3 * j : 3 * j + 3, 3 * j : 3 * j + 3] = block
    point = on(C, Allowance(7, (3, 2, 2)), [0, 1], [3, 4], [6, 7])
    found = permuted(C, point, Allowances.of([Allowance(7, (3, 2, 2))]))
    assert len(found.best(9)) == len(found) == 2
    assert found.best(1).values[0] == pytest.approx(top(C, [6, 7, 8], [0, 1], [3, 4]), rel=1e-9)


HANDED = np.array([[0.58, 0.48, 0.45], [0.48, 1.0, 0.945], [0.45, 0.945, 0.9]])
PAIRED = np.array(
    [
        [0.991, -0.306, 0.433, -0.09, 0.01],
        [-0.306, 0.803, -0.458, -0.358, 0.251],
        [0.433, -0.458, 0.671, -0.145, -0.025],
        [-0.09, -0.358, -0.145, 1.0, -0.247],
        [0.01, 0.251, -0.025, -0.247, 0.341],
    ]
)


def after(C, allowance, *supports):
    """The supports after every move across constraints of a point."""
    point = on(C, allowance, *supports)
    every = [point.S[0]]
    for moves in crossing(C, point, Allowances.of([allowance]), 20):
        every += list(moves.supports(point.S))
        assert all(allowance.holds(S) for S in moves.supports(point.S))
    return [tuple(tuple(np.flatnonzero(column)) for column in S.T) for S in every[1:]]


def test_a_row_is_handed_over_to_the_column_that_is_held_at_zero_there():
    """With the row, the other column has no place for a second one."""
    assert any(S[0] == (0,) and set(S[1]) >= {1, 2} for S in after(HANDED, Allowance(4, (2, 2)), [0, 2], [1]))
    assert kept(HANDED, 4, (2, 2)) == pytest.approx(top(HANDED, [0], [1, 2]), rel=1e-9)


def test_two_columns_come_to_share_two_rows_at_once():
    """One of them alone would be held at zero."""
    assert ((0, 1, 2), (0, 1, 3)) in after(PAIRED, Allowance(6, (3, 3)), [0, 1, 2], [3, 4])
    assert kept(PAIRED, 6, (3, 3)) == pytest.approx(2.8121051, rel=1e-7)  # the best of all supports


def test_each_of_two_columns_gets_a_row_of_the_other():
    found = after(PAIRED, Allowance(6, (3, 3)), [0, 1], [3, 4])
    assert ((0, 1, 3), (0, 3, 4)) in found and ((0, 1, 4), (1, 3, 4)) in found


def test_of_two_columns_left_a_single_row_the_larger_entry_stays():
    X = np.array([[[0.8, 0.6], [0.6, 0.0], [0.0, 0.8]]])
    found = _parted(X, X != 0)
    assert np.allclose(found[0].T, [[0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])


def test_a_column_far_from_orthogonal_is_projected():
    """Gauss-Newton steps from here end nowhere: a small entry has to become large."""
    C = np.array([[0.5, 0.0, 0.25, 0.0], [0.0, 0.75, 0.25, 0.75], [0.25, 0.25, 0.5, 0.5], [0.0, 0.75, 0.5, 1.0]])
    assert kept(C, 6, (3, 3)) == pytest.approx(2.5068171, rel=1e-7)  # the best of all supports
    rng = np.random.default_rng(5)
    S = np.array([[[1, 1], [1, 1], [1, 0], [0, 1], [0, 1]]], dtype=bool)
    X = rng.standard_normal(S.shape) * S
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found, there = _made_orthogonal(X, S, np.array([[False, True]]))
    assert there.all() and np.allclose(found[0].T @ found[0], np.eye(2)) and np.all(found[~S] == 0)
    assert np.array_equal(found[:, :, 0], X[:, :, 0])
