"""Steps without branches, as a device records them: the same numbers, and what happens where an assumption fails."""

import functools
import gc
import sys
import threading
import weakref
from typing import Any

import numpy as np
import pytest

from backends.problems import PROBLEMS, N, R
from orthoprox import Critical, Iterations, Problem, Recorder, Seconds, Stiefel, _trust_region_program, named, solve
from orthoprox.backends import backend_of
from orthoprox.backends._speculation import MOST_EFFORT, speculate, speculation
from orthoprox.backends._tree import flatten, select
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, Linear, Smooth

pytestmark = pytest.mark.backends
METHODS = ("oadmm-ep", "oadmm-rr", "radmm", "spgm-ep", "spgm-rr", "socm", "madmm", "rsg", "subgradient")


@pytest.fixture
def graphs(torch, monkeypatch) -> Any:
    """Record on the CPU too, where a recording is called instead of a graph, and from the first step on."""
    from orthoprox.backends import _graphs
    from orthoprox.backends import torch as backend

    monkeypatch.setattr(backend, "RECORDED", {"cpu", "cuda"})
    monkeypatch.setattr(_graphs, "ENOUGH", 0)
    monkeypatch.setattr(_graphs, "LIBRARY", library := _graphs.Library())
    monkeypatch.setattr(backend, "LIBRARY", library)
    return _graphs


def programs(graphs: Any, problem: Problem) -> list[Any]:
    return [known for known in graphs.LIBRARY._of(problem).values() if isinstance(known, graphs.Program)]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["l1 minus largest-k", "stack of three", "entries, scad minus largest-k"])
def test_recorded_steps_are_those_of_numpy(graphs, torch, method, name):
    """Also across a refresh of products that are carried along, which no program has."""
    make = PROBLEMS[name]
    X0, there = make(np.asarray).M.random(3), make(torch.tensor)
    rule, solver = Iterations(55), named(method)
    here = solve(make(np.asarray), solver, X0=X0, stop=rule)
    other = solve(there, solver, X0=torch.tensor(X0), stop=rule, record=Recorder(every=20))
    assert np.max(np.abs(here.X - other.X.numpy())) < 1e-9
    assert other.objective == pytest.approx(here.objective, abs=1e-9)
    assert (other.iterations, type(other.state.t)) == (55, int)
    assert programs(graphs, there) and not any(program.given_up for program in programs(graphs, there))
    assert list(other.history.iteration) == [0, 20, 40, 55]


def test_the_default_solver_records_its_blocks_and_measurements(graphs, torch):
    D = np.random.default_rng(1).standard_normal((60, 20)) * np.linspace(3, 0.5, 20)
    here, there = (sparse_pca(a, n_components=3, weight=2.0) for a in (D, torch.tensor(D)))
    rule = Iterations(200) | Critical(1e-7)
    one, other = solve(here, stop=rule), solve(there, stop=rule)
    assert one.converged and other.converged
    assert other.objective == pytest.approx(one.objective, rel=1e-9)
    assert any(isinstance(known, graphs.Numbers) for known in graphs.LIBRARY._of(there).values())
    assert programs(graphs, there) and other.compile_seconds > 0 == one.compile_seconds


@pytest.mark.parametrize("name", ["mcp of differences", "stack of three", "groups of a matrix"])
def test_newton_steps_of_the_default_solver_record_their_products(graphs, torch, name):
    make = PROBLEMS[name]
    here, there = make(np.asarray), make(torch.tensor)
    X0 = here.M.random(3)
    one, other = solve(here, X0=X0, stop=Iterations(2)), solve(there, X0=torch.tensor(X0), stop=Iterations(2))
    assert np.max(np.abs(one.X - other.X.numpy())) < 1e-9  # in a third step rounding decides
    known = graphs.LIBRARY._of(there).items()
    (program,) = (found for (step, *_), found in known if step[0] is _trust_region_program.iterate)
    assert program._steps and not program.given_up
    # A number would become a tensor, and a slice that ends at one would ask the host.
    leaves = flatten(there.h.prox_derivative(torch.ones(there.shape, dtype=torch.float64), 0.1)).leaves
    assert all(getattr(leaf, "ndim", 0) > 0 for leaf in leaves)


