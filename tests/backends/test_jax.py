"""JAX: what is compiled, how often, and what is not."""

import gc
import weakref
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pytest

from backends.problems import HOLES, PROBLEMS, B, C, N, R, quartic
from backends.test_steps import METHODS as STEPS
from orthoprox import Iterations, Problem, RunFailed, Solver, Stiefel, iterate, named, solve
from orthoprox.backends import backend_of, compile_seconds
from orthoprox.backends._compiling import compiling
from orthoprox.maps import Entries, Matrix, Sum
from orthoprox.models import sparse_pca
from orthoprox.solvers import SOLVERS as METHODS
from orthoprox.terms import L1, Linear, NegativePart, Smooth

pytestmark = pytest.mark.backends
M = Stiefel(N, R)


@pytest.fixture
def traces(jax, monkeypatch) -> Iterator[list[str]]:
    """A line for every time that Python goes through a step: once for a compiled step, however often it runs."""
    seen: list[str] = []

    def counting(cls: type[Solver[Any]]) -> Any:
        step = cls.step

        def counted(self: Any, problem: Any, state: Any) -> Any:
            seen.append(self.name)
            return step(self, problem, state)

        return counted

    for cls in {type(solver) for solver in METHODS.values()}:
        monkeypatch.setattr(cls, "step", counting(cls))
    return seen


SEARCHED = [("oadmm-rr, bb-long", name) for name in ("stack of three", "entries, scad minus largest-k")]
PLAIN = [(solver, "l1 minus largest-k") for solver in ("oadmm-ep", "oadmm-rr, qr", "subgradient")]


@pytest.mark.parametrize(("solver", "name"), [*PLAIN, *SEARCHED])
def test_a_hundred_steps_are_traced_once(jax, traces, solver, name):
    """A line search is part of the program, also along a map that is not a product from the left."""
    trials = []
    watch = [lambda now: trials.append(int(getattr(now.state, "trials", 1)))]
    result = solve(PROBLEMS[name](jax.numpy.asarray), STEPS[solver], stop=Iterations(100), observers=watch)
    assert result.iterations == 100
    assert len(traces) == 1
    assert isinstance(result.state.t, jax.Array)  # counted inside
    assert max(trials) > 1 or (solver, name) not in SEARCHED


def test_a_step_is_compiled_once_for_a_problem_and_its_settings(jax, traces):
    """Norms and weights are part of the program, so a problem with other data is another one."""
    problem = PROBLEMS["plain l1, centred"](jax.numpy.asarray)
    first = solve(problem, "oadmm-ep", stop=Iterations(10))
    solve(problem, "oadmm-ep", seed=7, stop=Iterations(30))
    solver = named("oadmm-ep", beta0=first.solver.beta0)
    solve(problem, solver, stop=Iterations(20), resume=first.state)
    assert len(traces) == 1
    solve(problem, named("oadmm-ep", beta0=2.0 * solver.beta0), stop=Iterations(5))
    assert len(traces) == 2
    for seed in range(2):
        D = jax.numpy.asarray(np.random.default_rng(seed).standard_normal((20, N)))
        solve(sparse_pca(D, n_components=R, weight=0.1), solver, stop=Iterations(10))
    assert len(traces) == 4


@dataclass(frozen=True)
class OwnTerm(NegativePart):
    """A term of a user's with a field that is called like the counter of a state."""

    t: int = 2


def test_arrays_are_arguments_of_a_compiled_step_and_numbers_are_part_of_it(jax):
    """A step that was compiled for one problem gives the right answer for its twin with other arrays."""
    first, second = (
        Problem.of(Linear(jax.numpy.asarray(s * np.ones((N, R)))) + OwnTerm(weight=0.5), over=M) for s in (1.0, -1.0)
    )
    solver = named("oadmm-ep", beta0=1.0)
    state = solver.init(first, jax.numpy.asarray(M.random(0)))
    step = jax.jit(solver.step)
    one = backend_of(state.now.X).repeat(solver.step, first, state, 1)  # which tells JAX about our classes
    assert np.allclose(step(first, state).now.X, one.now.X, atol=1e-14)
    assert np.allclose(step(second, state).now.X, solver.step(second, state).now.X, atol=1e-14)
    assert not np.allclose(step(second, state).now.X, step(first, state).now.X)
    assert all(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(first))


def test_a_compiled_step_lives_as_long_as_its_problem(jax):
    from orthoprox.backends.jax import _compiled

    gc.collect()
    before = len(_compiled)
    problem = PROBLEMS["plain l1, centred"](jax.numpy.asarray)
    gone = weakref.ref(problem)
    solve(problem, "oadmm-ep", stop=Iterations(3))
    assert len(_compiled) == before + 1
    del problem
    gc.collect()
    assert gone() is None
    assert len(_compiled) == before


