"""Resuming equals never having stopped, bit for bit."""

import functools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from driver.helpers import M, S, assert_same_run, with_prox
from orthoprox import Checkpoint, Iterations, Problem, Recorder, RunFailed, Stalled, Status, Stiefel, named, solve
from orthoprox._fields import replace
from orthoprox.maps import Difference, Entries
from orthoprox.models import sparse_pca
from orthoprox.solvers import SOLVERS as ALL
from orthoprox.terms import L1, ExplainedVariance, LargestK, LeastSquares, Quadratic, Smooth, SmoothTerm, WeightedL1
from steps.cases import PROBLEMS
from steps.checks import takes

PROBLEM = PROBLEMS["l1 minus largest-k"]
METHODS = {name: (name, {}) for name in sorted(ALL)} | {
    "oadmm-rr, fixed": ("oadmm-rr", {"refresh": 8}),
    "oadmm-rr, bb-long": ("oadmm-rr", {"length": "bb-long", "refresh": 8}),
    "oadmm-rr, bb-short": ("oadmm-rr", {"length": "bb-short", "refresh": 8, "retraction": "qr"}),
}
CHOSEN = ["l1 minus largest-k", "groups of a matrix", "mcp of differences", "own function, unknown constant"]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "run.npz"


CASES = [(method, CHOSEN[0]) for method in METHODS]
CASES += [(method, name) for method in ("oadmm", "oadmm-ep", "oadmm-rr, bb-long") for name in CHOSEN[1:]]


@pytest.mark.parametrize(("method", "name"), CASES)
def test_resuming_from_the_end_of_a_run_equals_never_having_stopped(method, name, file):
    problem, solver = PROBLEMS[name], named(METHODS[method][0], **METHODS[method][1])
    if not takes(solver, problem):
        problem = PROBLEMS["plain l1, centred"]
    whole = solve(problem, solver, seed=3, stop=Iterations(6))
    for middle in (1, 4) if name == CHOSEN[0] else (4,):
        part = solve(problem, solver, seed=3, stop=Iterations(middle), observers=[Checkpoint(file)])
        rest = solve(problem, solver, stop=Iterations(6), resume=file)
        assert_same_run(rest, whole)
        assert rest.solver.work(rest.state) == whole.solver.work(whole.state)
        assert f"resumed at iteration {middle}" in rest.notes
        again = solve(problem, part.solver, stop=Iterations(6), resume=part.state)
        assert again.history.iteration.tolist() == list(range(middle, 7))
        for column in ("X", "z"):
            np.testing.assert_array_equal(getattr(again, column), getattr(whole, column))
        np.testing.assert_array_equal(again.history.criticality, whole.history.criticality[middle:])


@pytest.mark.parametrize("solver", ["oadmm", "oadmm-rr"])
def test_a_run_may_be_resumed_many_times_also_where_it_ended(solver, file):
    whole = solve(PROBLEM, solver, stop=Iterations(40), record=Recorder(every=7))
    solve(PROBLEM, solver, stop=Iterations(9), observers=[Checkpoint(file)], record=Recorder(every=7))
    for end in (10, 24, 24, 28, 40, 40):
        watch, record = [Checkpoint(file, every=5)], Recorder(every=7)
        rest = solve(PROBLEM, solver, stop=Iterations(end), resume=file, observers=watch, record=record)
    assert rest.history.iteration.tolist() == [0, 7, 14, 21, 28, 35, 40]
    assert_same_run(rest, whole)


def test_the_clock_goes_on_where_it_stood(file):
    first = solve(PROBLEM, stop=Iterations(20), observers=[Checkpoint(file)])
    rest = solve(PROBLEM, stop=Iterations(40), resume=file)
    assert rest.seconds > first.seconds
    assert (np.diff(rest.history.seconds) > 0).all()
    np.testing.assert_array_equal(rest.history.seconds[:20], first.history.seconds[:20])


