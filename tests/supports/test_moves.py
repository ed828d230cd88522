"""Moves of the search between columns: rows that change hands, columns that change places."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox.allowance import Allowance, Allowances
from orthoprox.covariance import DenseCovariance
from orthoprox.supports import find_components
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
