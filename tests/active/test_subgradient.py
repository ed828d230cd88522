"""The shortest tangent subgradient between bounds, against a dense least-squares problem with bounds."""

import numpy as np
import pytest

from active.problems import PROBLEMS, least_length, sparse_start
from orthoprox import Stiefel
from orthoprox.active import ActiveSet, shortest, shortest_subgradient

N, R = 14, 4
M = Stiefel(N, R)


def meeting_weakly(size):
    """Columns that meet in entries of this size only."""
    rng, X = np.random.default_rng(3), np.zeros((N, R))
    for j in range(R):
        X[3 * j : 3 * j + 3, j] = rng.standard_normal(3)
        X[3 * j : 3 * j + 3, (j + 1) % R] = size * rng.standard_normal(3)
    return M.project(X)


def in_few_rows(rows):
    """A point that vanishes in all other rows."""
    X = np.zeros((N, R))
    X[np.random.default_rng(4).permutation(N)[:rows]] = Stiefel(rows, R).random(6)
    return X


POINTS = {
    **{"dense": M.random(5), "weak": meeting_weakly(1e-2), "weaker": meeting_weakly(1e-4)},
    **{"few rows": in_few_rows(6), "as many as columns": in_few_rows(R)},
}


def a_case(name, seed):
    rng = np.random.default_rng(seed)
    X, base = POINTS[name], rng.standard_normal((N, R))
    given = rng.random((N, R)) < 0.3
    fixed = rng.uniform(-1, 1, (N, R))
    low, high = (np.where(given, fixed, side * rng.uniform(0.1, 1.5, (N, R))) for side in (-1, 1))
    return X, base, low, high


def length(X, base, z):
    return np.linalg.norm(M.tangent(X, base + z))


@pytest.mark.parametrize("name", POINTS)
@pytest.mark.parametrize("seed", range(6))
def test_it_is_the_shortest_and_between_its_bounds(name, seed):
    X, base, low, high = a_case(name, seed)
    z = shortest(X, base, np.random.default_rng(seed).standard_normal((N, R)), low, high)
    assert np.all((low <= z) & (z <= high))
    assert length(X, base, z) == pytest.approx(least_length(X, base, low, high), rel=1e-6)
    assert length(X, base, shortest(X, base, z, low, high)) <= length(X, base, z) * (1 + 1e-12)


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


def test_what_is_short_enough_is_not_improved_upon_and_what_is_given_leaves_no_choice():
    X, base, low, high = a_case("dense", 2)
    best, first = (length(X, base, shortest(X, base, 0 * base, low, high, enough)) for enough in (0.0, 1e9))
    assert first > 1.005 * best
    assert length(X, base, shortest(X, base, 0 * base, low, high, 1.002 * best)) <= 1.002 * best
    assert np.array_equal(shortest(X, base, 0 * base, low, low), low)


@pytest.mark.parametrize("name", PROBLEMS)
def test_at_a_point_it_is_the_shortest_of_all_subgradients(name):
    problem, (X, guess) = PROBLEMS[name], sparse_start(0)
    found = shortest_subgradient(problem, problem.at(X), ActiveSet.at(problem, X), guess)
    base = problem.f.gradient(X) - problem.g.subgradient(X)
    assert problem.h.subgradient_distance(X, found.z) == 0
    assert np.allclose(found.G, problem.M.tangent(X, base + found.z), atol=1e-13)
    assert found.length == pytest.approx(np.linalg.norm(found.G))
    least = least_length(X, base, *problem.h.subdifferential(X))
    assert found.length == pytest.approx(least, rel=1e-6)
    rough = shortest_subgradient(problem, problem.at(X), ActiveSet.at(problem, X), guess, 1e9)
    assert rough.length >= found.length * (1 - 1e-9)


def test_rows_that_vanish_count_for_what_is_short_enough():
    """What they leave is part of the length, though no Lam changes it."""
    X, base, low, high = a_case("few rows", 3)
    best, first = (length(X, base, shortest(X, base, 0 * base, low, high, enough)) for enough in (0.0, 1e9))
    assert first > 1.005 * best
    assert length(X, base, shortest(X, base, 0 * base, low, high, 1.002 * best)) <= 1.002 * best
    outside = ~np.any(X != 0, axis=1)
    found = shortest(X, base, 0 * base, low, high)
    assert np.array_equal(found[outside], np.clip(-base, low, high)[outside])


def test_an_entry_that_is_about_to_move_has_the_slope_ahead():
    problem, (X, guess) = PROBLEMS["l1"], sparse_start(0)
    signs = np.zeros_like(X)
    up, down = (tuple(place) for place in np.argwhere(X == 0)[:2])
    signs[up], signs[down] = 1.0, -1.0
    z = shortest_subgradient(problem, problem.at(X), ActiveSet.at(problem, X).with_entries(signs), guess).z
    assert (z[up], z[down]) == (0.5, -0.5)
