"""Many runs together give what each gives alone."""

import pickle
import signal
from typing import Any

import numpy as np
import pytest

from backends.problems import PROBLEMS, N, R
from orthoprox import (
    Critical,
    Iterations,
    Problem,
    Recorder,
    RunFailed,
    Seconds,
    Status,
    Stiefel,
    When,
    named,
    solve,
    solve_many,
)
from orthoprox._fields import replace
from orthoprox.driver import _batch, _together
from orthoprox.driver._together import MOST_EFFORT, States, Together
from orthoprox.models import sparse_pca
from orthoprox.solvers import NewtonBlocks
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts import Leading
from orthoprox.terms import L1, Linear, Smooth

STAGE = pytest.mark.backends


def agree(one: Any, other: Any, library: Any, tolerance: float = 1e-9) -> None:
    """Two results, the first in NumPy: the same to rounding."""
    assert (one.status, one.iterations, one.start) == (other.status, other.iterations, other.start)
    for a, b in ((one.X, other.X), (one.y, other.y), (one.z, other.z)):
        assert np.max(np.abs(a - library.numpy(b))) < tolerance * max(1.0, float(np.max(np.abs(a))))
    assert other.objective == pytest.approx(one.objective, abs=tolerance * max(1.0, abs(one.objective)))
    assert other.criticality == pytest.approx(one.criticality, abs=100 * tolerance * max(1.0, one.criticality))
    assert list(one.history.iteration) == list(other.history.iteration)
    assert np.allclose(one.history.objective, other.history.objective, rtol=1e-7, atol=1e-7)
    assert other.infeasibility < 1e-12 and other.notes == one.notes


@STAGE
@pytest.mark.parametrize(
    ("library", "name", "method"),
    [
        ("torch", "l1 minus largest-k", "oadmm-ep"),
        ("torch", "stack of three", "oadmm-rr"),
        ("torch", "negative part", "radmm"),
        ("torch", "mcp of differences", "spgm-ep"),
        ("torch", "groups of a matrix", "oadmm-ep"),
        ("torch", "plain l1, centred", "socm"),
        # JAX compiles each for half a minute: one projection, one search along a curve
        ("jax", "l1 minus largest-k", "oadmm-ep"),
        ("jax", "negative part", "oadmm-rr"),
    ],
    indirect=["library"],
)
def test_one_problem_from_many_starts(library, together, name, method):
    rule = Iterations(40) | Critical(1e-3)
    found = solve_many(PROBLEMS[name](library.asarray), method, seeds=range(4), stop=rule)
    assert together == [4]
    for seed, result in enumerate(found):
        assert library.owns(result.X)
        agree(solve(PROBLEMS[name](np.asarray), method, seed=seed, stop=rule), result, library)


def tables(count: int) -> list[Any]:
    rng = np.random.default_rng(5)
    return [rng.standard_normal((40, N)) * np.linspace(3, 0.3, N) for _ in range(count)]


@STAGE
@pytest.mark.parametrize(
    ("library", "method", "count"),
    [
        ("torch", "oadmm-ep", 6),
        ("torch", "projections", 6),
        ("torch", "newton blocks", 6),
        ("torch", "spgm-rr", 6),
        ("jax", "oadmm-ep", 4),
    ],
    indirect=["library"],
)
def test_many_problems_stop_by_themselves(library, together, method, count, monkeypatch):
    """Each at its own iteration, so the batch shrinks on the way, and JAX compiles it for every size."""
    monkeypatch.setattr(_batch, "FEW", 0)
    own = {"projections": Projections(explore=4), "newton blocks": NewtonBlocks(block=3, rounds=2)}
    rule = Iterations(60) | Critical(1e-5 if method in own else 1.3)
    method = own[method] if method in own else named(method)
    one = [solve(sparse_pca(D, n_components=R, weight=1.0), method, stop=rule) for D in tables(count)]
    many = solve_many(
        [sparse_pca(library.asarray(D), n_components=R, weight=1.0) for D in tables(count)], method, stop=rule
    )
    assert together == [count]
    assert len({result.iterations for result in one}) > 2
    for a, b in zip(one, many, strict=True):
        # The multiplier of two columns that share no row is open: z is known up to what is normal to the manifold.
        b = replace(b, z=library.asarray(a.z + Stiefel(N, R).tangent(a.X, library.numpy(b.z) - a.z)))
        agree(a, b, library, 1e-6)