def test_a_wrong_assumption_is_noticed_and_the_step_taken_with_its_branches(graphs, torch):
    """A projection of a rank-deficient matrix needs an SVD, which no program has."""
    cliff = Smooth(lambda X: (0 * X.sum(), 0 * X), lipschitz=1.0)
    problem = Problem.of(cliff + 1e-9 * L1(), over=Stiefel(N, R))
    flat = torch.zeros((N, R), dtype=torch.float64)
    flat[0, :] = 1.0

    def collapse(problem: Problem, state: Any) -> Any:
        return type(state)(problem.M.project(flat + 0 * state.X), state.count + 1)

    from backends.counted import Counted

    found = graphs.LIBRARY.repeat(collapse, problem, Counted(problem.M.random(0, like=flat), 0), 5, flat.device)
    assert found.count == 5 and type(found.count) is int
    assert np.allclose(found.X, problem.M.project(flat))
    (program,) = programs(graphs, problem)
    assert program._effort == 2  # more products were tried first


def climb(problem: Problem, state: Any) -> Any:
    """A step up, and back to the ground in the rare case that it is too high."""
    up = state.X + 1
    X = backend_of(up).usually(up[0, 0] < 6.5, lambda a: a, lambda a: 0 * a, up)
    return type(state)(X, state.count + 1)


def test_the_rare_case_of_a_choice_is_noticed(graphs, torch):
    """It is one step of a block, and those after it are usual again."""
    from backends.counted import Counted

    problem = Problem.of(Linear(torch.ones((N, R), dtype=torch.float64)) + L1(), over=Stiefel(N, R))
    start = Counted(torch.zeros((N, R), dtype=torch.float64), 0)
    found = graphs.LIBRARY.repeat(climb, problem, start, 20, torch.device("cpu"))
    assert (found.count, found.X.unique().tolist()) == (20, [20 % 7])
    assert not programs(graphs, problem)[0].given_up


def test_the_rare_case_is_noticed_in_loops_of_jax(jax, monkeypatch):
    from backends.counted import Counted
    from orthoprox.backends import jax as backend

    monkeypatch.setattr(backend, "SPECULATIVE", {"cpu"})
    problem = Problem.of(Linear(jax.numpy.ones((N, R))) + L1(), over=Stiefel(N, R))
    start = Counted(jax.numpy.zeros((N, R)), 0)
    found = backend.JAX.repeat(climb, problem, start, 20)
    assert (int(found.count), np.unique(found.X).tolist()) == (20, [20 % 7])


def test_a_long_loop_of_jax_is_one_round_compiled_and_what_it_assumed_counts(jax):
    rounds = []

    def up(edge: float, X: Any) -> Any:
        rounds.append(1)
        speculation().assume(X < 6.5)
        speculation().settle(X < edge)
        return X + 1

    for edge, enough in ((9.5, False), (20.5, True)):
        with speculate(0) as assumed:
            found = backend_of(jax.numpy.zeros(1)).loop(functools.partial(up, edge), jax.numpy.asarray(0.0), 20)
        assert (float(found), bool(assumed.usual), bool(assumed.enough)) == (20.0, False, enough)
    with speculate(MOST_EFFORT):
        found = backend_of(jax.numpy.zeros(1)).while_loop(
            lambda X: X < 6.5, functools.partial(up, 9.5), jax.numpy.asarray(0.0)
        )
    assert float(found) == 7.0
    assert len(rounds) < 7 + 3  # each of the three traced twice or thrice


def test_a_step_that_asks_the_host_runs_as_it_is(graphs, torch):
    from backends.counted import Counted

    problem = Problem.of(Linear(torch.ones((N, R), dtype=torch.float64)) + L1(), over=Stiefel(N, R))
    calls = []

    def ask(problem: Problem, state: Any) -> Any:
        calls.append(1)
        if speculation() is not None:
            raise RuntimeError("called a synchronizing operation")
        return type(state)(state.X + 0, state.count + 1)

    found = graphs.LIBRARY.repeat(
        ask, problem, Counted(problem.M.random(0, like=torch.zeros(1)), 0), 7, torch.device("cpu")
    )
    assert found.count == 7
    assert programs(graphs, problem)[0].given_up


def test_what_is_one_matrix_in_two_places_stays_one_after_a_choice():
    """As X and A(X) of a point where A = I: a recording takes states of one layout only."""
    one, other, same = np.ones((2, 2)), np.zeros((2, 2)), np.full((2, 2), 3.0)
    found = select(np.asarray(True), np.where, (one, one, same, other), (other, other, same, one))
    assert found[0] is found[1] and found[2] is same and found[3] is not found[0]
    assert np.array_equal(found[0], one) and np.array_equal(found[3], other)


