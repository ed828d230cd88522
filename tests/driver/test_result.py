"""What a result tells."""

import dataclasses

import numpy as np
import pytest

from driver.helpers import M
from orthoprox import Critical, Iterations, Problem, Seconds, Snapshot, Status, solve
from orthoprox.problem import Certificate, Criticality, criticality
from orthoprox.solvers import OADMMEP
from orthoprox.solvers._base import Measured
from orthoprox.terms import L1, Quadratic
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["groups of a matrix"]


@pytest.fixture(scope="module", params=["oadmm-ep", "oadmm-rr", "subgradient"])
def result(request):
    return solve(PROBLEM, request.param, stop=Iterations(25))


def test_it_answers_to_the_names_of_scipy(result):
    assert result.x is result.X
    assert result.fun == result.objective
    assert result.nit == result.iterations == 25
    assert result.success is result.converged is False
    assert result.message == result.status.value == "stopped at the iteration limit"
    assert result.maxcv == result.infeasibility
    good = solve(PROBLEM, stop=Critical(1e9))
    assert good.success is good.converged is True
    assert good.message.startswith("converged")


def test_its_numbers_are_those_of_its_triple(result):
    assert result.objective == pytest.approx(float(PROBLEM.objective(result.X)), rel=1e-13)
    point = PROBLEM.at(result.X)
    parts = criticality(PROBLEM, Certificate(point, result.y, result.z))
    assert result.criticality_parts == pytest.approx(parts, rel=1e-10, abs=1e-13)
    assert result.criticality == sum(result.criticality_parts)
    assert result.infeasibility == pytest.approx(np.linalg.norm(result.X.T @ result.X - np.eye(3)))
    assert result.infeasibility < 1e-13
    assert result.y.shape == result.z.shape == PROBLEM.shape
    for name in ("objective", "criticality", "infeasibility", "seconds"):
        assert result.history[name][-1] == pytest.approx(getattr(result, name), rel=1e-10)


def test_it_prints_as_a_short_summary(result):
    lines = repr(result).splitlines()
    assert lines[0] == f"{result.solver.name} on 9 x 3: stopped at the iteration limit"
    assert lines[1] == f"  objective      {result.objective:.10g}"
    assert lines[2].startswith(f"  criticality    {result.criticality:.3e}  (primal ")
    assert f"stationarity {result.criticality_parts.stationarity:.1e})" in lines[2]
    assert lines[3] == f"  infeasibility  {result.infeasibility:.1e}"
    assert lines[4] == f"  iterations     25 in {result.seconds:.3g} s"
    assert lines[5] == "  start          random" and len(lines) == 6


def test_notes_of_the_problem_and_of_the_start_are_repeated():
    problem = Problem(M=M, f=Quadratic(np.eye(9)), h=L1(), notes=("mind the gap",))
    result = solve(problem, X0=2 * M.random(0), stop=Iterations(1))
    assert result.notes[0] == "mind the gap"
    assert "off the manifold" in result.notes[1]
    assert repr(result).splitlines()[6] == "  steps          multipliers, by Newton's method"
    assert repr(result).splitlines()[7:] == [f"  note: {note}" for note in result.notes]
    assert problem.notes == ("mind the gap",)


class Growing(OADMMEP):
    """Reports X longer than it is."""

    def certificate(self, problem, state):
        found = super().certificate(problem, state)
        return Certificate(problem.at(1.01 * found.point.X), found.y, found.z)


def test_a_method_that_leaves_the_manifold_is_told_of():
    (note,) = solve(PROBLEM, Growing(), stop=Iterations(3)).notes
    assert note == "X is off the manifold (|X'X - I| = 3.5e-02): do not compare its objective or Crit"


def test_it_cannot_be_changed_and_holds_no_data(result):
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.objective = 0.0
    assert not any(isinstance(getattr(result, field.name), Problem) for field in dataclasses.fields(result))


