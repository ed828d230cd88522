"""The shortest tangent subgradient between bounds, against a dense least-squares problem with bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest
from orthoprox.solvers._shortest import shortest
from scipy.optimize import lsq_linear

from orthoprox import Stiefel
from orthoprox.solvers import _shortest

N, R = 14, 4
M = Stiefel(N, R)


def meeting_weakly(size):
    """Columns that meet in entries of this size only."""
    rng, X = np.random.default_rng(3), np.zeros((N, R))
    for j in range(R):
        X[3 * j : 3 * j + 3, j] = rng.standard_normal(3)
        X[3 * j : 3 * j + 3, (j + 1) % R] = size * rng.standard_normal(3)
    U, _, Vt = np.linalg.svd(X, full_matrices=False)
    return U @ Vt


POINTS = {"dense": M.random(5), "weak": meeting_weakly(1e-2), "weaker": meeting_weakly(1e-4)}


def a_case(name, seed):
    rng = np.random.default_rng(seed)
    X, base = POINTS[name], rng.standard_normal((N, R))
    given = rng.random((N, R)) < 0.3
    fixed = rng.uniform(-1, 1, (N, R))
    low, high = (
        np.where(given, fixed, -rng.uniform(0.1, 1.5, (N, R))),
        np.where(given, fixed, rng.uniform(0.1, 1.5, (N, R))),
    )
    return X, base, low, high


def least(X, base, low, high):
    """The length by least squares with bounds, over the entries that are not given."""
    inside = low < high
    columns = []
    for entry in zip(*np.nonzero(inside), strict=True):
        E = np.zeros((N, R))
        E[entry] = 1.0
        columns.append(M.tangent(X, E).ravel())
    b = M.tangent(X, base + np.where(inside, 0.0, low)).ravel()
    found = lsq_linear(np.array(columns).T, -b, bounds=(low[inside], high[inside]), method="bvls", tol=1e-15)
    return math.sqrt(2 * found.cost)


def length(X, base, z):
    return np.linalg.norm(M.tangent(X, base + z))


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_shortest_and_between_its_bounds(name, seed):
    X, base, low, high = a_case(name, seed)
    z = shortest(X, base, np.random.default_rng(seed).standard_normal((N, R)), low, high)
    assert np.all((low <= z) & (z <= high))
    assert length(X, base, z) == pytest.approx(least(X, base, low, high), rel=1e-6)


@pytest.mark.parametrize("name", POINTS)
def test_where_some_z_makes_it_vanish_that_is_found(name):
    """Where columns meet in small entries only, Lam has to move far: steps without a ridge would not get there."""
    for seed in range(6):
        X, _, low, high = a_case(name, seed)
        Lam = np.random.default_rng(40 + seed).standard_normal((R, R))
        z = np.random.default_rng(50 + seed).uniform(low, high)
        base = X @ (Lam + Lam.T) - z
        found = shortest(X, base, 0 * z, low, high)
        assert length(X, base, found) < 1e-4 * length(X, base, np.clip(0 * z, low, high))


def test_a_guess_that_is_the_answer_is_kept():
    X, base, low, high = a_case("dense", 1)
    z = shortest(X, base, 0 * base, low, high)
    assert length(X, base, shortest(X, base, z, low, high)) <= length(X, base, z) * (1 + 1e-12)


def test_what_is_short_enough_is_not_improved_upon(monkeypatch):
    X, base, low, high = a_case("dense", 2)
    made = []
    support = _shortest.Support
    monkeypatch.setattr(_shortest, "Support", lambda *given, **more: made.append(1) or support(*given, **more))
    shortest(X, base, 0 * base, low, high, enough=1e9)
    assert not made
    shortest(X, base, 0 * base, low, high)
    assert made


def test_everything_given_leaves_nothing_to_choose():
    X, base, low, _ = a_case("weak", 3)
    assert np.array_equal(shortest(X, base, 0 * base, low, low), low)
