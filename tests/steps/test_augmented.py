"""The augmented Lagrangian of equation (5), against its definition at random points."""

import numpy as np
import pytest

from orthoprox.solvers._augmented import lagrangian, lagrangian_change, smooth_part, smooth_part_gradient
from steps.cases import PROBLEMS, augmented, numerical_gradient, random_triple

BETA, TAU = 11.0, 5.0


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_values_gradients_and_changes(name, seed):
    problem = PROBLEMS[name]
    _, X, X_new, y, z = random_triple(problem, seed)
    now, new = problem.at(X), problem.at(X_new)
    assert smooth_part(problem, now, y, z, BETA) == pytest.approx(augmented(problem, X, y, z, BETA))
    G = numerical_gradient(lambda V: augmented(problem, V, y, z, BETA), X)
    assert np.allclose(smooth_part_gradient(problem, now, y, z, BETA), G, atol=1e-6)

    mu = TAU / BETA
    v = problem.h.prox(y, mu)
    smoothed = problem.h.value(v) + np.sum((v - y) ** 2) / (2 * mu)

    def L(X):
        return augmented(problem, X, y, z, BETA) - problem.g.value(X) + smoothed

    assert lagrangian(problem, now, y, z, BETA, TAU) == pytest.approx(L(X))
    assert lagrangian_change(problem, now, new, y, z, BETA) == pytest.approx(L(X_new) - L(X))
    unsmoothed = augmented(problem, X, y, z, BETA) - problem.g.value(X) + problem.h.value(y)
    assert lagrangian(problem, now, y, z, BETA, 0.0) == pytest.approx(unsmoothed)


@pytest.mark.parametrize("name", ["plain l1, centred", "mcp of differences"])
def test_a_change_too_small_for_the_difference_of_two_values_keeps_its_digits(name):
    problem = PROBLEMS[name]
    rng, X, _, y, z = random_triple(problem, 0)
    D = problem.M.tangent(X, rng.standard_normal(X.shape))
    slope = np.sum(D * smooth_part_gradient(problem, problem.at(X), y, z, BETA))
    step = 1e-12
    change = lagrangian_change(problem, problem.at(X), problem.at(X + step * D), y, z, BETA)
    assert change == pytest.approx(step * slope, rel=1e-3)
