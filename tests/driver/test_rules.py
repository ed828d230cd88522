"""Stopping rules by themselves, and how they combine."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from driver.helpers import M, dummy
from orthoprox import Critical, Iterations, NotFinite, Rule, Seconds, Snapshot, Stalled, Status, When, named, solve
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["l1 minus largest-k"]


class Says(Rule):
    """A rule that always says the same, and counts how often it was asked."""

    def __init__(self, status):
        self.status, self.asked = status, 0

    def __call__(self, now):
        self.asked += 1
        return self.status


ANSWERS = (None, Status.CONVERGED, Status.ITERATIONS, Status.STALLED)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(ANSWERS, ANSWERS)))
def test_or_stops_when_one_does_and_and_when_both_do(first, second):
    rules = Says(first), Says(second)
    either, asked = (rules[0] | rules[1])(dummy()), [rule.asked for rule in rules]
    both = (Says(first) & Says(second))(dummy())
    answers = [status for status in (first, second) if status is not None]
    assert asked == [1, 1]  # both of them, every time
    assert (either is None) == (not answers)
    assert (both is None) == (len(answers) < 2)
    if Status.CONVERGED in answers:
        assert either is Status.CONVERGED
        assert both in (None, Status.CONVERGED)
    elif answers:
        assert either is answers[0]
        assert both in (None, second)


def test_functions_stand_on_either_side():
    def late(now):
        return now.t >= 3

    for rule in (late | Critical(1e-9), Critical(1e-9) | late):
        assert rule(dummy(t=2)) is None
        assert rule(dummy(t=3)) is Status.STOPPED
    for rule in (late & Iterations(2), Iterations(2) & late):
        assert rule(dummy(t=2)) is None
        assert rule(dummy(t=3)) is not None
    for make in (lambda: 3 | Iterations(2), lambda: Iterations(2) & "late", lambda: solve(PROBLEM, stop=5)):
        with pytest.raises(TypeError, match="A stopping rule is a Rule or a function of a snapshot; given (int|str)"):
            make()


def test_the_limit_of_a_combination_is_where_it_stops_for_certain():
    assert Iterations(7).limit == 7
    assert Critical(1e-3).limit is None
    assert (Iterations(7) | Seconds(1)).limit == 7
    assert (Seconds(1) | Iterations(7)).limit == 7
    assert (Iterations(7) | Iterations(3) | Critical(1)).limit == 3
    assert (Seconds(1) | Critical(1)).limit is None
    assert (Iterations(7) & Critical(1)).limit is None
    assert (Iterations(7) & Iterations(9)).limit == 9
    assert ((Seconds(1) & Seconds(3)).seconds, (Seconds(1) & Iterations(3)).seconds) == (3, None)
    assert (Iterations(7) & Critical(1) | Iterations(9)).limit == 9


def test_iterations_and_seconds_stop_at_their_number_and_not_before():
    assert [Iterations(3)(dummy(t=t)) for t in (2, 3, 4)] == [None, Status.ITERATIONS, Status.ITERATIONS]
    assert [Seconds(0.5)(dummy(seconds=s)) for s in (0.4, 0.5)] == [None, Status.SECONDS]
    assert (Iterations(0)(dummy()), Seconds(0.0)(dummy())) == (Status.ITERATIONS, Status.SECONDS)


def test_critical_looks_at_the_sum_absolute_or_relative():
    assert Critical(0.5)(dummy(total=0.6, relative=0.1)) is None
    assert Critical(0.5)(dummy(total=0.5)) is Status.CONVERGED
    assert Critical(0.5, relative=True)(dummy(total=0.6, relative=0.1)) is Status.CONVERGED
    assert Critical(0.5, relative=True)(dummy(total=0.1, relative=0.6)) is None


def test_a_method_that_is_done_is_not_waited_for_unless_a_tolerance_of_the_users_own_is():
    done = dummy(total=0.6, finished=True)
    assert Seconds(9.0)(done) is Critical(0.5, relative=True)(done) is Status.CONVERGED
    assert Critical(0.5)(done) is None


def test_critical_measures_only_when_it_is_its_turn():
    rule = Critical(0.5, every=3)
    assert [rule(dummy(t=t, total=0)) is Status.CONVERGED for t in range(7)] == [t % 3 == 0 for t in range(7)]
    now = Snapshot(PROBLEM, named("oadmm-ep"), None, 1, 0.0)
    assert rule(now) is None
    assert "criticality_parts" not in vars(now)


def test_stalled_looks_back_over_its_window_and_no_further():
    rule = Stalled(1e-3, window=3)
    assert rule(dummy(objective=1.0, objectives=[1.0, 1.0])) is None  # too few
    assert rule(dummy(objective=1.0, objectives=[1.0, 1.0, 1.0])) is Status.STALLED
    assert rule(dummy(objective=1.0, objectives=[9.0, 1.0, 1.0, 1.0])) is Status.STALLED
    assert rule(dummy(objective=1.0, objectives=[9.0, 1.0, 1.0])) is None
    assert rule(dummy(objective=1.002, objectives=[1.0, 1.0, 1.0])) is None
    assert rule(dummy(objective=1.0, objectives=[1.0, 1.002, 1.0])) is None


def test_stalled_is_relative_to_a_large_objective_and_absolute_for_a_small_one():
    rule = Stalled(1e-3, window=1)
    assert rule(dummy(objective=-1000.5, objectives=[-1000.0])) is Status.STALLED
    assert rule(dummy(objective=0.0005, objectives=[0.001])) is Status.STALLED
    assert rule(dummy(objective=0.003, objectives=[0.001])) is None


def test_when_takes_truth_or_a_status():
    assert When(lambda now: 0)(dummy()) is None
    assert When(lambda now: None)(dummy()) is None
    assert When(lambda now: np.True_)(dummy()) is Status.STOPPED
    assert When(lambda now: Status.STALLED)(dummy()) is Status.STALLED


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Iterations(-1), "Iterations needs a number that is not negative; given -1"),
        (lambda: Iterations(float("nan")), "Iterations needs"),
        (lambda: Seconds(-0.1), "Seconds needs a number that is not negative; given -0.1"),
        (lambda: Seconds(float("nan")), "Seconds needs"),
        (lambda: Critical(0.0), "Critical needs a positive tolerance; given 0.0"),
        (lambda: Critical(float("nan")), "Critical needs a positive"),
        (lambda: Critical(1e-3, every=0), "Critical needs every >= 1; given 0"),
        (lambda: Stalled(-1e-3), "Stalled needs a tolerance that is not negative"),
        (lambda: Stalled(window=0), "Stalled needs a window of at least 1; given 0"),
    ],
)
def test_rules_refuse_what_makes_no_sense(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_not_finite_looks_at_X_always_and_at_the_rest_when_it_measures():
    solver = named("oadmm-ep", beta0=5.0)
    good = solver.step(PROBLEM, solver.init(PROBLEM, M.random(0)))

    def says(measure, **changes):
        state = type(good)(**{**vars(good), **changes})
        return NotFinite(measure=measure)(Snapshot(PROBLEM, solver, state, 1, 0.0))

    X = good.now.X.copy()
    X[2, 1] = np.inf
    bad = type(good.now)(X, good.now.HX, good.now.AX)
    assert says(False) is says(True) is None
    assert says(False, now=bad) is says(True, now=bad) is Status.NOT_FINITE
    assert (says(False, before=bad), says(True, before=bad)) == (None, Status.NOT_FINITE)  # no measure depends on it
    for name in ("y", "z"):
        broken = getattr(good, name).copy()
        broken[0, 0] = np.nan
        assert says(False, **{name: broken}) is None
        assert says(True, **{name: broken}) is Status.NOT_FINITE


def test_without_a_rule_there_is_a_limit_and_a_tolerance():
    assert solve(PROBLEM).iterations <= 1000
    assert solve(PROBLEM, named("subgradient", eta0=1e-12)).status is Status.ITERATIONS