def test_a_state_of_another_layout_is_led_on_by_hand(graphs, torch):
    """A recording made where two parts were one matrix must neither fail nor mix them up where they are two."""
    from backends.counted import Counted

    problem = Problem.of(Linear(torch.ones((N, R), dtype=torch.float64)) + L1(), over=Stiefel(N, R))
    X = problem.M.random(0, like=torch.zeros(1, dtype=torch.float64))

    def ahead(problem: Problem, state: Any) -> Any:
        one, two = state.X
        new = one + 1
        return type(state)((new, new if two is one else two + 2), state.count + 1)

    graphs.LIBRARY.repeat(ahead, problem, Counted((X, X), 0), 12, X.device)
    (program,) = programs(graphs, problem)
    found = program.run(ahead, problem, Counted((X, -X), 0), 3, X.device)
    assert torch.allclose(found.X[0], X + 3, atol=1e-14) and torch.allclose(found.X[1], 6 - X, atol=1e-14)
    assert found.count == 3 and not program.given_up


def test_no_step_asks_the_host(torch):
    """On a GPU such a question would end the recording: a mode of PyTorch's sees them on a CPU as well."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class NoQuestions(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            assert str(func) not in {"aten._local_scalar_dense.default", "aten.nonzero.default"}, func
            return func(*args, **(kwargs or {}))

    for make in PROBLEMS.values():
        for method in METHODS:
            problem = make(torch.tensor)
            solver = named(method).for_problem(problem)
            state = solver.step(problem, solver.init(problem, torch.tensor(make(np.asarray).M.random(3))))
            tree = flatten(state)
            leaves = [leaf if hasattr(leaf, "ndim") else torch.full((), float(leaf)) for leaf in tree.leaves]
            with speculate(0), NoQuestions():
                solver.step(problem, tree.build(leaves))
                solver.numbers(problem, tree.build(leaves))


def test_time_is_kept_between_recordings(graphs, torch):
    D = torch.tensor(np.random.default_rng(0).standard_normal((400, 300)))
    result = solve(
        sparse_pca(D, n_components=5, weight=1.0), "oadmm-ep", stop=Seconds(0.3), record=Recorder(every=10**6)
    )
    assert 0.3 <= result.seconds < 1.3
    assert result.iterations > 64


@pytest.mark.parametrize("method", ["oadmm-ep", "spgm-rr"])
def test_loops_of_jax_without_branches(jax, monkeypatch, method):
    from orthoprox.backends import jax as backend

    monkeypatch.setattr(backend, "SPECULATIVE", {"cpu"})
    make = PROBLEMS["l1 minus largest-k"]
    X0, there = make(np.asarray).M.random(3), make(jax.numpy.asarray)
    here = solve(make(np.asarray), method, X0=X0, stop=Iterations(55))
    other = solve(there, method, X0=jax.numpy.asarray(X0), stop=Iterations(55), record=Recorder(every=25))
    assert np.max(np.abs(here.X - np.asarray(other.X))) < 1e-9
    (program,) = (known for known in backend._compiled[there].values() if isinstance(known, backend.Program))
    assert program._loops and None not in program._loops and program._can_loop


def test_threads_share_a_problem(graphs, torch):
    """Its recordings have one set of buffers, so they take turns."""
    D = torch.tensor(np.random.default_rng(1).standard_normal((30, 12)))
    problem, solver = sparse_pca(D, n_components=3, weight=1.0), named("oadmm-ep")
    there: dict[int, Any] = {}

    def run(seed: int) -> None:
        there[seed] = solve(problem, solver, seed=seed, stop=Iterations(100), record=Recorder(every=10)).X

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=run, args=(seed,)) for seed in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    for seed, X in there.items():
        alone = solve(sparse_pca(D.numpy(), n_components=3, weight=1.0), solver, seed=seed, stop=Iterations(100))
        assert np.max(np.abs(alone.X - X.numpy())) < 1e-9


def test_a_recorded_graph_does_not_keep_its_problem_alive(graphs, torch, monkeypatch):
    """As on a GPU, where what was recorded is not called again."""

    class Recorded(graphs.Recording):
        def __init__(self, act: Any, device: Any) -> None:
            super().__init__(act, device)
            self._act = graphs._nothing

    monkeypatch.setattr(graphs, "Recording", Recorded)
    problem = sparse_pca(torch.tensor(np.random.default_rng(1).standard_normal((30, 12))), n_components=3, weight=1.0)
    solver = named("oadmm-ep").for_problem(problem)
    state = solver.init(problem, problem.M.random(0, like=problem.like))
    graphs.LIBRARY.repeat(solver.step, problem, state, 20, torch.device("cpu"))
    assert programs(graphs, problem)
    seen = weakref.ref(problem)
    del problem, state
    gc.collect()
    assert seen() is None and not graphs.LIBRARY._seen
