"""Time: long steps end with the run, short ones stay whole, and a method that is done ends the run."""

import sys
import time

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Seconds, Status, Stiefel, _deadline, solve
from orthoprox.maps import Matrix
from orthoprox.terms import L1, ExplainedVariance
from steps.checks import count_calls

B = np.random.default_rng(0).standard_normal((60, 40))


def test_loops_end_when_the_time_is_over_and_the_grace(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    _deadline.allow(2.0)
    try:
        for now[0], over in ((2.0, False), (2.0 + 0.9 * _deadline.GRACE, False), (2.01 + _deadline.GRACE, True)):
            assert _deadline.is_over() == over
    finally:
        _deadline.allow(None)
    assert not _deadline.is_over()


def test_the_solver_knows_how_much_is_left(monkeypatch):
    allowed = []
    monkeypatch.setattr(sys.modules["orthoprox.driver.solve"], "allow", allowed.append)
    problem = Problem.of(ExplainedVariance(B) + L1() @ Matrix(B[:20]), over=Stiefel(40, 3))
    solve(problem, "oadmm-ep", stop=Seconds(0.05))
    assert allowed[0] == 0.05  # for the start
    assert allowed[1] is allowed[-1] is None  # nothing outside the run sees a limit
    assert allowed[2] < 0.05 and allowed[2:-1] == sorted(allowed[2:-1], reverse=True)


@pytest.mark.parametrize("name", ["oadmm", "manial-1"])
@pytest.mark.parametrize("kind", ["multipliers", "projections"])
def test_a_step_that_has_no_time_left_computes_nothing(name, kind, monkeypatch):
    h = 2.0 * L1() @ Matrix(B[:20]) if kind == "multipliers" else 2.0 * L1()
    problem = Problem.of(ExplainedVariance(B) + h, over=Stiefel(40, 3))
    begun = solve(problem, name, seed=0, stop=Iterations(2))
    calls = count_calls(monkeypatch)
    begun.solver.step(problem, begun.state)
    in_time = len(calls)
    _deadline.allow(-1e9)
    try:
        state = begun.solver.step(problem, begun.state)
    finally:
        _deadline.allow(None)
    assert len(calls) - in_time <= 1 < in_time  # at most the product of a point that is measured
    assert float(problem.objective(begun.solver.point(state))) <= begun.objective + 1e-9 * abs(begun.objective)


def test_a_method_that_is_done_ends_the_run():
    began = time.perf_counter()
    result = solve(Problem.of(ExplainedVariance(B) + 20.0 * L1(), over=Stiefel(40, 3)), seed=0, stop=Seconds(600))
    assert result.status is Status.CONVERGED and result.solver.finished(result.state)
    assert time.perf_counter() - began < 300
