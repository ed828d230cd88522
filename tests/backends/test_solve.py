"""A whole solve in every library: stopping, records, checkpoints, starts; results stay where the data are."""

from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace, is_array_api_obj
from scipy.sparse.linalg import aslinearoperator

from backends.problems import HOLES, PROBLEMS, B, N, R
from orthoprox import Checkpoint, Critical, Iterations, Problem, Status, Stiefel, named, solve
from orthoprox._fields import parts
from orthoprox.maps import Centred, Matrix
from orthoprox.models import compressed_modes, sparse_pca
from orthoprox.starts import Auto, Leading, Turned, Varimax
from orthoprox.terms import L1, ExplainedVariance, Linear, Smooth

TARGET = np.random.default_rng(8).standard_normal((N, R))


def easy(a: Any) -> Problem:
    """A problem on which OADMM gets to three tenths within the steps of a test."""
    return Problem.of(Linear(a(TARGET)) + 0.05 * L1(), over=Stiefel(N, R))


@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr"])
def test_until_critical(library, name):
    solver, stop = named(name, beta0=50.0), Critical(0.3) | Iterations(500)
    here, there = (solve(easy(a), solver, stop=stop) for a in (np.asarray, library.asarray))
    assert here.status is there.status is Status.CONVERGED
    assert there.iterations == here.iterations
    for part in ("X", "y", "z"):
        assert library.owns(getattr(there, part))
        assert np.allclose(library.numpy(getattr(there, part)), getattr(here, part), atol=1e-10)
    for value in (there.objective, there.criticality, there.infeasibility, there.seconds):
        assert type(value) is float
    for column, values in there.history.items():
        assert isinstance(values, np.ndarray)
        assert column == "seconds" or np.allclose(values, here.history[column], atol=1e-9), column
    assert there.infeasibility < 1e-13
    assert name in repr(there)


@pytest.mark.parametrize("solver", ["oadmm-ep", "oadmm-rr", "subgradient"])
def test_resumed_equals_never_stopped(library, solver, tmp_path):
    if library.name == "jax" and solver == "oadmm-ep":
        pytest.skip("test_jax.py resumes it, and compiles nothing anew")
    problem = PROBLEMS["l1 minus largest-k"](library.asarray)
    file = tmp_path / "run.npz"
    part = solve(problem, solver, stop=Iterations(15), observers=[Checkpoint(file, every=10)])
    resumed = solve(problem, solver, stop=Iterations(30), resume=file)
    again = solve(problem, part.solver, stop=Iterations(30), resume=part.state)
    whole = solve(problem, solver, stop=Iterations(30))
    assert resumed.iterations == 30
    assert int(resumed.state.t) == 30
    assert "int" in str(getattr(resumed.state.t, "dtype", type(resumed.state.t)))  # a counter stays a counter
    assert library.owns(resumed.X)
    assert np.allclose(library.numpy(resumed.X), library.numpy(whole.X), atol=1e-14)
    assert np.allclose(library.numpy(again.X), library.numpy(whole.X), atol=1e-14)
    assert np.allclose(library.numpy(resumed.z), library.numpy(whole.z), atol=1e-13)
    assert np.allclose(resumed.history.objective, whole.history.objective, atol=1e-12)
    # A file moves between libraries; settings are told apart to the last digit, and some are worked out from norms.
    here = solve(PROBLEMS["l1 minus largest-k"](np.asarray), part.solver, stop=Iterations(20), resume=file)
    assert isinstance(here.X, np.ndarray)


def test_a_start_is_moved_to_where_the_data_are_with_a_note(library):
    problem = PROBLEMS["plain l1, centred"](library.asarray)
    X0, drawn = problem.M.random(4), solve(problem, "oadmm-ep", seed=4, stop=Iterations(0))
    assert library.owns(drawn.X) and drawn.notes == ()
    assert np.allclose(library.numpy(drawn.X), X0, atol=1e-15)
    result = solve(problem, "oadmm-ep", X0=X0, stop=Iterations(5))
    assert library.owns(result.X)
    assert any("moved from numpy" in note for note in result.notes)
    same = solve(problem, "oadmm-ep", seed=4, stop=Iterations(5))
    assert np.allclose(library.numpy(result.X), library.numpy(same.X), atol=1e-12)
    single = PROBLEMS["plain l1, centred"](lambda a: library.asarray(a.astype(np.float32)))
    result = solve(single, "oadmm-ep", X0=library.asarray(X0), stop=Iterations(5))
    assert result.X.dtype == array_namespace(result.X).float32
    assert any("float64" in note and "float32" in note for note in result.notes)
    mixed = Problem.of(ExplainedVariance(HOLES, 0.1) + 0.1 * L1() @ Matrix(library.asarray(B)), over=Stiefel(N, R))
    result = solve(mixed, "oadmm-ep", X0=mixed.M.random(2), stop=Iterations(3))  # dense data beside sparse data decide
    assert library.owns(result.X)
    assert any("moved from numpy" in note for note in result.notes)


