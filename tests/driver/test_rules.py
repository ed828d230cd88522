"""Stopping rules by themselves and how they combine; which iterations are recorded, and how many may be asked for."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from driver.helpers import M, S, dummy
from orthoprox import (
    Critical,
    Iterations,
    NotFinite,
    Problem,
    Recorder,
    Rule,
    Seconds,
    Snapshot,
    Stalled,
    Status,
    When,
    named,
    solve,
)
from orthoprox.models import sparse_pca
from orthoprox.terms import MCP, Nonnegative, Quadratic
from sentences import check_refusal
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


flat = {"objectives": [1.0, 1.0, 1.0]}
SAYS = [
    *((Iterations(3), {"t": t}, status) for t, status in ((2, None), (3, Status.ITERATIONS), (4, Status.ITERATIONS))),
    (Seconds(0.5), {"seconds": 0.4}, None),
    (Seconds(0.5), {"seconds": 0.5}, Status.SECONDS),
    (Iterations(0), {}, Status.ITERATIONS),
    (Seconds(0.0), {}, Status.SECONDS),
    # the sum of the parts, absolute or relative
    (Critical(0.5), {"total": 0.6, "relative": 0.1}, None),
    (Critical(0.5), {"total": 0.5}, Status.CONVERGED),
    (Critical(0.5, relative=True), {"total": 0.6, "relative": 0.1}, Status.CONVERGED),
    (Critical(0.5, relative=True), {"total": 0.1, "relative": 0.6}, None),
    # a method that is done is not waited for, unless a tolerance of the user's own is
    (Seconds(9.0), {"total": 0.6, "finished": True}, Status.CONVERGED),
    (Critical(0.5, relative=True), {"total": 0.6, "finished": True}, Status.CONVERGED),
    (Critical(0.5), {"total": 0.6, "finished": True}, None),
    # back over the window and no further
    (Stalled(1e-3, window=3), {"objective": 1.0, "objectives": [1.0, 1.0]}, None),
    (Stalled(1e-3, window=3), {"objective": 1.0, **flat}, Status.STALLED),
    (Stalled(1e-3, window=3), {"objective": 1.0, "objectives": [9.0, 1.0, 1.0, 1.0]}, Status.STALLED),
    (Stalled(1e-3, window=3), {"objective": 1.0, "objectives": [9.0, 1.0, 1.0]}, None),
    (Stalled(1e-3, window=3), {"objective": 1.002, **flat}, None),
    (Stalled(1e-3, window=3), {"objective": 1.0, "objectives": [1.0, 1.002, 1.0]}, None),
    # relative to a large objective and absolute for a small one
    (Stalled(1e-3, window=1), {"objective": -1000.5, "objectives": [-1000.0]}, Status.STALLED),
    (Stalled(1e-3, window=1), {"objective": 0.0005, "objectives": [0.001]}, Status.STALLED),
    (Stalled(1e-3, window=1), {"objective": 0.003, "objectives": [0.001]}, None),
    # truth or a status
    *((When(lambda now, answer=answer: answer), {}, None) for answer in (0, None)),
    (When(lambda now: np.True_), {}, Status.STOPPED),
    (When(lambda now: Status.STALLED), {}, Status.STALLED),
]


def test_a_rule_stops_where_it_should_and_not_before():
    for rule, now, status in SAYS:
        assert rule(dummy(**now)) is status, (rule, now)


def test_critical_measures_only_when_it_is_its_turn():
    rule = Critical(0.5, every=3)
    assert [rule(dummy(t=t, total=0)) is Status.CONVERGED for t in range(7)] == [t % 3 == 0 for t in range(7)]
    now = Snapshot(PROBLEM, named("oadmm-ep"), None, 1, 0.0)
    assert rule(now) is None
    assert "criticality_parts" not in vars(now)


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
        (lambda: Recorder(every=0), "every >= 1"),
        (lambda: Recorder(every=-3), "every >= 1"),
    ],
)
def test_rules_refuse_what_makes_no_sense(make, sentence):
    check_refusal(make, sentence, ValueError)


@pytest.mark.parametrize("rule", [Iterations, Seconds, Critical, Stalled])
@pytest.mark.parametrize("wrong", ["1e-6", None, [1]])
def test_rules_need_a_number(rule, wrong):
    check_refusal(lambda: rule(wrong), f"{rule.__name__} needs a number; given", TypeError)


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


@pytest.mark.parametrize("measure", ["objective", "criticality"])
def test_only_what_a_constraint_makes_infinite_is_let_through(measure):
    X, f = M.random(0), Quadratic(S)
    cone, lipschitz = Problem(M=M, f=f, h=Nonnegative()), Problem(M=M, f=f, h=MCP())

    def verdict(problem, value):
        measured = {"objective": 1.0, "criticality": 1.0, measure: value}
        return NotFinite(measure=True)(
            SimpleNamespace(X=X, is_finite=True, state_is_finite=True, state=(X,), problem=problem, **measured)
        )

    assert verdict(cone, np.inf) is verdict(lipschitz, 1.0) is None
    for problem, value in ((cone, np.nan), (cone, -np.inf), (lipschitz, np.inf), (lipschitz, np.nan)):
        assert verdict(problem, value) is Status.NOT_FINITE


def test_records_become_rarer_and_the_next_one_is_known():
    record = Recorder()
    due = [t for t in range(5000) if record.due(t)]
    assert due[:65] == list(range(65))
    assert all(later - t <= max(t // 32, 1) for t, later in itertools.pairwise(due))
    assert len(due) < 64 + 33 * 7
    for t in range(3000):
        assert t + record.rest(t) == next(later for later in due if later > t)
    assert all(Recorder(every=7).due(t) == (t % 7 == 0) for t in range(50))


def test_the_first_rule_to_speak_limits_what_is_asked_for():
    assert (Iterations(100) | Critical(1e-3, every=7)).rest(10) == 4
    assert (Iterations(12) & Seconds(3)).rest(10) == 2
    assert (Seconds(1) | Critical(1) | Stalled()).rest(5) > 10**6
    assert (Iterations(9) | (lambda now: False)).rest(1) == 1


def test_a_rule_on_crit_looks_when_something_is_measured():
    problem = sparse_pca(np.random.default_rng(0).standard_normal((30, 8)), n_components=2, weight=0.1)
    often = solve(problem, "oadmm-ep", stop=Iterations(5000) | Critical(0.2), record=Recorder(every=1))
    rarely = solve(problem, "oadmm-ep", stop=Iterations(5000) | Critical(0.2))
    assert often.converged and rarely.converged
    assert often.iterations <= rarely.iterations <= often.iterations + often.iterations // 16 + 1
    assert len(rarely.history.objective) < len(often.history.objective)
    exact = solve(problem, "oadmm-ep", stop=Iterations(5000) | Critical(0.2, every=1))
    assert exact.iterations == often.iterations
    default = solve(problem, named("oadmm"), stop=Iterations(300) | Critical(1e-8))  # which measures every block
    assert default.converged and default.compile_seconds == 0
    short = solve(problem, named("oadmm", explore=0, polish=False), stop=Iterations(200))
    assert len(short.history.objective) == short.iterations + 1


def test_without_a_rule_there_is_a_limit_and_a_tolerance():
    assert solve(PROBLEM).iterations <= 1000
    assert solve(PROBLEM, named("subgradient", eta0=1e-12)).status is Status.ITERATIONS