@STAGE
def test_histories_of_measurements_by_a_program_are_those_of_runs_alone(torch, monkeypatch):
    """A small batch is measured by a program after a few looks, here after none."""
    programs, step = [], _together.Measuring.step
    monkeypatch.setattr(_together, "LOOKS", 0)
    monkeypatch.setattr(_together.Measuring, "step", lambda *given: programs.append(1) or step(*given))
    rule, record = Iterations(6), Recorder(every=1)
    problems = [sparse_pca(D, n_components=R, weight=1.0) for D in tables(3)]
    found = solve_many(problems, "oadmm-ep", stop=rule, device="cpu", record=record)
    assert len(programs) == 6
    for problem, result in zip(problems, found, strict=True):
        alone = solve(problem, "oadmm-ep", stop=rule, record=Recorder(every=1))
        for name in ("objective", "criticality", "sparsity"):
            assert np.allclose(result.history[name], alone.history[name], rtol=1e-9, atol=1e-12)


@STAGE
def test_numpy_problems_on_a_device_of_pytorch(torch, together):
    problems = [sparse_pca(D, n_components=R, weight=1.0) for D in tables(3)]
    X0 = np.stack([problems[0].M.random(seed) for seed in (4, 5, 6)])
    found = solve_many(problems, "oadmm-ep", X0, stop=Iterations(20), device=torch.device("cpu"))
    assert together == [3]
    for problem, X, result in zip(problems, X0, found, strict=True):
        assert type(result.X) is np.ndarray and result.start == "given"
        assert np.allclose(result.X, solve(problem, "oadmm-ep", X, stop=Iterations(20)).X, atol=1e-12)
        assert solve(problem, "oadmm-ep", stop=Iterations(25), resume=result.state).iterations == 25
    with pytest.raises(ValueError, match="device must be cpu, cuda"):
        solve_many(problems, "oadmm-ep", device=0)
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="CUDA|no GPU"):
            solve_many(problems, "oadmm-ep", device="cuda")
    there = [sparse_pca(torch.tensor(D), n_components=R, weight=1.0) for D in tables(3)]
    with pytest.raises(ValueError, match="stay where they are"):
        solve_many(there, "oadmm-ep", device="cpu")


@STAGE
def test_runs_that_end_where_they_begin_leave_the_others_together(torch, together):
    problems = [sparse_pca(torch.tensor(D), n_components=R, weight=1.0) for D in tables(3)]
    X0 = torch.stack([torch.tensor(problems[0].M.random(seed)) for seed in range(3)])
    rule = Critical(9.0)
    found = solve_many(problems, "oadmm-ep", X0, stop=rule)
    assert together == [2]
    for problem, X, result in zip(problems, X0, found, strict=True):
        alone = solve(problem, "oadmm-ep", X, stop=rule)
        assert (result.status, result.iterations, result.notes) == (alone.status, alone.iterations, alone.notes)
        assert float((result.X - alone.X).abs().max()) < 1e-12
    assert [result.iterations for result in found] == [1, 1, 0]


@STAGE
def test_a_device_that_was_not_used_is_told_of(torch):
    (found,) = solve_many([sparse_pca(tables(1)[0], n_components=R, weight=1.0)], device="auto", stop=Iterations(1))
    assert "device='auto' was not used" in found.notes[-1]


@STAGE
def test_a_run_that_breaks_ends_alone_at_its_last_finite_state(torch, together):
    pull = torch.tensor(np.eye(4, 1))

    def fall(X: Any) -> tuple[Any, Any]:
        """Low at both poles, and without a value near one of them."""
        edge = torch.where(X[0, 0] > 0.7, torch.nan, 0.0)
        return -2 * (pull * X).sum() ** 2 + edge, -4 * pull * X + edge

    problem = Problem.of(Smooth(fall, lipschitz=4.0) + 0.01 * L1(), over=Stiefel(4, 1))
    starts = torch.tensor(np.full((3, 4, 1), 0.5))
    starts[1:, 0] = -0.5  # only the first one crosses the line
    method, rule = named("oadmm-ep", beta0=5.0), Iterations(60)
    found = solve_many(problem, method, starts, stop=rule)
    alone = [solve(problem, method, X, stop=rule) for X in starts]
    assert together == [3]
    assert [result.status for result in found] == [Status.NOT_FINITE, Status.ITERATIONS, Status.ITERATIONS]
    assert [result.status for result in alone] == [result.status for result in found]
    assert np.isfinite(found[0].objective) and found[0].iterations == alone[0].iterations
    assert all(bool(torch.isfinite(result.X).all()) for result in found)


