"""Orthogonal dictionaries: planted atoms are found; the codes that were eliminated are the best ones."""

import math

import numpy as np
import pytest
from scipy.stats import ortho_group

from orthoprox import Critical, Iterations, solve
from orthoprox.models import orthogonal_dictionary

N, M = 8, 400
ATOMS = ortho_group.rvs(N, random_state=5)


def samples(share: float = 0.2, noise: float = 0.0) -> np.ndarray:
    """Few atoms in each sample, with normal coefficients."""
    rng = np.random.default_rng(6)
    C = rng.standard_normal((M, N)) * (rng.random((M, N)) < share)
    return C @ ATOMS + noise * rng.standard_normal((M, N))


def missed(X: np.ndarray) -> float:
    """How far the atoms are from the planted ones up to order and sign; two that are the same miss one."""
    P = np.abs(ATOMS @ X)
    return float(max(np.max(1 - P.max(axis=0)), np.max(1 - P.max(axis=1))))


def test_values_from_their_definitions(rng):
    Y, X = rng.standard_normal((30, 5)), ortho_group.rvs(5, random_state=1)[:, :3]
    C = Y @ X
    l1, l4 = (orthogonal_dictionary(Y, n_components=3, objective=name) for name in ("l1", "l4"))
    assert math.isclose(l1.objective(X), np.sum(np.abs(C)) / 30, rel_tol=1e-13)
    assert math.isclose(l4.objective(X), -np.sum(C**4) / 120, rel_tol=1e-13)
    assert np.allclose(l4.g.subgradient(X), Y.T @ C**3 / 30)


@pytest.mark.parametrize("r", [3, 5])
def test_codes_are_eliminated_exactly(r, rng):
    Y, X, w = rng.standard_normal((30, 5)), ortho_group.rvs(5, random_state=1)[:, :r], 0.4
    problem = orthogonal_dictionary(Y, n_components=r, objective="codes", weight=w)

    def cost(C: np.ndarray) -> float:
        return float(np.sum((Y - C @ X.T) ** 2) / 60 + w * np.sum(np.abs(C)) / 30)

    best = np.sign(Y @ X) * np.maximum(np.abs(Y @ X) - w, 0)
    assert math.isclose(problem.objective(X), cost(best), rel_tol=1e-12)
    for scale in (1e-3, 0.1, 1.0):
        assert problem.objective(X) < cost(best + scale * rng.standard_normal(best.shape))


@pytest.mark.parametrize("seed", range(3))
def test_exactly_sparse_samples_give_the_atoms_exactly(seed):
    result = solve(orthogonal_dictionary(samples(), n_components=N), seed=seed, stop=Iterations(60) | Critical(1e-9))
    assert missed(result.X) < 1e-10


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("objective", "weight", "noise"), [("l4", None, 0.0), ("codes", 0.1, 0.0), ("codes", 0.2, 0.05)]
)
def test_the_other_objectives_come_near(objective, weight, noise, seed):
    # Their minimisers are off by what a sample of this size says of fourth powers, or by the shrinkage: 1 - cos < 0.02.
    problem = orthogonal_dictionary(samples(noise=noise), n_components=N, objective=objective, weight=weight)
    result = solve(problem, seed=seed, stop=Iterations(60) | Critical(1e-6))
    assert result.converged and missed(result.X) < 0.02
    assert result.objective <= problem.objective(ATOMS.T)
