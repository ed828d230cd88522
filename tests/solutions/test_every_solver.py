"""What must hold for every method in SOLVERS, whatever it does inside."""

import numpy as np
import pytest

from orthoprox import SOLVERS, Iterations, Problem, Recorder, UnsupportedProblem, named, solve
from orthoprox.maps import Matrix
from orthoprox.terms import L1, GroupL2, Quadratic
from steps.cases import NOT_LIPSCHITZ, B, C, M, N, R
from steps.cases import PROBLEMS as CASES
from steps.checks import takes

KINDS = ("plain l1, centred", "l1 minus largest-k", "groups of a matrix", "mcp of differences")
PROBLEMS = {kind: CASES[kind] for kind in KINDS} | NOT_LIPSCHITZ


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", SOLVERS)
def test_a_run_ends_at_a_feasible_point_with_its_own_objective(name, kind):
    problem = PROBLEMS[kind]
    if not takes(named(name), problem):
        sentence = f".*Lipschitz.*{type(problem.h).__name__}" if kind in NOT_LIPSCHITZ else ""
        with pytest.raises(UnsupportedProblem, match=f"^{name} {sentence}"):
            solve(problem, name, stop=Iterations(3))
        return
    start, kept = problem.M.random(5), problem.M.random(5)
    most = 8 if name == "oadmm" else 40  # its iterations are blocks of many steps
    result = solve(problem, name, start, stop=Iterations(most), record=Recorder(every=10))
    assert np.linalg.norm(result.X.T @ result.X - np.eye(R)) <= 1e-12 * np.sqrt(R)
    assert result.objective == pytest.approx(float(problem.objective(result.X)), rel=1e-12)
    assert result.objective < float(problem.objective(start))
    assert np.isfinite(result.criticality)
    assert result.y.shape == result.z.shape == problem.shape
    assert result.solver.name == name and np.array_equal(start, kept)  # it has not been written to


NOTHING = {
    "h of a map that vanishes": Problem(M=M, h=L1(), A=Matrix(np.zeros((5, N)))),
    "rows of a map that vanishes": Problem(M=M, h=GroupL2(), A=Matrix(np.zeros((5, N)))),
    "no term at all": Problem(M=M),
}


@pytest.mark.parametrize("kind", NOTHING)
@pytest.mark.parametrize("name", SOLVERS)
def test_where_there_is_nothing_to_minimise_every_point_is_a_solution(name, kind):
    problem, start = NOTHING[kind], M.random(5)
    if not takes(named(name), problem):
        return
    result = solve(problem, name, start)
    assert result.converged and result.criticality == 0
    np.testing.assert_allclose(result.X, start, atol=1e-12)


def test_a_penalty_of_weight_zero_is_none():
    f = Quadratic(B.T @ B)
    least = np.sum(np.linalg.eigvalsh(B.T @ B)[:R]) / 2
    for problem in (Problem(M=M, f=f, h=L1(0.0)), Problem(M=M, f=f, h=L1(0.0), A=Matrix(C))):
        assert solve(problem).objective == pytest.approx(least)