@pytest.mark.parametrize("name", ["sparse", "centred sparse", "operator", "modes"])
def test_without_dense_data_the_start_decides(library, name):
    """SciPy's matrices, and problems without data, go with X of any library; Gram matrices and means do not count."""
    problem = {
        "sparse": lambda: sparse_pca(HOLES, n_components=R, weight=0.1),
        "centred sparse": lambda: sparse_pca(Centred(HOLES), n_components=R, weight=0.1),
        "operator": lambda: sparse_pca(aslinearoperator(B), n_components=R, weight=0.1),
        "modes": lambda: compressed_modes(64, n_components=R, weight=0.2),
    }[name]()
    X0 = problem.M.random(2)
    result = solve(problem, "oadmm-ep", X0=library.asarray(X0), stop=Iterations(10))
    assert all(library.owns(leaf) for leaf in parts(result.state) if is_array_api_obj(leaf))
    assert result.notes == ()
    assert np.allclose(library.numpy(result.X), solve(problem, "oadmm-ep", X0=X0, stop=Iterations(10)).X, atol=1e-12)


def test_a_start_off_the_manifold_of_low_rank(library):
    problem = PROBLEMS["plain l1, centred"](library.asarray)
    result = solve(problem, "oadmm-ep", X0=library.asarray(np.ones((N, R))), stop=Iterations(5))
    assert any("rank 1" in note for note in result.notes)
    assert result.infeasibility < 1e-13


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("start", [Leading(), Turned(), Varimax(2.0), Auto()], ids=lambda start: start.name)
def test_informed_starts_are_those_of_numpy_in_the_library_and_float_type_of_the_data(library, start, dtype):
    if library.name == "jax" and dtype == "float32" and start.name != Auto().name:
        pytest.skip("JAX compiles each operation anew, and the best of all starts draws them")
    D = np.random.default_rng(2).standard_normal((40, 3)) @ np.kron(np.diag([3.0, 2.0, 1.0]), np.ones((1, 4)))
    problem = sparse_pca(library.asarray(D.astype(dtype)), n_components=3, weight=0.3)
    one, other = start.draw(sparse_pca(D, n_components=3, weight=0.3), 1), start.draw(problem, 1)
    assert library.owns(other.X) and other.X.dtype == problem.like.dtype
    assert float(problem.M.infeasibility(other.X)) < (1e-10 if dtype == "float64" else 1e-5)
    if dtype == "float64":
        assert (one.name, one.work, one.near) == (other.name, other.work, other.near)
        assert float(np.linalg.norm(library.numpy(other.X) - one.X)) < 1e-6


def cliff(X: Any) -> tuple[Any, Any]:
    """A function that has no value beyond a line which a run soon crosses."""
    xp = array_namespace(X)
    edge = xp.where(xp.sum(X) > -0.5, 0.0 * xp.sum(X), xp.nan)
    return xp.sum(X) + edge, xp.ones_like(X) + edge


@pytest.mark.parametrize("solver", [named("oadmm-ep", beta0=50.0), named("subgradient")])
def test_a_run_that_is_no_longer_finite_stops_at_its_last_finite_state(library, solver):
    problem = Problem.of(Smooth(cliff, lipschitz=1.0) + 0.1 * L1(), over=Stiefel(N, R))
    result = solve(problem, solver, X0=library.asarray(np.eye(N, R)), stop=Iterations(300))
    assert result.status is Status.NOT_FINITE
    assert result.iterations > 0
    assert np.all(np.isfinite(library.numpy(result.X)))
    assert np.isfinite(result.objective)


@pytest.mark.parametrize("solver", ["oadmm-ep", "oadmm-rr", "subgradient"])
def test_the_second_device_keeps_everything(solver):
    """array-api-strict refuses to mix devices, so one array made on the wrong one would raise."""
    xp = pytest.importorskip("array_api_strict")
    far = xp.Device("device1")
    for name in ("l1 minus largest-k", "stack of three", "entries, scad minus largest-k", "nuclear of a matrix"):
        problem = PROBLEMS[name](lambda a: xp.asarray(a, device=far))
        result = solve(problem, solver, stop=Iterations(8))
        assert all(leaf.device == far for leaf in parts(result.state) if is_array_api_obj(leaf) and leaf.ndim > 0)
        assert result.objective < result.history.objective[0]
