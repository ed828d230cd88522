"""Whole runs of OADMM in the small: warm starts, units, precision, and that nothing reached is lost."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Stiefel, named, solve
from orthoprox.models import compressed_modes, sparse_pca
from orthoprox.terms import L1, SCAD, ExplainedVariance, GroupL2, LargestK
from steps.cases import B, M, N, R
from steps.test_oadmm import CONCAVE, crit
from steps.test_oadmm_finish import K_SPARSE, L1_PROBLEM


def test_without_exploring_it_stays_near_its_start():
    for seed in range(3):
        start = solve(L1_PROBLEM, seed=seed, stop=Iterations(200) | Critical(1e-10))
        assert start.converged
        D = M.tangent(start.X, np.random.default_rng(90 + seed).standard_normal((N, R)))
        X0 = M.retract(start.X, 0.02 * D / np.linalg.norm(D))
        found = solve(L1_PROBLEM, named("oadmm", explore=0), X0, stop=Iterations(200) | Critical(1e-10))
        assert found.converged
        assert np.linalg.norm(found.X - start.X) < 1e-6  # there is one minimum near, and it is this one


@pytest.mark.parametrize("kind", ["l1", "l1 minus largest-k", "scad"])
@pytest.mark.parametrize("seed", range(3))
def test_the_scale_of_the_data_does_not_matter(kind, seed):
    D = np.random.default_rng(31).standard_normal((40, 20)) * 0.9 ** np.arange(20)
    over = Stiefel(20, 4)

    def run(c):
        """Steps, iterations within them and the value in units of the data's, up to a relative Crit of 1e-9."""
        penalty = {"l1": 0.2 * L1(), "l1 minus largest-k": 3.0 * L1() - 3.0 * LargestK(16), "scad": 0.4 * SCAD(0.3)}
        weighted = c * c * penalty[kind]
        problem = Problem.of(ExplainedVariance(c * D, 1 / 40) + weighted, over=over)

        def done(now):
            parts, scale = now.criticality_parts, np.linalg.norm(problem.f.gradient(now.X))
            return parts.stationarity + parts.dual <= 1e-9 * scale and parts.primal <= 1e-9

        result = solve(problem, "oadmm", over.random(seed), stop=Iterations(400) | done)
        assert result.iterations < 400
        return result.iterations, result.state.steps, result.objective / c**2

    steps, inner, value = run(1.0)
    for c in (1e-4, 1e4):
        other_steps, other_inner, other_value = run(c)
        assert abs(other_steps - steps) <= 0.2 * steps
        assert abs(other_inner - inner) <= 0.2 * inner
        assert other_value == pytest.approx(value, rel=1e-6)


def test_units_that_cause_no_rounding_change_nothing_at_all():
    """Newton steps in X: data times a power of two, the weight times its square."""

    def run(c):
        problem = compressed_modes(32, n_components=3, weight=0.1 * c**2, length=50 / c)
        state = named("oadmm").init(problem, problem.M.random(4))
        assert state.newton is not None
        for _ in range(12):
            state = named("oadmm").step(problem, state)
        return state

    here = run(1.0)
    for c in (2.0**-13, 2.0**13):
        there = run(c)
        assert there.steps == here.steps
        assert np.array_equal(there.now.X, here.now.X)
        assert there.newton.sigma == pytest.approx(here.newton.sigma * c**2)


@pytest.mark.parametrize("problem", [L1_PROBLEM, K_SPARSE, CONCAVE["mcp"]], ids=["l1", "k", "mcp"])
def test_what_has_been_reached_is_not_lost_again(problem):
    method = named("oadmm")
    state = method.init(problem, M.random(3))
    for _ in range(300):
        state = method.step(problem, state)
        if crit(problem, state) <= 64 * 2.0**-52 * np.linalg.norm(problem.f.gradient(state.now.X)):
            break
    assert state.t < 300
    later = state
    for _ in range(40):
        later = method.step(problem, later)
    assert later.t == state.t + 40
    assert later.paper.t == state.paper.t
    assert crit(problem, later) <= 64 * 2.0**-52 * np.linalg.norm(problem.f.gradient(state.now.X))
    assert np.count_nonzero(later.now.X) <= max(np.count_nonzero(state.now.X), 9)


def test_single_precision_stays_and_has_exact_zeros():
    for k in (None, 9):
        problem = sparse_pca(B.astype(np.float32), n_components=R, weight=0.3 if k is None else 6.0, k=k)
        result = solve(problem, "oadmm", stop=Iterations(100))
        state = result.state
        for array in (state.now.X, state.now.HX, state.y, state.z, result.X):
            assert array.dtype == np.float32
        assert 0 < np.count_nonzero(result.X) < N * R
        assert k is None or np.count_nonzero(result.X) <= k
        assert result.infeasibility < 1e-5
        assert result.criticality < 1e-4 * np.linalg.norm(problem.f.gradient(result.X))


def test_groups_minus_the_largest_entries_run_too():
    problem = Problem.of(ExplainedVariance(B, 0.1) - 0.2 * LargestK(8) + 0.3 * GroupL2(), over=M)
    result = solve(problem, stop=Iterations(200) | Critical(1e-6))
    assert result.converged