def test_the_seed_decides_the_start_and_nothing_else():
    a, b, c = (solve(PROBLEM, stop=Iterations(1), seed=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(a.X, b.X)
    assert not np.allclose(a.X, c.X)
    np.testing.assert_array_equal(solve(PROBLEM, X0=M.random(1, like=PROBLEM.like), stop=Iterations(1)).X, c.X)


class Measuring(OADMMEP):
    """A method whose step has measured its state already, or says so."""

    def measured(self, state):
        return Measured(-1.5, Criticality(0.25, 0.5, 1.0)) if state.t else None


def test_what_the_method_has_measured_is_not_computed_again(monkeypatch):
    calls, solver = [], Measuring(beta0=5.0)
    original = type(PROBLEM.f).gradient_at
    monkeypatch.setattr(type(PROBLEM.f), "gradient_at", lambda *a: calls.append(1) or original(*a))
    first = solver.init(PROBLEM, M.random(0, like=PROBLEM.like))
    second = solver.step(PROBLEM, first)
    calls.clear()
    now = Snapshot(PROBLEM, solver, second, 1, 0.0)
    assert (now.objective, now.criticality, now.criticality_parts.dual) == (-1.5, 1.75, 0.5)
    assert calls == []
    now = Snapshot(PROBLEM, solver, first, 0, 0.0)
    assert now.objective == PROBLEM.objective(first.now)
    assert now.criticality == criticality(PROBLEM, solver.certificate(PROBLEM, first)).total == now.criticality
    assert len(calls) == 2  # one of them is ours
    assert now.relative_criticality_parts.total < now.criticality
    assert (now.recent("objective", 3), len(now.history), now.limit) == ([], 0, None)


def test_the_result_is_measured_afresh_whatever_the_method_has_measured():
    result = solve(PROBLEM, Measuring(beta0=5.0), stop=Iterations(4))
    assert result.history.objective.tolist()[1:] == [-1.5] * 4
    assert result.objective == PROBLEM.objective(result.X)
    fresh = criticality(PROBLEM, Certificate(PROBLEM.at(result.X), result.y, result.z))
    assert result.criticality_parts == fresh
    assert result.X is result.state.now.X


@pytest.mark.parametrize(("tolerance", "status"), [(1.8, Status.UNCONFIRMED), (100.0, Status.CONVERGED)])
def test_success_stands_only_where_a_fresh_measurement_confirms_it(tolerance, status):
    rule = Iterations(10) & Critical(tolerance)
    result = solve(PROBLEM, Measuring(beta0=5.0), stop=rule)
    assert (result.status, result.converged) == (status, status is Status.CONVERGED)
    assert (result.criticality > tolerance) is (status is Status.UNCONFIRMED)
    both = solve(PROBLEM, Measuring(beta0=5.0), stop=rule | Iterations(10))
    assert both.status is (Status.ITERATIONS if status is Status.UNCONFIRMED else status)


@pytest.mark.parametrize("stop", [Critical(1e-7, relative=True), Seconds(60)])
@pytest.mark.parametrize("unit", [1.0, 2.0**-100])
def test_a_method_that_calls_itself_done_is_measured_too(unit, stop):
    class Done(OADMMEP):
        """At its first step, with numbers that are too good but for the primal part."""

        def certificate(self, problem, state):
            return Certificate(state.now, state.now.AX, 0.0 * state.now.AX)

        def measured(self, state):
            return Measured(0.0, Criticality(0.0, 0.0, 0.0)) if state.t else None

        def finished(self, state):
            return state.t == 1

    f, h = unit * Quadratic(np.diag(np.arange(9.0))), unit * L1()
    result = solve(Problem(M=M, f=f, h=h), Done(beta0=5.0 * unit), stop=stop | Iterations(5))
    assert (result.iterations, result.status) == (1, Status.UNCONFIRMED)


def test_an_interrupt_while_the_result_is_measured_loses_nothing(monkeypatch):
    def interrupted(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Snapshot, "remeasure", interrupted)
    result = solve(PROBLEM, stop=Iterations(3))
    assert (result.status, result.iterations) == (Status.INTERRUPTED, 3)
    assert result.objective == result.history.objective[-1]
