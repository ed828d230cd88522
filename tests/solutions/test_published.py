"""Published values: compressed modes on 128 points (Deng and Peng, MIALM, stored solutions), and gene expressions."""

import functools

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Recorder, Status, Stiefel, named, solve
from orthoprox.models import compressed_modes
from orthoprox.terms import L1, ExplainedVariance

MODES = {0.05: 2.936859, 0.10: 4.814427}
# Method, settings, iterations, and how far the best of three starts may be above the published value.
RUNS = {
    **{name: (name, {}, 10_000, 3e-3) for name in ("oadmm-ep", "oadmm-rr", "spgm-ep", "spgm-rr")},
    **{f"{name}, oadmm": (name, {"schedule": "oadmm"}, 10_000, 3e-3) for name in ("spgm-ep", "spgm-rr")},
    **{name: (name, {}, 10_000, 1e-4) for name in ("radmm", "socm")},
    **{name: (name, {}, 5000, 1e-4) for name in ("manpg", "manpg-ada")},
    "madmm": ("madmm", {}, 300, 3e-4),
    "manial-1": ("manial-1", {}, 60, 1e-4),
    "manial-2": ("manial-2", {}, 20, 1e-4),
}


def moved(problem, seed):
    """A random point moved by 500 subgradient steps, as in the published comparisons."""
    return solve(problem, "subgradient", seed=seed, stop=Iterations(500), record=Recorder(every=500)).X


@pytest.mark.slow
@pytest.mark.parametrize("case", RUNS)
@pytest.mark.parametrize("weight", MODES)
def test_the_published_modes_are_reached(case, weight):
    # Best of three starts, as the published comparison has it: single starts may still be one per cent away.
    name, settings, most, above = RUNS[case]
    problem = compressed_modes(128, n_components=10, weight=weight)
    settings = {"beta0": problem.f.lipschitz} if name.startswith("oadmm") else settings
    best = np.inf
    for seed in range(3):
        start, record = moved(problem, seed), Recorder(every=5000)
        result = solve(problem, named(name, **settings), start, stop=Iterations(most), record=record)
        assert result.infeasibility < 1e-12
        best = min(best, result.objective)
    assert best < MODES[weight] * (1 + above)


@pytest.mark.parametrize("weight", [0.05, pytest.param(0.10, marks=pytest.mark.slow)])
def test_the_default_solver_needs_no_such_start(weight):
    problem = compressed_modes(128, n_components=10, weight=weight)
    runs = [solve(problem, seed=seed, stop=Iterations(60), record=Recorder(every=60)) for seed in range(3)]
    assert min(run.objective for run in runs) <= MODES[weight] * (1 + 1e-5)
    assert max(run.infeasibility for run in runs) < 1e-12


def test_the_quadratic_form_is_that_of_the_second_difference(rng):
    n, dx = 16, 50 / 16
    H = (2 * np.eye(n) - np.roll(np.eye(n), 1, axis=0) - np.roll(np.eye(n), -1, axis=0)) / (2 * dx**2)
    problem = compressed_modes(n, n_components=3, weight=0.1)
    X = rng.standard_normal((n, 3))
    assert problem.f.value(X) == pytest.approx(np.trace(X.T @ H @ X))
    assert np.allclose(problem.f.gradient(X), 2 * H @ X)
    assert problem.f.lipschitz == pytest.approx(4 / dx**2)
    assert problem.f.lipschitz >= np.linalg.norm(2 * H, 2) * (1 - 1e-14)  # which is rounded
    assert problem.objective(X) == pytest.approx(np.trace(X.T @ H @ X) + 0.1 * np.abs(X).sum())


FILES = {"arabidopsis": "arabidopsis_118x834.npz", "leukemia": "leukemia_72x1255.npz"}
GENES = {  # tables of the ManIAL paper
    ("arabidopsis", 10, 0.4): -481.1,
    ("arabidopsis", 10, 0.6): -442.7,
    ("arabidopsis", 20, 0.4): -509.3,
    ("leukemia", 10, 0.4): -657.8,
    ("leukemia", 20, 0.4): -728.2,
}
LIMITS = {"oadmm": 400, "socm": 20_000, "madmm": 10_000, "radmm": 20_000, "manpg": 20_000, "manpg-ada": 5000}
LIMITS |= {"manial-1": 100, "manial-2": 15}
"""Iterations in a run, at most. Those of OADMM and ManIAL are much longer than the others'."""
STARTS = 5


@functools.cache
def problem_of(file, r, weight):
    """-tr(X'B'BX) + w |X|_1 with centred columns of unit length (a zero column stays zero)."""
    B = np.load(file)["X"]
    B = B - B.mean(axis=0)
    sizes = np.linalg.norm(B, axis=0)
    B = B / np.where(sizes > 0, sizes, 1.0)
    return Problem.of(ExplainedVariance(B, weight=2.0) + weight * L1(), over=Stiefel(B.shape[1], r))


@functools.cache
def start_of(file, r, weight, seed):
    return moved(problem_of(file, r, weight), seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("row", GENES, ids=lambda row: "-".join(map(str, row)))
def test_the_published_value_is_reached_from_one_of_five_starts(row, name, shared_data):
    data, r, weight = row
    case = (shared_data / FILES[data], r, weight)
    target, every = GENES[row] * (1 - 1e-3), 1 if name.startswith("manial") else 20
    problem = problem_of(*case)

    def low_enough(now):
        return now.t % every == 0 and now.objective <= target

    for seed in range(STARTS):
        stop = Iterations(LIMITS[name])
        record = Recorder(every=1000)
        result = solve(problem, name, start_of(*case, seed), stop=stop, record=record, observers=[low_enough])
        if result.status is Status.STOPPED:
            break
    assert result.objective <= target
    assert problem.objective(result.X) == pytest.approx(result.objective, rel=1e-12)
    assert result.infeasibility < 1e-12 * np.sqrt(r)
