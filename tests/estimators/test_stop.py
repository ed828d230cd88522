"""When a fit stops: every part of Crit counts, units do not."""

from types import SimpleNamespace

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Status, Stiefel, named, solve
from orthoprox._fields import replace
from orthoprox.estimators import _stages
from orthoprox.estimators._stages import Stage, run_stages, status_after
from orthoprox.estimators._stop import FlatObjective, ScaledCritical, is_critical
from orthoprox.models import sparse_pca
from orthoprox.problem import Certificate, criticality
from orthoprox.terms import L1

D = np.random.default_rng(41).standard_normal((30, 8))


def small(problem, X, y, z, tolerance):
    at = Certificate(problem.at(X), y, z)
    return is_critical(problem, at, criticality(problem, at), tolerance)


@pytest.fixture(scope="module")
def solved():
    problem = sparse_pca(D, n_components=2, weight=0.1)
    return problem, solve(problem, stop=Iterations(300) | Critical(1e-10))


def test_a_solution_passes_and_any_part_alone_fails_it(solved):
    problem, result = solved
    X, y, z = result.X, result.y, result.z
    assert small(problem, X, y, z, 1e-8)
    assert not small(problem, X, y + 1e-3 * np.sign(y), z, 1e-4)  # primal
    assert not small(problem, X, y, 1.01 * z, 1e-4)  # dual: the slope of h at nonzeros is the weight
    other = problem.M.random(5)
    assert not small(problem, other, other, 0.1 * np.sign(other), 1e-4)  # stationarity


def test_without_f_the_subgradient_is_the_measure():
    problem = Problem(M=Stiefel(8, 2), h=L1(1e-9))
    X = problem.M.random(7)
    assert not small(problem, X, X, 1e-9 * np.sign(X), 1e-3)
    corner = np.eye(8, 2)
    assert small(problem, corner, corner, 1e-9 * corner, 1e-3)


def test_no_tolerance_means_never_and_a_negative_one_is_refused(solved):
    problem, result = solved
    run = solve(problem, X0=result.X, stop=Iterations(3) | ScaledCritical(0.0))
    assert run.status is Status.ITERATIONS
    assert solve(problem, resume=result.state, stop=Iterations(10**6) | ScaledCritical(1e-6)).converged
    with pytest.raises(ValueError, match="tol must not be negative"):
        ScaledCritical(-1.0)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_still_when_the_objective_has_not_moved_for_long_enough(unit):
    def now(values):
        *before, last = [unit * value for value in values]
        return SimpleNamespace(recent=lambda _, count: before[-count:], objective=last)

    rule = FlatObjective(window=3, tolerance=1e-6)
    assert rule(now([5.0, 2.0, 2.0, 2.0, 2.0 + 1e-7])) is Status.STALLED
    assert rule(now([2.0, 2.0, 2.0])) is None  # too short
    assert rule(now([5.0, 2.1, 2.0, 2.0, 2.0])) is None
    assert rule(now([2.0, 2.0, 2.0, 2.0, 2.0 - 1e-4])) is None


@pytest.mark.parametrize("run", Status)
def test_a_finished_point_does_not_cover_what_ended_the_run(run):
    own_end = {Status.CONVERGED: Status.UNCONFIRMED, Status.STALLED: Status.STALLED}
    assert status_after(run, critical=True) is (Status.CONVERGED if run in own_end else run)
    assert status_after(run, critical=False) is own_end.get(run, run)


def test_after_ctrl_c_in_a_stage_no_other_begins(monkeypatch):
    problem, begun = sparse_pca(D, n_components=2, weight=0.1), []

    def solved(problem, solver, X0, *, stop, **rest):
        begun.append(stop)
        result = solve(problem, solver, X0, stop=Iterations(1))
        return replace(result, status=Status.INTERRUPTED)

    monkeypatch.setattr(_stages, "solve", solved)
    stages = [Stage(problem, named("oadmm-ep", beta0=5.0), Iterations(most)) for most in (7, 8)]
    result = run_stages(stages, problem.M.random(0), lambda result: result)
    assert [rule.most for rule in begun] == [7, 0]  # the last one measures the point
    assert result.status is Status.INTERRUPTED