@STAGE
def test_a_run_that_breaks_in_its_first_step_ends_where_it_began(torch):
    pull, begin = torch.arange(1.0, 5.0, dtype=torch.float64)[:, None], torch.full((4, 1), 0.5, dtype=torch.float64)

    def fall(X: Any) -> tuple[Any, Any]:
        """Without a value but near the first start and around the other pole."""
        edge = torch.where((X[0, 0] > 0) & (((X - begin) ** 2).sum() > 1e-4), torch.nan, 0.0)
        return -(pull * X * X).sum() + edge, -2 * pull * X + edge

    problem = Problem.of(Smooth(fall, lipschitz=8.0) + 0.01 * L1(), over=Stiefel(4, 1))
    starts = torch.stack([begin, -begin])
    broken, whole = solve_many(problem, "oadmm-ep", starts, stop=Iterations(9))
    assert (broken.status, broken.iterations, whole.status) == (Status.NOT_FINITE, 0, Status.ITERATIONS)
    assert torch.equal(broken.X, begin) and np.isfinite(broken.objective)


@STAGE
@pytest.mark.parametrize("library", ["torch", "jax"], indirect=True)
def test_a_wrong_assumption_of_one_run_does_not_touch_the_others(library, together, monkeypatch):
    """With one Newton-Schulz step hardly any projection is right by products: all is done alone, and still right."""
    monkeypatch.setattr("orthoprox.manifolds._polar.PRODUCTS", (1, 1, 1))
    problem = PROBLEMS["plain l1, centred"]
    found = solve_many(problem(library.asarray), "oadmm-ep", seeds=range(2), stop=Iterations(4))
    assert together == [2]
    for seed, result in enumerate(found):
        agree(solve(problem(np.asarray), "oadmm-ep", seed=seed, stop=Iterations(4)), result, library)


@STAGE
def test_what_was_wrong_once_stays_so_until_somebody_looks(torch):
    problems = [sparse_pca(torch.tensor(D), n_components=R, weight=1.0) for D in tables(2)]
    solvers = [named("oadmm-ep").for_problem(problem) for problem in problems]
    runs = Together(problems, solvers, np.stack([problem.M.random(0) for problem in problems]), torch.as_tensor)
    _, states = runs.begin()
    states = States(states.leaves, states.right & torch.tensor([True, False]))
    assert runs._mapped.step(MOST_EFFORT, runs._data, states).right.tolist() == [True, False]


@STAGE
@pytest.mark.parametrize("library", ["torch", "jax"], indirect=True)
def test_single_precision_stays_single(library, together):
    """Also where numbers differ from run to run: a weight of double precision would make its problem double."""
    problems = [
        sparse_pca(library.asarray(D.astype(np.float32)), n_components=R, weight=weight)
        for D, weight in zip(tables(2), (0.5, 1.0), strict=True)
    ]
    found = solve_many(problems, "oadmm-ep", stop=Iterations(5))
    assert together == [2]
    for problem, result in zip(problems, found, strict=True):
        alone = solve(problem, "oadmm-ep", stop=Iterations(5))
        assert result.X.dtype == alone.X.dtype
        assert np.max(np.abs(library.numpy(result.X) - library.numpy(alone.X))) < 1e-5


