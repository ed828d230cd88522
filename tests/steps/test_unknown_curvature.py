"""A smooth function that does not say how fast its gradient changes: what methods take instead."""

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, named, solve
from orthoprox.solvers._curvature import backtrack_lipschitz, descends, larger_lipschitz, local_lipschitz
from orthoprox.terms import L1, Smooth

M = Stiefel(8, 2)
TILT = np.arange(16.0).reshape(8, 2) / 7


def tilted(X):
    return np.sum(TILT * X), TILT


@pytest.mark.parametrize("name", ["madmm", "manial-2", "manpg", "manpg-ada", "obcd", "radmm", "socm", "spgm-rr"])
def test_a_linear_function_is_one_whether_or_not_it_says_so(name):
    silent, said = (Problem.of(Smooth(tilted, lipschitz=L) + 0.1 * L1(), over=M) for L in (None, 0.0))
    assert local_lipschitz(silent, M.random(0)) == 0.0
    found = [solve(problem, name, X0=M.random(0), stop=Iterations(25)).X for problem in (silent, said)]
    np.testing.assert_allclose(*found, atol=1e-12)


def bowl(X):
    """Linear at the origin of the first coordinate, steep beyond."""
    over = np.maximum(X[0, 0], 0.0)
    return -X[0, 0] + 40 * over**2, np.vstack([[[80 * over - 1.0, 0.0]], np.zeros((7, 2))])


def test_from_zero_the_curvature_that_is_met_is_taken():
    X = np.eye(8, 2, k=-3)
    f = Smooth(bowl)
    problem = Problem.of(f + 0.1 * L1(), over=M)
    assert local_lipschitz(problem, X - 0.1 * np.eye(8, 2)) == 0.0
    X_new = X + 0.5 * np.eye(8, 2)
    assert not descends(f, X, X_new, 0.0)
    L = larger_lipschitz(f, X, X_new, 0.0)
    assert L == pytest.approx(2 * 40 * 0.25 / 0.5)  # twice what f rises above its tangent, over the squared step
    assert descends(f, X, X_new, L * (1 + 1e-12)) and larger_lipschitz(f, X, X_new, 3.0) == 6.0
    reached, L = backtrack_lipschitz(f, X, lambda L: X + np.eye(8, 2) / (L + 1.0), 0.0)
    assert 0 < L < 81 and descends(f, X, reached, L)
    result = solve(problem, named("oadmm-ep", beta0=1.0), X0=X, stop=Iterations(400))
    assert result.objective < f.value(X) + 0.1 * 2 and result.state.L < 200
