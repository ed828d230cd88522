"""What the default solver reaches: sparse PCA of four kinds, modes, subspaces with outliers, dictionaries."""

import functools

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Recorder, Stiefel, solve
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, MCP, SCAD, ExplainedVariance


def data(n, seed):
    """50 samples with centred columns of unit length, as in the published comparisons."""
    B = np.random.default_rng(seed).standard_normal((50, n))
    B = B - B.mean(axis=0)
    return B / np.linalg.norm(B, axis=0)


def solved(problem, seed=0, most=400, crit=1e-6):
    result = solve(problem, X0=problem.M.random(100 + seed), stop=Iterations(most) | Critical(crit))
    assert result.solver.name == "oadmm"  # what a user gets who chooses nothing
    assert result.converged
    assert result.infeasibility < 1e-12
    assert result.objective == pytest.approx(float(problem.objective(result.X)), rel=1e-12)
    return result


def variance(D, X):
    """Relative to that of as many principal components."""
    largest = np.linalg.eigvalsh(D.T @ D)[::-1][: X.shape[1]]
    return float(np.sum((D @ X) ** 2) / np.sum(largest))


# n, r, weight: two synthetic instances, and starts
@pytest.mark.parametrize(("n", "r", "weight"), [(150, 5, 0.6), (200, 10, 0.4)])
def test_l1_sparse_pca(n, r, weight):
    ours, theirs = [], []
    for seed in range(2):
        problem = Problem.of(ExplainedVariance(data(n, seed), 2.0) + weight * L1(), over=Stiefel(n, r))
        result = solved(problem, seed)
        zeros = np.count_nonzero(result.X == 0)
        assert zeros > 0.3 * n * r
        assert np.count_nonzero(result.y == 0) == zeros
        ours.append(result.objective)
        stop, record = Iterations(60) | Critical(1e-4), Recorder(every=10)
        theirs.append(solve(problem, "manial-1", problem.M.random(100 + seed), stop=stop, record=record).objective)
    assert all(a <= b + 0.02 * abs(b) for a, b in zip(ours, theirs, strict=True))


@functools.cache
def digits():
    from sklearn.datasets import load_digits

    D = load_digits().data
    D = D[:, D.std(axis=0) > 0]
    D = D - D.mean(axis=0)
    return D / np.linalg.norm(D, axis=0)


@pytest.mark.parametrize("share", [0.1, 0.2])
def test_l1_minus_largest_k_on_digits(share):
    D, r = digits(), 6
    k = int(share * D.shape[1] * r)
    problem = sparse_pca(D, n_components=r, weight=50.0, k=k)
    result = solved(problem)
    assert 0.9 * k <= np.count_nonzero(result.X) <= k
    assert problem.h.value(result.X) - problem.g.value(result.X) == pytest.approx(0.0, abs=1e-10)
    papers = solve(problem, "oadmm-ep", problem.M.random(100), stop=Iterations(2000), record=Recorder(every=2000))
    assert variance(D, result.X) > variance(D, papers.X) + 0.2
    assert result.objective < papers.objective


@pytest.mark.parametrize("penalty", [0.4 * MCP(0.5, 3.0), 0.3 * MCP(0.8, 2.0), 0.5 * SCAD(0.4, 3.7)], ids=str)
def test_weakly_convex_penalties(penalty):
    problem = Problem.of(ExplainedVariance(data(120, 5), 2.0) + penalty, over=Stiefel(120, 5))
    result = solved(problem)
    assert result.objective < float(problem.objective(problem.M.random(100)))


BARS = {"mnist": (0.88, 0.79), "tdt2": (0.975, 0.95), "sector": (0.994, 0.985), "randn": (0.82, 0.62)}
"""The least variance relative to that of PCA, with 20 % and with 10 % of the entries."""


@pytest.mark.slow
@pytest.mark.parametrize("name", BARS)
@pytest.mark.parametrize("which", [0, 1], ids=["fifth", "tenth"])
def test_the_papers_problem_keeps_most_of_the_variance(name, which, shared_data):
    from orthoprox.datasets import load

    D = load(f"{name}-1500-500", seed=0, folder=shared_data).X
    k = (2000, 1000)[which]
    problem = sparse_pca(D, n_components=20, weight=50.0, k=k)
    result = solve(problem, seed=7, stop=Iterations(40) | Critical(1e-6))
    assert variance(D, result.X) >= BARS[name][which]
    assert np.count_nonzero(result.X) <= k
    assert result.infeasibility < 1e-12
    assert result.converged