@STAGE
def test_what_is_not_of_one_kind_is_solved_alone(torch, together):
    """A k that differs, a function that asks the host, sparse matrices: no error, and the same results."""

    def asks(X: Any) -> Any:
        return ((X**4).sum(), 4 * X**3) if float(X[0, 0]) > 0 else ((X**2).sum(), 2 * X)

    ks = [sparse_pca(torch.tensor(D), n_components=R, weight=1.0, k=k) for D, k in zip(tables(2), (4, 9), strict=True)]
    own = [Problem.of(Smooth(asks, lipschitz=12.0) + weight * L1(), over=Stiefel(N, R)) for weight in (0.1, 0.2)]
    for problems in (ks, own):
        X0 = torch.tensor(np.stack([problems[0].M.random(seed) for seed in (1, 2)]))
        found = solve_many(problems, "oadmm-ep", 2 * X0, stop=Iterations(4))
        for problem, X, result in zip(problems, 2 * X0, found, strict=True):
            alone = solve(problem, "oadmm-ep", X, stop=Iterations(4))
            assert torch.equal(result.X, alone.X)
    holes = [PROBLEMS["sparse data"](np.asarray) for _ in range(2)]
    assert len(solve_many(holes, "oadmm-ep", stop=Iterations(2), device="cpu")) == 2 and together == []


@STAGE
def test_a_batch_keeps_notes_and_columns(torch, together):
    problem = sparse_pca(torch.tensor(tables(1)[0]), n_components=R, weight=1.0)
    X0 = 2 * np.stack([problem.M.random(seed) for seed in range(2)])
    for result, X in zip(solve_many(problem, "oadmm-ep", X0, stop=Iterations(2)), X0, strict=True):
        assert result.notes == solve(problem, "oadmm-ep", X, stop=Iterations(2)).notes != ()
    assert together == [2]
    record = Recorder(extra={"twice": lambda now: 2 * now.t})
    found = solve_many(problem, "oadmm-ep", X0, stop=Iterations(2), record=record)
    assert [list(result.history.twice) for result in found] == [[0, 2, 4]] * 2


@STAGE
@pytest.mark.usefixtures("heard")
def test_an_interrupted_batch_returns_all_its_runs(torch, together, monkeypatch):
    steps = _batch.Together.advance

    def interrupted(self: Any, states: Any, count: int, ended: Any) -> Any:
        if seen.append(count) or len(seen) == 6:
            signal.raise_signal(signal.SIGINT)
        return steps(self, states, count, ended)

    seen: list[int] = []
    monkeypatch.setattr(_batch.Together, "advance", interrupted)
    problem = sparse_pca(torch.tensor(tables(1)[0]), n_components=R, weight=1.0)
    found = solve_many(problem, "oadmm-ep", seeds=range(2), stop=Iterations(100))
    assert [(result.status, result.iterations) for result in found] == [(Status.INTERRUPTED, 6)] * 2
    assert together == [2] and list(found[0].history.iteration) == list(range(7))
    assert solve(problem, "oadmm-ep", resume=found[1].state, stop=Iterations(8)).iterations == 8


@STAGE
def test_a_run_that_has_ended_is_not_led_on_alone(torch, together, monkeypatch):
    """Of a run that is not finite no assumption holds, and every step of it alone would wait for the host."""
    alone: list[int] = []
    monkeypatch.setattr(_batch.Together, "_alone", lambda self, state, k, count: alone.append(k) or state)
    nan = torch.tensor(float("nan"), dtype=torch.float64)

    def fall(X: Any) -> tuple[Any, Any]:
        edge = torch.where(X[0, 0] > 0.5, nan, 0.0)
        return edge - X[0, 0] ** 2, torch.cat([-2 * X[:1], 0 * X[1:]]) + edge

    problem = Problem.of(Smooth(fall, lipschitz=2.0) + 0.01 * L1(), over=Stiefel(4, 1))
    starts = torch.tensor(np.eye(4)[:, :, None][[1, 2, 3]])
    starts[0, 0, 0] = 0.4  # only the first one crosses the line
    starts[0] = problem.M.project(starts[0])
    found = solve_many(problem, named("oadmm-ep", beta0=5.0), starts, stop=Iterations(60))
    assert [result.status for result in found] == [Status.NOT_FINITE, Status.ITERATIONS, Status.ITERATIONS]
    assert len(alone) <= 1