@pytest.mark.parametrize(("every", "middle"), [(1, 3), (1, -1), (7, 14), (7, -2)])
def test_stalled_does_not_notice_that_the_run_was_stopped(every, middle, file):
    rule = Stalled(2e-2, window=4) | Iterations(400)
    whole = solve(PROBLEM, stop=rule, record=Recorder(every=every))
    assert whole.status is Status.STALLED
    middle = Iterations(middle if middle > 0 else whole.iterations + middle)
    solve(PROBLEM, stop=rule | middle, record=Recorder(every=every), observers=[Checkpoint(file)])
    rest = solve(PROBLEM, stop=rule, record=Recorder(every=every), resume=file)
    assert_same_run(rest, whole)


def test_resuming_after_a_failure_equals_never_having_stopped(file):
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


def test_extra_columns_are_resumed_and_must_be_the_same(file):
    extra = {"size": lambda now: np.sum(np.abs(now.X))}
    solve(PROBLEM, stop=Iterations(5), record=Recorder(extra=extra), observers=[Checkpoint(file)])
    rest = solve(PROBLEM, stop=Iterations(9), record=Recorder(extra=extra), resume=file)
    assert len(rest.history.size) == 10
    with pytest.raises(ValueError, match=r"The checkpoint recorded .*size.*; this run records .* same recorder\."):
        solve(PROBLEM, stop=Iterations(9), resume=file)


@pytest.fixture
def written(file):
    solve(PROBLEM, "oadmm-ep", stop=Iterations(5), observers=[Checkpoint(file)])
    return file


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
        (replace(PROBLEM, h=1.5 * PROBLEM.h), "oadmm-ep", "belongs to another problem: h had another kind, weight or"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused(written, problem, solver, sentence):
    with pytest.raises(ValueError, match=sentence):
        solve(problem, solver, stop=Iterations(9), resume=written)


def ulp(a, at=(4, 2)):
    """The same array, one bit further in one entry."""
    a = a.copy()
    a[at] = np.nextafter(a[at], np.inf)
    return a


class OwnLinear(SmoothTerm):
    """<C, X>, in a class of the user's, which counts its calls and knows more than it shows."""

    weight, lipschitz = 1.0, 0.0

    def __init__(self, C):
        self.C, self.calls, self._last = C, 0, None

    @functools.cached_property  # noqa: TID251 -- as in a term of somebody else's
    def size(self):
        return float(np.linalg.norm(self.C))

    def value(self, X):
        self.calls, self._last = self.calls + 1, X
        return np.sum(self.C * X)

    def gradient(self, X):
        return self.C * (self.size / self.size)


def own_function(B):
    """A function that refers to its data, and its derivative as another."""
    return Smooth(lambda X: np.sum((B @ X) ** 2), functools.partial(lambda B, X: 2 * B.T @ (B @ X), B), lipschitz=99.0)


class OwnData:
    """A function that is a method, and its data beside it."""

    def __init__(self, B):
        self.B = B

    def both(self, X):
        return np.sum((self.B @ X) ** 2), 2 * self.B.T @ (self.B @ X)


def as_operator(B):
    return LinearOperator(B.shape, matvec=lambda x: B @ x, rmatvec=lambda x: B.T @ x, dtype=float)


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda B: Quadratic(B @ np.eye(9) + B.T) + L1(), "f"),
        (lambda B: ExplainedVariance(sp.csr_array(B)) + L1(), "f"),
        (lambda B: ExplainedVariance(aslinearoperator(B)) + L1(), "f"),
        (lambda B: LeastSquares(np.eye(9), B[:, :3]) - LargestK(4) + L1(), "f"),
        (lambda B: own_function(B) + L1(), "f"),
        (lambda B: Smooth(OwnData(B).both, lipschitz=99.0) + L1(), "f"),
        (lambda B: OwnLinear(B[:, :3]) + L1(), "f"),
        (lambda B: OwnLinear(S[:, :3]) + abs(B[4, 2]) * L1(), "h"),
        (lambda B: Quadratic(S) - abs(B[4, 2]) * LargestK(4) + L1(), "g"),
        (lambda B: Quadratic(S) - LargestK(4 + (B is not S)) + L1(), "g"),
        (lambda B: Quadratic(S) + (L1(0.5) if B is S else WeightedL1(np.full((1, 3), 0.5))), "h"),
        (lambda B: Quadratic(S) + WeightedL1(np.abs(B[:, :3])), "h"),
        (lambda B: Quadratic(S) + L1() @ B, "A"),
        (lambda B: Quadratic(S) + L1() @ as_operator(B), "A"),
        (lambda B: Quadratic(S) + L1() @ (Entries(np.eye(9)[:, :3] < 1) if B is S else Difference()), "A"),
    ],
)
def test_a_checkpoint_of_a_nearly_equal_problem_is_refused(file, make, part):
    solver = named("oadmm-ep", beta0=50.0)
    first = Problem.of(make(S), over=M)
    solve(first, solver, stop=Iterations(3), observers=[Checkpoint(file)])
    assert solve(first, solver, stop=Iterations(4), resume=file).iterations == 4
    again = Problem.of(make(np.asfortranarray(S) if part == "f" else S), over=M)
    assert solve(again, solver, stop=Iterations(4), resume=file).iterations == 4
    with pytest.raises(ValueError, match=f"belongs to another problem: {part} had another kind, weight or data"):
        solve(Problem.of(make(ulp(S)), over=M), solver, stop=Iterations(4), resume=file)


