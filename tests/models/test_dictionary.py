"""Orthogonal dictionaries: values and eliminated codes. That planted atoms are found is tested with the estimator."""

import math

import numpy as np
import pytest
from scipy.stats import ortho_group

from orthoprox.models import orthogonal_dictionary


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