class Raising:
    """A quadratic that raises after so many calls, and can go to another process."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, X: Any) -> tuple[Any, Any]:
        self.after -= 1
        if self.after < 0:
            raise ArithmeticError("enough")
        return np.sum(X**4) / 4, X**3


def raising(after: int) -> Problem:
    return Problem.of(Smooth(Raising(after), lipschitz=3.0) + 0.1 * L1(), over=Stiefel(4, 1))


def test_one_failure_does_not_lose_the_other_runs():
    """Neither here nor in a process; if all fail it is an error."""
    for jobs in (None, 2):
        problems = [raising(after) for after in (10**6, 200, 10**6)]
        with pytest.warns(RuntimeWarning, match="Run 1 of 3.*enough"):
            found = solve_many(problems, "oadmm-ep", stop=Iterations(300), n_jobs=jobs)
        assert [result.status for result in found] == [Status.ITERATIONS, Status.FAILED, Status.ITERATIONS]
        assert found[1].iterations > 0 and "enough" in found[1].notes[-1]
    with pytest.raises(RunFailed, match="enough") as raised:
        solve_many([raising(200) for _ in range(2)], "oadmm-ep", stop=Iterations(300))
    assert pickle.loads(pickle.dumps(raised.value)).result.iterations > 0


@pytest.mark.usefixtures("heard")
def test_ctrl_c_ends_runs_one_after_the_other():
    def stop(now: Any) -> None:
        if now.t == 3:
            signal.raise_signal(signal.SIGINT)

    problem = sparse_pca(tables(1)[0], n_components=R, weight=1.0)
    found = solve_many(problem, "oadmm-ep", seeds=range(3), stop=Iterations(9) | When(stop))
    assert [(result.status, result.iterations) for result in found] == [(Status.INTERRUPTED, 3)]


def test_without_stacks_runs_are_taken_one_by_one_or_in_processes():
    problems = [sparse_pca(D, n_components=R, weight=1.0) for D in tables(3)]
    rule = Iterations(5)
    alone = [solve(problem, seed=seed, stop=rule) for seed, problem in enumerate(problems)]
    for jobs in (None, 2):
        found = solve_many(problems, seeds=range(3), stop=rule, n_jobs=jobs)
        assert all(np.array_equal(a.X, b.X) for a, b in zip(alone, found, strict=True))
    (one,) = solve_many(problems[:1], X0=Leading(), stop=Seconds(0.0))
    assert one.start == "leading directions" and one.status is Status.SECONDS
    assert solve_many([]) == []


def test_bad_numbers_of_starts_get_a_sentence():
    problem = sparse_pca(tables(1)[0], n_components=R, weight=1.0)
    for given, sentence in (
        ({"problems": problem}, "give seeds, or a stack of points"),
        ({"problems": [problem], "seeds": [1, 2]}, "1 problems, 2 seeds"),
        ({"problems": problem, "X0": np.eye(N, R)}, "shape .k, n, r."),
        ({"problems": problem, "seeds": [1, 2], "n_jobs": 1.5}, "n_jobs must be whole; given 1.5"),
    ):
        with pytest.raises(ValueError, match=sentence):
            solve_many(**given)
    with pytest.raises(TypeError, match="must hold Problems"):
        solve_many([1])
    with pytest.raises(TypeError, match="name of a solver"):
        solve_many(problem, 7, seeds=[1])
    for seeds in (5, [0.5]):
        with pytest.raises(TypeError, match="whole numbers"):
            solve_many(problem, seeds=seeds)
    with pytest.raises(TypeError, match="a Problem or a sequence"):
        solve_many(None)


def test_what_cannot_be_sent_to_a_process_gets_a_sentence():
    problem = Problem.of(Smooth(lambda X: (X.sum(), np.ones_like(X))) + 0.1 * L1(), over=Stiefel(4, 1))
    with pytest.raises(ValueError, match="top level of a module"):
        solve_many(problem, seeds=range(2), n_jobs=2, stop=Iterations(2))


@STAGE
def test_runs_that_cannot_go_together_say_why(torch, together):
    def ask(X: Any) -> tuple[Any, Any]:
        return (X.sum(), torch.ones_like(X)) if float(X[0, 0]) < 2 else (0 * X.sum(), 0 * X)

    slope = Linear(torch.ones((4, 1), dtype=torch.float64))
    problem = Problem.of(slope + Smooth(ask, lipschitz=1.0) + 0.1 * L1(), over=Stiefel(4, 1))
    X0 = torch.tensor(np.eye(4, 1)[None])
    (found,) = solve_many(problem, "oadmm-ep", X0, stop=Iterations(3))
    assert together == [] and "one by one" in found.notes[-1] and "vmap" in found.notes[-1]
