"""The clock and the deadline, the users' callbacks, the progress bar, and iterate."""

import io
import itertools
import re
import sys
import time
from collections.abc import Callable
from typing import ClassVar

import numpy as np
import pytest

from driver.helpers import M, with_prox
from orthoprox import Iterations, Problem, Progress, Recorder, Seconds, Status, _deadline, iterate, named, solve
from orthoprox.maps import Matrix
from orthoprox.solvers import OADMMEP
from orthoprox.terms import L1, ExplainedVariance
from steps.cases import PROBLEMS
from steps.checks import count_calls

PROBLEM = PROBLEMS["l1 minus largest-k"]
D = np.random.default_rng(0).standard_normal((60, 40))


class Clock:
    """A clock that moves only when told to, so that no test depends on how busy the machine is."""

    def __init__(self):
        self.now = 100.0

    def perf_counter(self):
        return self.now

    def takes(self, seconds):
        """Something during which so much time passes."""

        def happens(*_):
            self.now += seconds

        return happens


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(sys.modules["orthoprox.driver.solve"], "time", clock)  # the name is also a function's
    return clock


class Steps(OADMMEP):
    """The method, with a step that takes as long as it is told."""

    happens: ClassVar[Callable[[], None]]

    def step(self, problem, state):
        self.happens()
        return super().step(problem, state)


def lasting(clock, seconds):
    """A method whose step takes so long."""
    return type("Lasting", (Steps,), {"happens": staticmethod(clock.takes(seconds))})(beta0=5.0)


def test_the_clock_counts_the_steps_and_leaves_out_those_who_watch_and_measuring(clock):
    slow = clock.takes(0.5)

    class Slow:
        __call__ = staticmethod(slow)
        close = staticmethod(clock.takes(7.0))

    extra = Recorder(extra={"slow": lambda now: slow() or 0.0})
    stop = slow | Seconds(2.0)
    result = solve(PROBLEM, lasting(clock, 0.25), stop=stop, observers=[slow, Slow()], record=extra)
    assert (result.status, result.iterations, result.seconds) == (Status.SECONDS, 8, 2.0)
    assert result.history.seconds.tolist() == [0.25 * t for t in range(9)]
    assert clock.now == 100.0 + 2.0 + 9 * 4 * 0.5 + 7.0
    before, result = clock.now, solve(with_prox(slow), lasting(clock, 0.0), stop=Iterations(8))
    assert result.seconds == 4.0 < clock.now - before - 4.0  # one call of the prox in a step, others in measuring


@pytest.mark.parametrize(
    ("answer", "status"), [(True, Status.STOPPED), (1, Status.STOPPED), (Status.CONVERGED, Status.CONVERGED)]
)
def test_a_callback_can_stop_the_run_and_the_others_still_see_that_iteration(answer, status):
    seen = []
    result = solve(
        PROBLEM,
        stop=Iterations(20),
        observers=[lambda now: answer if now.t == 7 else None, lambda now: seen.append(now.t)],
    )
    assert (result.status, result.iterations) == (status, 7)
    assert seen == list(range(8))
    assert solve(PROBLEM, stop=Iterations(5), observers=[lambda now: now.t == 5]).status is Status.ITERATIONS


def test_a_callback_sees_the_record_of_its_iteration_and_a_rule_the_ones_before():
    by_rule, by_observer = [], []
    solve(
        PROBLEM,
        stop=lambda now: by_rule.append(now.recent("objective", 2)) or now.t == 3,
        observers=[lambda now: by_observer.append((now.recent("objective", 2), now.history.objective.tolist()))],
    )
    objectives = by_observer[-1][1]
    assert [len(r) for r in by_rule] == [0, 1, 2, 2]
    assert by_rule[3] == objectives[1:3]
    assert by_observer[3][0] == objectives[2:4]
    assert len(objectives) == 4


@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr", "subgradient"])
def test_iterate_walks_the_states_of_solve_from_the_very_one_it_is_given(name):
    solver, X0, seen = named(name).for_problem(PROBLEM), M.random(4), []
    solve(PROBLEM, solver, X0, stop=Iterations(12), observers=[lambda now: seen.append(now.state)])
    start = solver.init(PROBLEM, X0)
    states = list(itertools.islice(iterate(PROBLEM, solver, start), 13))
    assert states[0] is start
    assert [s.t for s in states] == [s.t for s in seen] == list(range(13))
    for ours, theirs in zip(states, seen, strict=True):
        np.testing.assert_array_equal(solver.point(ours), solver.point(theirs))
        np.testing.assert_array_equal(ours.now.X, theirs.now.X)


