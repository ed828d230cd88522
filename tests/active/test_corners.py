"""Corners, where two columns meet in one row: the cheapest way out of all, and runs that used to stay in one."""

import itertools

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Status, Stiefel, solve
from orthoprox.active import resolve_corners
from orthoprox.terms import L1, ExplainedVariance


def has_corner(mask):
    return bool(np.any(np.triu((mask.T @ mask) == 1, 1)))


@pytest.mark.parametrize("seed", range(8))
def test_the_supports_are_the_cheapest_without_a_corner(seed):
    rng = np.random.default_rng(seed)
    Y = rng.standard_normal((5, 3)) * (rng.random((5, 3)) < 0.5)
    Y[np.arange(3), np.arange(3)] = 1.0  # no column is empty
    entries = np.argwhere(Y != 0)
    losses = []
    for gone in itertools.product([False, True], repeat=len(entries)):
        mask = (Y != 0) * 1.0
        for (i, j), leaves in zip(entries, gone, strict=True):
            mask[i, j] -= leaves
        if mask.any(axis=0).all() and not has_corner(mask):
            losses.append(np.sum(Y[(Y != 0) & (mask == 0)] ** 2))
    found = resolve_corners(Y, (Y != 0) * 1.0, most=3)
    assert all(not has_corner(mask) and mask.any(axis=0).all() for mask in found)
    lost = [np.sum(Y[(Y != 0) & (mask == 0)] ** 2) for mask in found]
    assert lost == sorted(lost) and lost[0] == pytest.approx(min(losses))


def test_a_support_without_corners_stays():
    support = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 1.0]])
    assert resolve_corners(support, support, most=4)[0] is support


def test_a_run_leaves_its_corner():
    """Crit stood at 1e-5 of the mean eigenvalue for good, nine tenths of the entries small and none of them zero."""
    rng = np.random.default_rng(2)
    loadings = rng.standard_normal((600, 25)), rng.standard_normal((25, 200)) * (rng.random((25, 200)) < 0.1)
    D = loadings[0] @ loadings[1] + 0.5 * rng.standard_normal((600, 200))
    D = D - D.mean(axis=0)
    D = D / np.linalg.norm(D, axis=0)
    mean = np.linalg.eigvalsh(D.T @ D / 600)[-8:].mean()
    problem = Problem.of(ExplainedVariance(D, 1 / 600) + 0.08 * mean * L1(), over=Stiefel(200, 8))
    result = solve(problem, seed=1, stop=Iterations(400) | Critical(1e-9 * mean))
    assert result.status is Status.CONVERGED
    assert np.mean(result.X == 0) > 0.85
