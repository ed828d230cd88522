"""Many runs together give what each gives alone."""

from typing import Any

import numpy as np
import pytest

from backends.problems import PROBLEMS, N, R
from orthoprox import Critical, Iterations, Problem, Seconds, Status, Stiefel, named, solve, solve_many
from orthoprox.driver import _batch
from orthoprox.models import sparse_pca
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.starts import Leading
from orthoprox.terms import L1, Smooth

STAGE = pytest.mark.backends


@pytest.fixture
def together(monkeypatch) -> list[int]:
    """How many runs went together, batch by batch."""
    seen: list[int] = []
    run = _batch.Batch.run

    def counted(self: Any) -> Any:
        found = run(self)
        seen.append(len(found))
        return found

    monkeypatch.setattr(_batch.Batch, "run", counted)
    return seen


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
@pytest.mark.parametrize("library", ["torch", "jax"], indirect=True)
@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("l1 minus largest-k", "oadmm-ep"),
        ("stack of three", "oadmm-rr"),
        ("negative part", "radmm"),
        ("mcp of differences", "spgm-ep"),
        ("plain l1, centred", "socm"),
    ],
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
@pytest.mark.parametrize("library", ["torch", "jax"], indirect=True)
@pytest.mark.parametrize("method", [named("oadmm-ep"), Projections(explore=4), named("spgm-rr")], ids=lambda m: m.name)
def test_many_problems_stop_by_themselves(library, together, method, monkeypatch):
    """Each at its own iteration, so the batch shrinks on the way."""
    monkeypatch.setattr(_batch, "FEW", 0)
    rule = Iterations(60) | Critical(1.3 if method.name != "oadmm: projections" else 1e-5)
    one = [solve(sparse_pca(D, n_components=R, weight=1.0), method, stop=rule) for D in tables(6)]
    many = solve_many(
        [sparse_pca(library.asarray(D), n_components=R, weight=1.0) for D in tables(6)], method, stop=rule
    )
    assert together == [6]
    assert len({result.iterations for result in one}) > 2
    for a, b in zip(one, many, strict=True):
        agree(a, b, library, 1e-6)


@STAGE
def test_numpy_problems_on_a_device_of_pytorch(torch, together):
    problems = [sparse_pca(D, n_components=R, weight=1.0) for D in tables(3)]
    X0 = np.stack([problems[0].M.random(seed) for seed in (4, 5, 6)])
    found = solve_many(problems, "oadmm-ep", X0, stop=Iterations(20), device="cpu")
    assert together == [3]
    for problem, X, result in zip(problems, X0, found, strict=True):
        assert type(result.X) is np.ndarray and result.start == "given"
        assert np.allclose(result.X, solve(problem, "oadmm-ep", X, stop=Iterations(20)).X, atol=1e-12)
        assert solve(problem, "oadmm-ep", stop=Iterations(25), resume=result.state).iterations == 25
    with pytest.raises(ValueError, match="device must be cpu, cuda"):
        solve_many(problems, "oadmm-ep", device="abacus")
    if not torch.cuda.is_available():
        with pytest.raises(ValueError, match="CUDA|no GPU"):
            solve_many(problems, "oadmm-ep", device="cuda")
    there = [sparse_pca(torch.tensor(D), n_components=R, weight=1.0) for D in tables(3)]
    with pytest.raises(ValueError, match="stay where they are"):
        solve_many(there, "oadmm-ep", device="cpu")


@STAGE
def test_a_run_that_breaks_ends_alone_at_its_last_finite_state(torch, together):
    def fall(X: Any) -> tuple[Any, Any]:
        edge = torch.where(X[0, 0] > 0.5, torch.nan, 0.0)
        return X.sum() + edge, torch.ones_like(X) + edge

    problem = Problem.of(Smooth(fall, lipschitz=1.0) + 0.1 * L1(), over=Stiefel(4, 1))
    starts = torch.tensor(np.eye(4)[:, :, None][[1, 2, 3]])
    starts[0, 0, 0] = -0.4  # only the first one crosses the line
    starts[0] = problem.M.project(starts[0])
    found = solve_many(problem, named("oadmm-ep", beta0=5.0), -starts, stop=Iterations(60))
    alone = [solve(problem, named("oadmm-ep", beta0=5.0), -X, stop=Iterations(60)) for X in starts]
    assert [result.status for result in found] == [result.status for result in alone]
    assert all(bool(torch.isfinite(result.X).all()) for result in found)


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
    ):
        with pytest.raises(ValueError, match=sentence):
            solve_many(**given)
    with pytest.raises(TypeError, match="must hold Problems"):
        solve_many([1])
    with pytest.raises(TypeError, match="name of a solver"):
        solve_many(problem, 7, seeds=[1])