@pytest.mark.parametrize("tqdm", [True, False], ids=["a bar", "a line without tqdm"])
@pytest.mark.parametrize(
    ("label", "stop", "count"),
    [(None, Iterations(30) | (lambda now: now.seconds > 1e9), "30/30"), ("{}", lambda now: now.t == 11, "11it")],
)
def test_the_bar_shows_name_objective_criticality_and_rate(monkeypatch, label, stop, count, tqdm):
    if not tqdm:
        monkeypatch.setitem(sys.modules, "tqdm", None)
    file, limits = io.StringIO(), set()
    watch = [Progress(always=True, file=file, label=label, every=0.0), lambda now: limits.add(now.limit)]
    for _ in range(2):  # one run after another
        result = solve(PROBLEM, "oadmm-ep", stop=stop, observers=watch)
    start, values = f"{label or 'oadmm-ep'}: ", f"F {result.objective:.6g}, Crit {result.criticality:.1e}"
    assert limits == {None if label else 30}
    if tqdm:
        shown = file.getvalue().replace("\r", "\n").strip().splitlines()[-1]
        assert shown.startswith(start) and count in shown and values in shown
        assert re.search(r"\d+(\.\d+)?\s?k?it/s", shown)
        return
    first, second, nothing = file.getvalue().split("\n")
    assert nothing == "" and first.count("Crit") == second.count("Crit") >= 12
    assert second.rpartition("\r")[2].rstrip() == f"{start}{count}, {values}"


def test_a_bar_serves_one_run_after_another_and_goes_on_where_a_run_was_resumed():
    file, part = io.StringIO(), solve(PROBLEM, "subgradient", stop=Iterations(20))
    bar = Progress(always=True, file=file, every=0.0)
    solve(PROBLEM, part.solver, stop=Iterations(40), resume=part.state, observers=[bar])
    assert "20/40" in file.getvalue() and "40/40" in file.getvalue()
    assert not re.search(r"\b0/40", file.getvalue())  # the rate is that of the new iterations
    solve(PROBLEM, "oadmm-ep", stop=Iterations(5), observers=[bar])
    assert "subgradient: 100%" in file.getvalue() and "oadmm-ep: 100%" in file.getvalue()


def test_the_bar_is_drawn_now_and_then_and_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    file, often, terminal, error = io.StringIO(), io.StringIO(), Terminal(), Terminal()
    bars = [Progress(), Progress(file=file), Progress(file=often, always=True, every=0.0)]
    bars += [Progress(file=terminal, every=60.0)]
    monkeypatch.setattr("sys.stderr", error)  # where a bar without a file is drawn, looked up when it is
    solve(PROBLEM, stop=Iterations(200), observers=bars)
    assert often.getvalue().count("Crit") >= 200 and 1 <= terminal.getvalue().count("Crit") <= 5
    assert "Crit" in error.getvalue() and file.getvalue() == ""


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
    problem = Problem.of(ExplainedVariance(D) + L1() @ Matrix(D[:20]), over=(40, 3))
    solve(problem, "oadmm-ep", stop=Seconds(0.05))
    assert allowed[0] == 0.05  # for the start
    assert allowed[1] is allowed[-1] is None  # nothing outside the run sees a limit
    assert allowed[2] < 0.05 and allowed[2:-1] == sorted(allowed[2:-1], reverse=True)


@pytest.mark.parametrize("name", ["oadmm", "manial-1"])
@pytest.mark.parametrize("kind", ["multipliers", "projections"])
def test_a_step_that_has_no_time_left_computes_nothing(name, kind, monkeypatch):
    h = 2.0 * L1() @ Matrix(D[:20]) if kind == "multipliers" else 2.0 * L1()
    problem = Problem.of(ExplainedVariance(D) + h, over=(40, 3))
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
    result = solve(Problem.of(ExplainedVariance(D) + 20.0 * L1(), over=(40, 3)), seed=0, stop=Seconds(600))
    assert result.status is Status.CONVERGED and result.solver.finished(result.state)
    assert time.perf_counter() - began < 300
