"""Ctrl-C gives back what was reached."""

import gc
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from driver.helpers import Watching, assert_same_run
from fuzz.campaign import CASES
from orthoprox import Checkpoint, Iterations, Recorder, Status, solve
from orthoprox._fields import cached_property
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["l1 minus largest-k"]
pytestmark = pytest.mark.usefixtures("heard")


@pytest.mark.parametrize("t", [0, 9])
@pytest.mark.parametrize(("every", "rows"), [(1, list(range(10))), (5, [0, 5, 9])])
def test_a_signal_in_an_observer_or_a_rule_keeps_that_iteration(t, every, rows):
    def signals(now):
        if now.t == t:
            signal.raise_signal(signal.SIGINT)

    watch, whole = Watching(), solve(PROBLEM, stop=Iterations(t))
    for keywords in ({"observers": [signals, watch]}, {"stop": signals}):
        result = solve(PROBLEM, **{"stop": Iterations(20), "record": Recorder(every=every), **keywords})
        assert (result.status, result.iterations) == (Status.INTERRUPTED, t)
        assert not result.converged and "interrupted from the keyboard" in result.message
        assert result.history.iteration.tolist() == (rows if t else [0])
        np.testing.assert_array_equal(result.X, whole.X)
    assert watch.seen == list(range(t))
    assert watch.closed == [t]


class Line:
    """Presses Ctrl-C at one of all the lines that a run executes, and counts them."""

    def __init__(self, at):
        self.at, self.count, self.inside = at, 0, False

    def __call__(self, frame, event, _):
        name = frame.f_code.co_qualname
        if event == "call" and name == "_Run._complete":
            self.inside = True
        if event == "line" and self.inside:
            self.count += 1
            if self.count == self.at:
                signal.raise_signal(signal.SIGINT)
        if event == "return" and name == "_Run._complete":
            self.inside = False
        return self


def traced(line, file):
    before = sys.gettrace()
    gc.disable()  # which would count the lines of whatever it ends, now and then
    sys.settrace(line)
    try:
        return solve(PROBLEM, "oadmm-ep", stop=Iterations(3), observers=[Checkpoint(file, every=2)])
    finally:
        sys.settrace(before)
        gc.enable()


def test_a_signal_at_any_line_of_a_run_loses_nothing(tmp_path):
    file, end = tmp_path / "run.npz", solve(PROBLEM, "oadmm-ep", stop=Iterations(5))
    for _ in range(2):  # the first run executes more lines, once for all
        whole = Line(0)
        objective = traced(whole, file).history.objective
    for at in np.linspace(1, whole.count, CASES or 20, dtype=int):
        result = traced(Line(at), file)
        t = result.iterations
        assert (result.status, result.state.t) == (Status.INTERRUPTED, t)
        assert result.history.iteration.tolist() == list(range(t + 1))
        np.testing.assert_array_equal(result.history.objective, objective[: t + 1])
        assert result.objective == PROBLEM.objective(result.X) and np.isfinite([*result.criticality_parts]).all()
        assert os.listdir(tmp_path) == ["run.npz"]
        rest = solve(PROBLEM, "oadmm-ep", stop=Iterations(5), resume=file)
        assert f"resumed at iteration {t}" in rest.notes
        assert_same_run(rest, end)


def test_somebody_who_insists_need_not_wait_for_what_hangs():
    class Hangs:
        def __call__(self, now):
            return None

        def close(self, now):
            while True:
                signal.raise_signal(signal.SIGINT)

    watch = Watching()
    result = solve(PROBLEM, stop=Iterations(4), observers=[Hangs(), watch])
    assert (result.status, result.iterations, watch.closed) == (Status.INTERRUPTED, 4, [4])


def test_the_handler_of_the_program_stays_and_ours_is_gone_after_the_run():
    heard = []
    for handler in (lambda *_: heard.append(1), signal.default_int_handler):
        signal.signal(signal.SIGINT, handler)
        inner = lambda now: solve(PROBLEM, stop=Iterations(1)) and None  # a run inside a run
        signals = lambda now: signal.raise_signal(signal.SIGINT) if now.t == 2 else None
        result = solve(PROBLEM, stop=Iterations(3), observers=[inner, signals])
        assert signal.getsignal(signal.SIGINT) is handler
        expected = Status.ITERATIONS if heard == [1] and handler is not signal.default_int_handler else None
        assert result.status is (expected or Status.INTERRUPTED)


def test_a_property_that_is_being_computed_holds_up_no_other_thread():
    pool = ThreadPoolExecutor(1)

    class Asks:
        def __init__(self, other):
            self.other = other

        @cached_property
        def value(self):
            return pool.submit(lambda: self.other.value).result(timeout=5) if self.other else 1

    assert Asks(Asks(None)).value == 1


def test_a_run_in_a_thread_sets_no_signals():
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(solve, PROBLEM, stop=Iterations(1)).result().status is Status.ITERATIONS
