"""Resuming equals never having stopped, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from driver.helpers import M, S, assert_same_run, with_prox
from orthoprox import (
    Checkpoint,
    Critical,
    Iterations,
    Problem,
    Recorder,
    RunFailed,
    Stalled,
    Status,
    Stiefel,
    named,
    solve,
)
from orthoprox.models import sparse_pca
from orthoprox.solvers import SOLVERS as ALL
from orthoprox.solvers import UnsupportedProblem
from orthoprox.terms import L1, Quadratic
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["l1 minus largest-k"]
SOLVERS = {
    "oadmm": ("oadmm", {}),
    "oadmm-ep": ("oadmm-ep", {}),
    "oadmm-rr, fixed": ("oadmm-rr", {"refresh": 8}),
    "oadmm-rr, bb-long": ("oadmm-rr", {"length": "bb-long", "refresh": 8}),
    "oadmm-rr, bb-short": ("oadmm-rr", {"length": "bb-short", "refresh": 8, "retraction": "qr"}),
    "subgradient": ("subgradient", {}),
}
CHOSEN = ["l1 minus largest-k", "groups of a matrix", "mcp of differences", "own function, unknown constant"]


@pytest.fixture(params=SOLVERS)
def solver(request):
    name, settings = SOLVERS[request.param]
    return named(name, **settings)


@pytest.mark.parametrize(("name", "middle"), [(name, 21) for name in CHOSEN] + [(CHOSEN[0], 1), (CHOSEN[0], 32)])
def test_resuming_from_the_end_of_a_run_equals_never_having_stopped(solver, name, middle, tmp_path):
    problem, file = PROBLEMS[name], tmp_path / "run.npz"
    whole = solve(problem, solver, seed=3, stop=Iterations(45))
    part = solve(problem, solver, seed=3, stop=Iterations(middle), observers=[Checkpoint(file)])
    assert part.iterations == middle
    rest = solve(problem, solver, stop=Iterations(45), resume=file)
    assert_same_run(rest, whole)
    assert f"resumed at iteration {middle}" in rest.notes


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_method_resumes_from_the_middle_of_a_run(name, tmp_path, monkeypatch):
    file = tmp_path / "run.npz"
    problem = next(p for p in (PROBLEM, *PROBLEMS.values()) if _takes(ALL[name], p))
    whole = solve(problem, name, seed=1, stop=Iterations(12))
    monkeypatch.setattr(Checkpoint, "close", lambda self, now: None)
    solve(problem, name, seed=1, stop=Iterations(9), observers=[Checkpoint(file, every=7)])
    rest = solve(problem, name, stop=Iterations(12), resume=file)
    assert "resumed at iteration 7" in rest.notes
    assert_same_run(rest, whole)


def _takes(kind, problem):
    try:
        kind.scope.admit(problem, kind.name)
        kind().for_problem(problem)
    except UnsupportedProblem:
        return False
    return True


def test_resuming_from_the_middle_of_a_run_equals_never_having_stopped(solver, tmp_path, monkeypatch):
    file = tmp_path / "run.npz"
    whole = solve(PROBLEM, solver, stop=Iterations(50))
    monkeypatch.setattr(Checkpoint, "close", lambda self, now: None)  # as if the computer had been switched off
    solve(PROBLEM, solver, stop=Iterations(30), observers=[Checkpoint(file, every=13)])
    seen = []
    rest = solve(PROBLEM, solver, stop=Iterations(50), resume=file, observers=[lambda now: seen.append(now.t)])
    assert seen == list(range(26, 51))
    assert_same_run(rest, whole)


def test_a_run_may_be_resumed_many_times(solver, tmp_path):
    file = tmp_path / "run.npz"
    whole = solve(PROBLEM, solver, stop=Iterations(40), record=Recorder(every=7))
    solve(PROBLEM, solver, stop=Iterations(9), observers=[Checkpoint(file)], record=Recorder(every=7))
    for end in (10, 24, 28, 40):
        watch, record = [Checkpoint(file, every=5)], Recorder(every=7)
        rest = solve(PROBLEM, solver, stop=Iterations(end), resume=file, observers=watch, record=record)
    assert rest.history.iteration.tolist() == [0, 7, 14, 21, 28, 35, 40]
    assert_same_run(rest, whole)


def test_resuming_where_the_run_ended_changes_nothing(solver, tmp_path):
    file = tmp_path / "run.npz"
    first = solve(PROBLEM, solver, stop=Iterations(11), observers=[Checkpoint(file)], record=Recorder(every=4))
    again = solve(PROBLEM, solver, stop=Iterations(11), resume=file, record=Recorder(every=4))
    assert_same_run(again, first)
    np.testing.assert_allclose(again.history.seconds, first.history.seconds, atol=0.1)


def test_the_clock_goes_on_where_it_stood(tmp_path):
    file = tmp_path / "run.npz"
    first = solve(PROBLEM, stop=Iterations(20), observers=[Checkpoint(file)])
    rest = solve(PROBLEM, stop=Iterations(40), resume=file)
    assert rest.seconds > first.seconds
    assert (np.diff(rest.history.seconds) > 0).all()
    np.testing.assert_array_equal(rest.history.seconds[:20], first.history.seconds[:20])


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("middle", [3, 14, 40, 52])
def test_stalled_does_not_notice_that_the_run_was_stopped(every, middle, tmp_path):
    file, rule = tmp_path / "run.npz", Stalled(2e-2, window=4) | Iterations(400)
    whole = solve(PROBLEM, stop=rule, record=Recorder(every=every))
    assert whole.status is Status.STALLED
    solve(PROBLEM, stop=rule | Iterations(middle), record=Recorder(every=every), observers=[Checkpoint(file)])
    rest = solve(PROBLEM, stop=rule, record=Recorder(every=every), resume=file)
    assert_same_run(rest, whole)


def test_stalled_resumed_one_step_before_it_stops_does_not_stop_early(tmp_path):
    file, rule = tmp_path / "run.npz", Stalled(2e-2, window=4) | Iterations(400)
    whole = solve(PROBLEM, stop=rule)
    for back in (1, 2):
        middle = Iterations(whole.iterations - back)
        solve(PROBLEM, stop=rule | middle, observers=[Checkpoint(file)])
        assert_same_run(solve(PROBLEM, stop=rule, resume=file), whole)


def test_resuming_after_an_interrupt_equals_never_having_stopped(solver, tmp_path):
    file = tmp_path / "run.npz"
    whole = solve(PROBLEM, solver, stop=Iterations(30))

    def interrupted(now):
        if now.t == 17:
            raise KeyboardInterrupt

    part = solve(PROBLEM, solver, stop=Iterations(30), observers=[interrupted, Checkpoint(file, every=10)])
    assert (part.status, part.iterations) == (Status.INTERRUPTED, 17)
    assert_same_run(solve(PROBLEM, solver, stop=Iterations(30), resume=file), whole)


def test_resuming_after_a_failure_equals_never_having_stopped(tmp_path):
    file = tmp_path / "run.npz"

    def fails_once(call, y):
        if call == 40:
            raise OSError("the disk of somebody's table is full")

    whole = solve(with_prox(lambda call, y: None), stop=Iterations(30))
    problem = with_prox(fails_once)
    with pytest.raises(RunFailed) as caught:
        solve(problem, stop=Iterations(30), observers=[Checkpoint(file, every=100)])
    assert 0 < caught.value.result.iterations < 30
    rest = solve(problem, stop=Iterations(30), resume=file)
    assert f"resumed at iteration {caught.value.result.iterations}" in rest.notes
    assert_same_run(rest, whole)


def test_resuming_from_the_state_of_a_result(solver):
    whole = solve(PROBLEM, solver, stop=Iterations(30))
    part = solve(PROBLEM, solver, stop=Iterations(13))
    rest = solve(PROBLEM, part.solver, stop=Iterations(30), resume=part.state)
    assert rest.iterations == 30
    assert rest.history.iteration.tolist() == list(range(13, 31))
    np.testing.assert_array_equal(rest.X, whole.X)
    np.testing.assert_array_equal(rest.z, whole.z)
    np.testing.assert_array_equal(rest.history.criticality, whole.history.criticality[13:])


def test_single_precision_is_resumed_bit_for_bit_too(solver, tmp_path):
    rng, file = np.random.default_rng(1), tmp_path / "run.npz"
    problem = sparse_pca(rng.standard_normal((20, 8), dtype=np.float32), n_components=2, weight=0.2)
    whole = solve(problem, solver, stop=Iterations(30))
    assert whole.X.dtype == np.float32
    solve(problem, solver, stop=Iterations(12), observers=[Checkpoint(file)])
    rest = solve(problem, solver, stop=Iterations(30), resume=file)
    assert rest.X.dtype == rest.z.dtype == np.float32
    assert_same_run(rest, whole)


def test_extra_columns_are_resumed_and_must_be_the_same(tmp_path):
    file, extra = tmp_path / "run.npz", {"size": lambda now: np.sum(np.abs(now.X))}
    solve(PROBLEM, stop=Iterations(5), record=Recorder(extra=extra), observers=[Checkpoint(file)])
    rest = solve(PROBLEM, stop=Iterations(9), record=Recorder(extra=extra), resume=file)
    assert len(rest.history.size) == 10
    with pytest.raises(ValueError, match=r"The checkpoint recorded .*size.*; this run records .* same recorder\."):
        solve(PROBLEM, stop=Iterations(9), resume=file)


@pytest.fixture
def file(tmp_path):
    solve(PROBLEM, "oadmm-ep", stop=Iterations(5), observers=[Checkpoint(tmp_path / "run.npz")])
    return tmp_path / "run.npz"


@pytest.mark.parametrize(
    ("problem", "solver", "sentence"),
    [
        (PROBLEM, "oadmm-rr", r"The checkpoint was written by OADMMEP\(.*asked to resume with OADMMRR\("),
        (PROBLEM, named("oadmm-ep", theta=1.5), r"written by OADMMEP.*theta=1.01.* resume with OADMMEP.*theta=1.5"),
        (
            sparse_pca(np.eye(9), n_components=2, weight=0.5, k=8),
            named("oadmm-ep", beta0=named("oadmm-ep").for_problem(PROBLEM).beta0),
            r"The checkpoint is for shape \[9, 3\]; given \[9, 2\]",
        ),
        (
            sparse_pca(np.eye(9), n_components=3, weight=0.5, k=8),
            named("oadmm-ep", beta0=named("oadmm-ep").for_problem(PROBLEM).beta0),
            "The checkpoint belongs to another problem: its objective was .*, here it is",
        ),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(file, problem, solver, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve(problem, solver, stop=Iterations(9), resume=file)


def test_a_state_of_another_run_is_refused():
    state = solve(PROBLEM, "oadmm-rr", stop=Iterations(2)).state
    with pytest.raises(TypeError, match="oadmm-ep resumes from a file or from its own OADMMEPState.*OADMMRRState"):
        solve(PROBLEM, "oadmm-ep", resume=state)
    with pytest.raises(TypeError, match="as in result.state; given Result"):
        solve(PROBLEM, resume=solve(PROBLEM, stop=Iterations(1)))
    small = Problem(M=Stiefel(9, 2), f=Quadratic(S), h=L1())
    with pytest.raises(ValueError, match=r"is for shape \(9, 3\); the problem is for \(9, 2\)"):
        solve(small, "oadmm-rr", resume=state)


def test_the_settings_chosen_for_the_problem_are_kept_with_the_checkpoint(file):
    rest = solve(PROBLEM, "oadmm-ep", stop=Iterations(8) | Critical(1e-9), resume=str(file))
    assert rest.solver.beta0 == named("oadmm-ep").for_problem(PROBLEM).beta0
    assert rest.X.shape == (M.n, M.r)


def test_a_start_and_a_state_to_resume_from_contradict_each_other():
    problem = PROBLEMS["plain l1, centred"]
    first = solve(problem, "oadmm-ep", stop=Iterations(3))
    with pytest.raises(ValueError, match="either X0 or resume, not both"):
        solve(problem, "oadmm-ep", first.X, resume=first.state)
