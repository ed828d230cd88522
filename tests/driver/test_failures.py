"""An error or a number that is not finite: the run stops, and nothing that was computed is lost."""

import numpy as np
import pytest

from driver.helpers import M, S, Watching, with_gradient, with_prox
from orthoprox import Iterations, Problem, Recorder, RunFailed, Status, named, solve
from orthoprox._fields import parts
from orthoprox.terms import L1, Huber, LargestK, Quadratic
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["l1 minus largest-k"]
SOLVERS = ["oadmm-ep", "oadmm-rr", "subgradient"]


def assert_finite(result, names=("X", "y", "z")):
    """A result without a number that is not finite, whose history ends where it ends."""
    for name in names:
        assert np.isfinite(getattr(result, name)).all(), name
    assert all(np.isfinite(leaf).all() for leaf in parts(result.state) if isinstance(leaf, np.ndarray))
    assert np.isfinite([result.objective, *result.criticality_parts, result.infeasibility]).all()
    assert result.history.iteration[-1] == result.iterations == result.state.t
    for name, column in result.history.items():
        assert np.isfinite(column).all(), name
    assert result.history.objective[-1] == pytest.approx(result.objective, rel=1e-13)


@pytest.mark.parametrize("call", [7, 8, 20, 21, 22, 23])  # the first six are part of the start: checks, and Crit
@pytest.mark.parametrize(("solver", "once"), [("oadmm-ep", True), ("oadmm-rr", True), ("oadmm", False)])
def test_a_prox_that_raises_costs_one_step(solver, once, call):
    original = ZeroDivisionError("no such prox")

    def raises(k, y):
        if k == call or (k > call and not once):
            raise original

    whole = solve(with_prox(lambda k, y: None), solver, stop=Iterations(30))
    watch = Watching()
    with pytest.raises(RunFailed) as caught:
        solve(with_prox(raises), solver, stop=Iterations(30), observers=[watch])
    error, result, t = caught.value, caught.value.result, caught.value.result.iterations
    assert error.__cause__ is original
    assert str(error).startswith(f"The run failed after {t} iterations: ZeroDivisionError in ")
    assert "raises: no such prox." in str(error) and "'result'" in str(error)
    assert (result.status, result.state.t, watch.closed) == (Status.FAILED, t, [t])
    objectives, recorded = result.history.objective, result.history.iteration
    np.testing.assert_array_equal(objectives, whole.history.objective[: len(objectives)])
    if once:
        assert_finite(result)
        return
    np.testing.assert_array_equal(result.X, solve(with_prox(lambda k, y: None), stop=Iterations(t)).X)
    assert t - recorded[-1] <= 1 if len(recorded) else t <= 1
    assert result.y is not None or any("y and z could not be computed" in note for note in result.notes)
    assert repr(result)


@pytest.mark.parametrize("where", ["observer", "rule", "record", "closing", "observer and closing"])
def test_one_who_watches_and_raises_loses_nothing(where):
    class Watch:
        def __call__(self, now):
            if now.t == 6 and where != "closing":
                raise LookupError("I have lost my glasses")

        def close(self, now):
            if "closing" in where:
                raise LookupError("I have lost my glasses" if where == "closing" else "a second error")

        def measure(self, now):
            self(now)
            return 0.0

    watch, other = Watch(), Watching()
    keywords = {"stop": Iterations(6), "observers": [watch, other]}
    if where == "rule":
        keywords = {"stop": watch, "observers": [other]}
    if where == "record":
        keywords = {"record": Recorder(extra={"own": watch.measure}), "observers": [other]}
    with pytest.raises(RunFailed, match=r"after 6 iterations: LookupError in .*I have lost my glasses\.") as caught:
        solve(PROBLEM, **keywords)
    result = caught.value.result
    assert isinstance(caught.value.__cause__, LookupError)
    assert result.status is Status.FAILED
    assert result.iterations == 6
    assert result.history.iteration.tolist() == list(range(6 if where == "record" else 7))
    np.testing.assert_array_equal(result.X, solve(PROBLEM, stop=Iterations(6)).X)
    assert result.objective == PROBLEM.objective(result.X)
    assert other.closed == [6]


@pytest.mark.parametrize("error", [MemoryError, OverflowError, np.linalg.LinAlgError])
@pytest.mark.parametrize("where", ["init", "for_problem"])
def test_a_solver_that_cannot_begin_says_so(where, error):
    def breaks(self, problem, X0=None):
        raise error("too large")

    method = type("Breaks", (type(named("subgradient")),), {where: breaks})()
    sentence = rf"The run could not begin: {error.__name__} in .*breaks: too large\."
    for keywords in ({}, {"resume": solve(PROBLEM, "subgradient", stop=Iterations(1)).state}):
        with pytest.raises(RunFailed, match=sentence) as caught:
            solve(PROBLEM, method, **keywords)
        assert caught.value.result is None


@pytest.mark.parametrize("solver", ["oadmm", *SOLVERS, "spgm-ep"])
@pytest.mark.parametrize(
    "problem",
    [
        Problem.of(Quadratic(S.astype(np.float32)) - 1e200 * LargestK(5) + 1e200 * Huber(0.3), over=M),
        Problem.of(Quadratic(S.astype(np.float32) * np.float32(3e37)) + L1(), over=M),
        Problem.of(1e-200 * Quadratic(1e-200 * S) + 1e-200 * L1(), over=M),
    ],
)
def test_numbers_out_of_range_bring_no_warning(solver, problem):  # every warning is an error in a test
    result = solve(problem, solver, stop=Iterations(5))
    assert np.isfinite(result.X).all() and result.infeasibility < 1e-5


def turning(good, bad, call):
    """A function that is right at first and wrong from some call on."""
    calls = []

    def function(X):
        calls.append(1)
        return good(X) if len(calls) < call else bad(X)

    return function


NOT_FINITE = [("gradient", bad) for bad in (np.nan, np.inf, -np.inf)] + [
    (part, bad) for part in ("value", "value, unknown constant") for bad in (np.nan, np.inf)
]
NOT_FINITE += [("prox", np.nan)]


@pytest.mark.parametrize("solver", [*SOLVERS, "oadmm"])
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize(("part", "bad"), NOT_FINITE)
def test_a_function_that_stops_being_finite(solver, bad, every, part):
    if part == "gradient":
        problem = with_gradient(turning(lambda X: S @ X, lambda X: bad * np.ones_like(X), 60))
    elif part == "prox":
        problem = with_prox(lambda call, y: bad * np.ones_like(y) if call >= 40 else None)
    else:
        function = turning(lambda X: np.sum(X * (S @ X)) / 2, lambda X: bad, 90)
        problem = with_gradient(lambda X: S @ X, function, lipschitz=None if "unknown" in part else 20.0)
    seen, stop = [], Iterations(400) | (lambda now: seen.append(now.X) or False)
    watch = [lambda now: seen.append(now.X)]
    result = solve(problem, solver, stop=stop, record=Recorder(every=every), observers=watch)
    if part == "prox" and solver == "subgradient":  # which never asks for it
        return
    assert result.status is Status.NOT_FINITE
    assert "no longer finite; this is the last finite state" in result.message and not result.success
    assert result.iterations > 5 or part != "prox" or solver == "oadmm"  # whose steps are blocks
    assert_finite(result, ("X",) if part == "prox" else ("X", "y", "z"))  # y comes from the prox
    assert np.isfinite(seen).all() and (every > 1 or len(seen) == 2 * (result.iterations + 1))
