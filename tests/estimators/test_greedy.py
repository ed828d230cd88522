"""Nonzeros placed entry by entry, and that a fit is never worse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from orthoprox.estimators._greedy import greedy_support, is_worth_it

from orthoprox import SparsePCA
from orthoprox.estimators import _exact

X = np.random.default_rng(21).standard_normal((40, 9)) * np.linspace(1, 2, 9)
X[:, 2:5] += 2 * np.random.default_rng(22).standard_normal((40, 1))
C = np.cov(X.T)


def variance(on):
    """Of the best column with these nonzeros."""
    return np.linalg.eigvalsh(C[np.ix_(on, on)])[-1] if np.any(on) else 0.0


@pytest.mark.parametrize("caps", [None, [2, 4, 1]])
def test_each_entry_goes_where_it_gains_most(caps):
    before = greedy_support(C, 3, 3, caps)
    assert set(np.flatnonzero(before.any(axis=1))) == set(np.argsort(np.diag(C))[-3:])
    for k in range(4, 8):
        now = greedy_support(C, 3, k, caps)
        assert np.count_nonzero(now) == k and np.all(np.count_nonzero(now, axis=1) <= 1)
        ((row, column),) = np.argwhere(now != before)
        gain = {}
        for i, j in itertools.product(range(9), range(3)):
            room = caps is None or np.count_nonzero(before[:, j]) < caps[j]
            if room and not before[i].any():
                gain[i, j] = variance(before[:, j] | (np.arange(9) == i)) - variance(before[:, j])
        assert gain[row, column] == pytest.approx(max(gain.values()))
        before = now


def test_it_ends_when_rows_or_room_are_used_up():
    assert np.count_nonzero(greedy_support(C, 3, 20, None)) == 9
    assert list(np.count_nonzero(greedy_support(C, 3, 20, [1, 3, 2]), axis=0)) == [1, 3, 2]


def test_with_one_entry_a_component_the_largest_variances_are_kept():
    fitted = SparsePCA(3, n_nonzero=3).fit(X)
    assert np.allclose(fitted.explained_variance_, np.sort(np.diag(C))[:-4:-1])


@pytest.mark.parametrize("settings", [{"n_nonzero": k} for k in (4, 6, 12)] + [{"n_nonzero_per_component": [1, 3, 2]}])
def test_a_fit_is_never_worse(settings, monkeypatch):
    fitted = SparsePCA(3, **settings).fit(X)
    caps = settings.get("n_nonzero_per_component")
    on = greedy_support(C, 3, settings.get("n_nonzero", 6), caps)
    assert fitted.explained_variance_.sum() >= sum(variance(column) for column in on.T) - 1e-9
    monkeypatch.setattr(_exact, "is_worth_it", lambda *_: False)
    assert fitted.objective_ <= SparsePCA(3, **settings).fit(X).objective_ + 1e-12


def test_it_is_left_out_where_it_would_take_long_or_every_entry_may_be_nonzero():
    assert is_worth_it(300, 5, 40)
    assert not is_worth_it(301, 5, 40) and not is_worth_it(300, 5, 41) and not is_worth_it(6, 5, 30)
