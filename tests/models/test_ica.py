"""Range-based ICA: the planted sources are found, the contrast falls, the index means what it says."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.stats import ortho_group

from orthoprox import Critical, Iterations, solve
from orthoprox.models import amari_index, least_range, range_ica


def white(m: int, n: int, seed: int) -> np.ndarray:
    """Uniform sources, made white in the sample by the smallest change."""
    S = np.random.default_rng(seed).uniform(-1, 1, (m, n))
    U, _, Vt = np.linalg.svd(S - S.mean(axis=0), full_matrices=False)
    return math.sqrt(m) * U @ Vt


def grid(levels: int, n: int) -> np.ndarray:
    """Every combination of equally spaced values: sources that are independent and white in the sample as well."""
    s = np.linspace(-1, 1, levels)
    return np.stack(np.meshgrid(*[s] * n), axis=-1).reshape(-1, n) / np.std(s)


def test_the_objective_is_the_sum_of_the_ranges(rng):
    Z = white(40, 3, 5)
    problem, X = range_ica(Z, n_components=2, order=4), ortho_group.rvs(3, random_state=2)[:, :2]
    Y = np.sort(Z @ X, axis=0)
    assert math.isclose(problem.objective(X), np.sum(Y[-4:].mean(axis=0) - Y[:4].mean(axis=0)), rel_tol=1e-13)
    assert problem.notes == range_ica(csr_array(Z), n_components=2).notes == () and problem.M.r == 2
    assert "not white" in range_ica(1.1 * Z, n_components=2).notes[0]


@pytest.mark.parametrize("seed", range(4))
def test_planted_sources_are_found_from_any_start(seed):
    Q = ortho_group.rvs(3, random_state=seed)
    problem = range_ica(grid(9, 3) @ Q.T, n_components=3)
    result = solve(problem, seed=seed, stop=Iterations(60) | Critical(1e-8))
    P = np.abs(Q.T @ result.X)
    assert np.allclose(np.sort(P, axis=0), [[0] * 3, [0] * 3, [1] * 3], atol=1e-6)
    assert amari_index(Q.T @ result.X) < 1e-6


def test_one_source_is_found_and_of_several_starts_the_one_of_smallest_range():
    S = grid(7, 3)
    S[:, 2] = np.sign(S[:, 2])  # two values, and zero: a smaller range at the same variance
    S[:, 2] /= np.std(S[:, 2])
    Q = ortho_group.rvs(3, random_state=9)
    problem = range_ica(S @ Q.T, n_components=1)
    results = [solve(problem, seed=seed, stop=Iterations(60) | Critical(1e-8)) for seed in range(6)]
    for result in results:
        assert np.allclose(np.sort(np.abs(Q.T @ result.X).ravel()), [0, 0, 1], atol=1e-6)
    best = min(results, key=lambda result: result.objective)
    assert abs((Q.T @ best.X)[2, 0]) > 0.999


def contrast(Y: np.ndarray, T: np.ndarray) -> float:
    return float(np.sum(np.log(np.ptp(Y @ T, axis=0))) - np.linalg.slogdet(T)[1])


def test_refining_finds_what_whitening_hides():
    S = np.random.default_rng(8).uniform(-1, 1, (2000, 4))
    W = np.linalg.inv(np.linalg.cholesky(np.cov(S.T)).T)  # white in the sample: off the sources by their correlations
    T = least_range(S @ W)
    assert contrast(S @ W, T) < contrast(S @ W, np.eye(4))
    assert amari_index(W @ T) < 0.3 * amari_index(W)
    assert least_range(S[:, :1]) == [[1.0]]
    single = least_range(S[:100].astype(np.float32))
    assert single.dtype == np.float32 and np.all(np.isfinite(single))
    assert np.allclose(least_range(grid(9, 2)), np.eye(2), atol=1e-6)  # separated already


@pytest.mark.parametrize("seed", [2, 4, 6])
def test_the_contrast_falls_from_far_away_too_and_no_source_is_lost(seed):
    rng = np.random.default_rng(seed)
    Y = rng.uniform(-1, 1, (200, 3)) @ rng.standard_normal((3, 3))
    T = least_range(Y)
    assert contrast(Y, T) < contrast(Y, np.eye(3)) and np.linalg.cond(T) < 1e3


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_rounds_separate_what_one_alone_does_not(seed):
    rng = np.random.default_rng(seed)
    S, P = rng.uniform(-1, 1, (300, 3)), np.eye(3) + 0.3 * rng.standard_normal((3, 3))
    assert amari_index(P @ least_range(S @ P)) < 9 / 300 < 0.15 * amari_index(P)


def test_the_index_of_amari(rng):
    P = rng.standard_normal((4, 4))
    assert amari_index(np.eye(3)[:, [1, 2, 0]] * [2.0, -1.0, 0.1]) == 0
    assert 0 < amari_index(P) < 1
    assert math.isclose(amari_index(P[:, [3, 1, 0, 2]][[1, 0, 3, 2]] * -7.0), amari_index(P))
    # by hand: rows (1 + 1/2) and (1/4 + 1), columns (1 + 1/4) and (1/2 + 1), less four, of at most four
    assert math.isclose(amari_index(np.array([[2.0, 1.0], [-0.5, 2.0]])), (1.5 + 1.25 + 1.25 + 1.5 - 4) / 4)
