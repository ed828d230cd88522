"""The range between order statistics: its value by enumeration, its prox by the conditions of optimality."""

import itertools
import math

import numpy as np
import pytest

from orthoprox.terms import ColumnRange


def by_enumeration(y: np.ndarray, k: int) -> float:
    """The largest <u, y> over all u with k entries 1/k, k others -1/k."""
    places = range(len(y))
    ups = itertools.combinations(places, k)
    return max(
        (sum(y[i] for i in up) - sum(y[i] for i in down)) / k
        for up in ups
        for down in itertools.combinations([i for i in places if i not in up], k)
    )


@pytest.mark.parametrize(("m", "k"), [(2, 1), (3, 1), (5, 1), (5, 2), (6, 3), (7, 2)])
def test_value_and_subgradient_against_all_choices(m, k, rng):
    for y in (rng.standard_normal((m, 2)), rng.integers(-1, 2, (m, 2)).astype(float), np.zeros((m, 2))):
        h = ColumnRange(k, weight=0.7)
        wanted = 0.7 * (by_enumeration(y[:, 0], k) + by_enumeration(y[:, 1], k))
        u = h.subgradient(y)
        assert math.isclose(h.value(y), wanted, abs_tol=1e-14)
        assert math.isclose(np.sum(u * y), wanted, abs_tol=1e-14)
        assert np.allclose(np.sum(u, axis=0), 0.0, atol=1e-15) and np.all(np.abs(u) <= 0.7 / k)
        assert np.all(np.sum(np.abs(u), axis=0) <= 1.4 + 1e-15)


@pytest.mark.parametrize("seed", range(40))
def test_what_the_prox_takes_away_is_the_subgradient_where_it_ends(seed):
    # The value is the largest <u, y> over a set of u, so u = (y - p)/mu must lie in it and reach that largest at p.
    # The step goes from hardly a touch to all entries meeting at their mean.
    rng = np.random.default_rng(seed)
    m, w, mu = int(rng.integers(2, 12)), rng.uniform(0.5, 2.0), 10 ** rng.uniform(-1.5, 1.5)
    k = int(rng.integers(1, m // 2 + 1))
    y = rng.standard_normal((m, 3))
    y[:, 1] = np.round(2 * y[:, 1]) / 2  # ties
    h = ColumnRange(k, weight=w)
    p = h.prox(y, mu)
    u = (y - p) / mu
    assert np.allclose(np.sum(u, axis=0), 0.0, atol=1e-9) and np.all(np.abs(u) <= w / k + 1e-9)
    assert np.all(np.sum(np.abs(u), axis=0) <= 2 * w + 1e-9)
    assert math.isclose(np.sum(u * p), h.value(p), rel_tol=1e-9, abs_tol=1e-9)


def test_the_ends_meet_in_the_middle_and_level_exactly():
    y = np.array([[9.0, 1.0], [7.0, 0.0], [1.0, 5.0], [-1.0, 5.0], [-2.0, -4.0]])
    flat = ColumnRange(2).prox(y, 1e3)
    assert np.all(flat == flat[0]) and np.allclose(flat[0], np.mean(y, axis=0), rtol=1e-13)
    # one column crosses and the other does not
    mixed = ColumnRange(1).prox(np.array([[0.1, 100.0], [0.0, 7.0], [0.0, 4.0], [0.0, 3.0], [-0.1, -100.0]]), 1.0)
    assert np.array_equal(mixed[:, 0], np.zeros(5)) and np.allclose(mixed[:, 1], [99, 7, 4, 3, -99])


def test_many_rows_keep_single_precision():
    y = np.random.default_rng(3).uniform(-1, 1, (5000, 2))
    h = ColumnRange(50)
    for mu in (1e-3, 1.0, 50.0):
        wanted, found = h.prox(y, mu), h.prox(y.astype(np.float32), mu)
        assert found.dtype == np.float32 and np.max(np.abs(found - wanted)) <= 1e-5
