"""The augmented Lagrangian of equation (5); its values and slopes are those of the steps in test_oadmm_variants.py."""

import numpy as np
import pytest

from orthoprox.solvers._augmented import lagrangian_change, smooth_part_gradient
from steps.cases import PROBLEMS, random_triple

BETA = 11.0


@pytest.mark.parametrize("name", ["plain l1, centred", "mcp of differences"])
def test_a_change_too_small_for_the_difference_of_two_values_keeps_its_digits(name):
    problem = PROBLEMS[name]
    rng, X, _, y, z = random_triple(problem, 0)
    D = problem.M.tangent(X, rng.standard_normal(X.shape))
    slope = np.sum(D * smooth_part_gradient(problem, problem.at(X), y, z, BETA))
    step = 1e-12
    change = lagrangian_change(problem, problem.at(X), problem.at(X + step * D), y, z, BETA)
    assert change == pytest.approx(step * slope, rel=1e-3)