def test_an_offset_counts_up_to_rounding(file):
    """It is often a norm of the data, whose last digit is another one on another device."""
    solver, first = named("oadmm-ep", beta0=50.0), replace(PROBLEM, offset=1.0)
    solve(first, solver, stop=Iterations(3), observers=[Checkpoint(file)])
    rounded = replace(first, offset=float(np.nextafter(1.0, 2.0)))
    assert solve(rounded, solver, stop=Iterations(5), resume=file).iterations == 5
    with pytest.raises(ValueError, match="belongs to another problem: its objective was .*, here it is .* start the"):
        solve(replace(first, offset=1.001), solver, stop=Iterations(5), resume=file)


def test_a_function_is_known_by_its_values_too(file):
    def problem(factor):
        text = f"lambda X: ({factor!r} * (X**4).sum(), {4 * factor!r} * X**3)"
        return Problem(M=M, f=Smooth(eval(text), lipschitz=20.0), h=L1())

    solver = named("oadmm-ep", beta0=50.0)
    solve(problem(1.0), solver, stop=Iterations(3), observers=[Checkpoint(file)])
    assert solve(problem(1.0), solver, stop=Iterations(5), resume=file).iterations == 5
    with pytest.raises(ValueError, match="belongs to another problem: its objective was .*, here it is .* start the"):
        solve(problem(1.0001), solver, stop=Iterations(5), resume=file)


def test_a_state_of_another_run_is_refused_and_so_is_one_beside_a_start():
    first = solve(PROBLEM, "oadmm-rr", stop=Iterations(2))
    with pytest.raises(TypeError, match="oadmm-ep resumes from a file or from its own OADMMEPState.*OADMMRRState"):
        solve(PROBLEM, "oadmm-ep", resume=first.state)
    with pytest.raises(TypeError, match="as in result.state; given Result"):
        solve(PROBLEM, resume=first)
    small = Problem(M=Stiefel(9, 2), f=Quadratic(S), h=L1())
    with pytest.raises(ValueError, match=r"is for shape \(9, 3\); the problem is for \(9, 2\)"):
        solve(small, "oadmm-rr", resume=first.state)
    with pytest.raises(ValueError, match="either X0 or resume, not both"):
        solve(PROBLEM, "oadmm-rr", first.X, resume=first.state)