def test_host_problems_run_uncompiled_and_masks_and_lists_of_maps_compile(jax, traces):
    asarray, mask = jax.numpy.asarray, np.random.default_rng(0).random((N, R)) < 0.5
    host = sparse_pca(HOLES, n_components=R, weight=0.1)
    masked = Problem.of(Linear(asarray(C[:R].T)) + 0.1 * L1() @ Entries(mask), over=M)
    several = Problem.of(Linear(asarray(B[:R].T)) + L1() @ Sum([Matrix(asarray(C)), Matrix(asarray(C))]), over=M)
    for problem, count in ((host, 7), (masked, 1), (several, 1)):
        traces.clear()
        solve(problem, "oadmm-ep", X0=asarray(problem.M.random(0)), stop=Iterations(7))
        assert len(traces) == count


def in_numpy(X: Any) -> tuple[Any, Any]:
    X = np.asarray(X)
    return np.sum(X**4) / 4, X**3


def with_a_question(X: Any) -> tuple[Any, Any]:
    return (quartic(X)) if X[0, 0] > -2 else (0.0 * X.sum(), 0.0 * X)


@pytest.mark.parametrize("function", [in_numpy, with_a_question])
def test_a_function_that_cannot_be_traced_runs_uncompiled_with_a_warning(jax, traces, function):
    problem = Problem.of(Smooth(function, lipschitz=3.0) + 0.1 * L1(), over=M)
    X0 = M.random(0)
    with pytest.warns(RuntimeWarning, match="cannot compile this problem, so its steps run uncompiled") as told:
        result = solve(problem, "oadmm-ep", X0=jax.numpy.asarray(X0), stop=Iterations(8))
    assert len(told) == 1
    assert len(traces) == 9  # the attempt, and eight steps
    assert np.allclose(result.X, solve(problem, "oadmm-ep", X0=X0, stop=Iterations(8)).X, atol=1e-12)


def test_an_error_in_a_function_is_not_hidden(jax):
    def broken(X: Any) -> tuple[Any, Any]:
        if isinstance(X, jax.core.Tracer):
            raise ZeroDivisionError("on purpose")
        return quartic(X)

    problem = Problem.of(Smooth(broken, lipschitz=3.0) + 0.1 * L1(), over=M)
    with pytest.raises(RunFailed, match="ZeroDivisionError"):
        solve(problem, "oadmm-ep", X0=jax.numpy.asarray(M.random(0)), stop=Iterations(3))


def test_not_a_number_does_not_raise(jax):
    problem = PROBLEMS["l1 minus largest-k"](jax.numpy.asarray)
    for solver in ("oadmm-ep", "oadmm-rr, bb-long", "subgradient"):
        method = STEPS[solver].for_problem(problem)
        state = method.init(problem, jax.numpy.full((N, R), jax.numpy.nan))
        after = next(islice(iterate(problem, method, state), 2, None))
        assert np.all(np.isnan(after.now.X))


def test_without_double_precision(jax):
    """As JAX comes: no float64 and no int64, and no warning about it."""
    jax.config.update("jax_enable_x64", False)
    try:
        D = jax.numpy.asarray(B)
        assert D.dtype == jax.numpy.float32
        for solver in ("oadmm-rr", "subgradient"):
            result = solve(sparse_pca(D, n_components=R, weight=0.1, k=12), solver, X0=M.random(0), stop=Iterations(10))
            assert result.X.dtype == jax.numpy.float32
            assert np.isfinite(result.objective)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_a_loop_with_numbers_of_weak_type(jax):
    """Python numbers enter a compiled loop without a type of their own and must be able to leave it."""
    backend = backend_of(jax.numpy.zeros(1))

    @jax.jit
    def halved(X: Any, eta: Any) -> Any:
        return backend.while_loop(
            lambda run: (run[0].sum() > 1.0) & (run[2] < 60),
            lambda run: (run[0] / 2, 0.5 * run[1], run[2] + 1),
            (X, eta, 1),
        )

    for dtype in ("float32", "float64"):
        X, eta, turns = halved(jax.numpy.ones((2, 2), dtype=dtype), 1.0)
        assert X.dtype == dtype
        assert (float(eta), int(turns)) == (0.25, 3)


def test_what_jax_compiles_by_itself_is_no_time_of_the_method(jax):
    """Steps by hand compile every operation; what a program compiles inside is counted once."""
    from orthoprox.backends.jax import COMPILES

    heard: list[tuple[str, float]] = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, seconds, **_: heard.append((event, seconds)))
    x, before = jax.numpy.ones(211), compile_seconds()
    heard.clear()
    jax.numpy.cumsum(x) + 1.25
    alone = sum(seconds for event, seconds in heard if event in COMPILES)
    assert compile_seconds() - before == pytest.approx(alone) and alone > 0
    with compiling():
        before = compile_seconds()
        jax.numpy.cumsum(jax.numpy.ones(223)) + 1.25
        assert compile_seconds() == before
    assert compile_seconds() > before
