"""OBCD for an h that jumps at zero: the number of nonzero entries, and signs that entries must have."""

from __future__ import annotations

import importlib.util
from itertools import islice, pairwise

import numpy as np
import pytest
from scipy.optimize import nnls

from orthoprox import Iterations, Problem, Recorder, Stiefel, iterate, named, solve
from orthoprox.backends._obcd_jumps import signed_start
from orthoprox.maps import Entries, Identity
from orthoprox.problem import criticality
from orthoprox.solvers import OBCDState, obcd
from orthoprox.solvers.obcd import _jumps
from orthoprox.terms import L0, ExplainedVariance, LargestK, LeastSquares, Linear, Nonnegative, Quadratic
from steps.cases import MASK, B, M, N, R, S, Y
from steps.cases import T as SLOPE
from steps.obcd_naive import mixed_point, naive_rounds, signs_of, sparse_point

T, ALPHA = 7, 1e-2
HAS_NUMBA = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="the sequential sweep needs numba")
SWEEPS = [pytest.param("sequential", marks=needs_numba), "jacobi"]
KINDS = ["random", "cyclic", "greedy-reduction", "greedy-violation"]

PROBLEMS = {
    "l0": Problem.of(ExplainedVariance(B, 0.1) + Linear(SLOPE, 0.2) + 0.05 * L0(), over=M),
    "l0 of some entries, with g": Problem.of(
        Quadratic(S, 0.5) - 0.1 * LargestK(5) + 0.2 * L0() @ (-2.0 * (Entries(MASK) @ Identity())), over=M
    ),
    "nonnegative": Problem.of(LeastSquares(B, Y, 0.1) + Nonnegative(), over=M),
    "nonpositive where": Problem.of(Quadratic(S) + 3.0 * Nonnegative() @ (-2.0 * Entries(MASK)), over=M),
    "lifted": Problem.of(Quadratic(S) + 0.0 * Nonnegative(), over=M),
}


def starting(name, seed):
    X = mixed_point(seed) if name.startswith("l0") else sparse_point(seed)
    return -X if name == "nonpositive where" else X


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_run_begins_at_the_rounded_start(sweep):
    problem = PROBLEMS["nonnegative"]
    result = solve(problem, named("obcd", sweep=sweep), M.random(3), stop=Iterations(0))
    assert np.array_equal(result.X, signed_start(M.random(3), signs_of(np.ones((N, R)))))
    assert np.isfinite(result.objective)
    X = sparse_point(2)
    assert solve(problem, named("obcd", sweep=sweep), X, stop=Iterations(0)).X is X


# ---------------------------------------------------------------- the step


def stepped(name, seed, **settings):
    problem = PROBLEMS[name]
    solver = named("obcd", alpha=ALPHA, seed=seed, **settings).for_problem(problem)
    start = solver.init(problem, starting(name, seed))
    old = OBCDState(t=T, now=start.now, H=start.H, L=start.L, largest=0.0, moved=0)
    return problem, old, solver.step(problem, old)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_takes_the_best_turn_of_every_pair(name, sweep):
    moved = 0
    for seed in range(4):
        problem, old, new = stepped(name, seed, sweep=sweep, rounds=2)
        rng = np.random.default_rng((seed, T))
        pairs = [rng.permutation(N)[: N // 2 * 2].reshape(-1, 2) for _ in range(2)]
        majorised = None if sweep == "sequential" else problem.f.upper_curvature
        X = naive_rounds(problem, old.now.X, pairs, ALPHA, majorised=majorised)
        assert np.allclose(new.now.X, X, atol=1e-6)
        assert np.array_equal(new.now.X == 0, X == 0)
        assert np.allclose(new.now.HX, problem.f.product(new.now.X), atol=1e-12)
        assert np.array_equal(new.now.AX, problem.A(new.now.X))
        moved += new.moved
    assert moved > 4


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_objective_never_rises_and_X_stays_feasible(name, kind, sweep):
    problem = PROBLEMS[name]
    solver = named("obcd", sweep=sweep, working_set=kind).for_problem(problem)
    states = list(islice(iterate(problem, solver, solver.init(problem, M.random(1))), 40))
    values = [float(problem.objective(state.now.X)) for state in states]  # infinite if an entry had a wrong sign
    assert all(np.isfinite(values))
    assert all(b <= a + 1e-12 * (1 + abs(a)) for a, b in pairwise(values))
    assert values[-1] < values[0] - 0.1
    assert all(M.infeasibility(state.now.X) < 1e-12 for state in states)
    tiny = (states[-1].now.X != 0) & (np.abs(states[-1].now.X) < 1e-12)
    assert not tiny.any()


@pytest.mark.parametrize("sweep", SWEEPS)
def test_what_drifts_is_mended_without_losing_zeros_or_signs(sweep):
    for name in ("l0", "nonnegative"):
        problem = PROBLEMS[name]
        solver = named("obcd", sweep=sweep, refresh=5).for_problem(problem)
        X = starting(name, 1) * (1 + 1e-10 * np.arange(R))
        start = solver.init(problem, X)
        for t, mended in ((3, False), (4, True)):
            new = solver.step(problem, OBCDState(t=t, now=start.now, H=start.H, L=start.L, largest=0.0, moved=0)).now
            assert (M.infeasibility(new.X) < 1e-13) == mended
            assert np.isfinite(problem.h.value(new.X))


@pytest.mark.parametrize("name", ["l0", "nonnegative"])
def test_mending_keeps_zeros_and_signs(name):
    problem = PROBLEMS[name]
    solver = named("obcd", sweep="jacobi").for_problem(problem)
    for seed in range(6):
        X = starting(name, seed)
        X = X + 1e-10 * np.random.default_rng(seed + 30).standard_normal((N, R)) * (X != 0)
        mended = solver._refreshed(problem, problem.at(X))
        # Columns that overlap in few entries are mended in more than one go.
        assert M.infeasibility(X) > 5e-11
        assert M.infeasibility(mended.X) < (1e-15 if name == "nonnegative" else 0.1 * M.infeasibility(X))
        assert np.array_equal(np.sign(mended.X), np.sign(X))
        assert np.allclose(mended.X, X, atol=1e-8)
        assert np.array_equal(mended.HX, problem.f.product(mended.X))


@needs_numba
def test_feasible_after_a_quarter_of_a_million_pairs():
    # two problems in turn, so that X never comes to rest
    problems = [
        Problem.of(
            ExplainedVariance(np.random.default_rng(seed).standard_normal((80, 50)), 1 / 80) + 0.002 * L0(),
            over=Stiefel(50, 10),
        )
        for seed in (1, 2)
    ]
    solver = named("obcd", refresh=10_000).for_problem(problems[0])
    X, moved, steps = np.eye(50, 10), 0, 0
    while moved < 2.5e5:
        problem = problems[steps % 2]
        state = solver.step(problem, solver.init(problem, X))
        X, moved, steps = state.now.X, moved + state.moved, steps + 1
    assert np.linalg.norm(X.T @ X - np.eye(10)) < 1e-12 * np.sqrt(10)
    assert np.allclose(state.now.HX, problem.f.product(X), atol=1e-11)


# ---------------------------------------------------------------- the certificate


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_multiplier_is_the_best_one_there_is(name, monkeypatch):
    monkeypatch.setattr(obcd, "MULTIPLIER_STEPS", 3000)
    problem = PROBLEMS[name]
    solver = named("obcd", sweep="jacobi").for_problem(problem)
    state = next(islice(iterate(problem, solver, solver.init(problem, starting(name, 4))), 3, None))
    certificate = solver.certificate(problem, state)
    X = state.now.X
    assert np.array_equal(certificate.y, problem.A(X))
    parts = criticality(problem, certificate)
    assert parts.primal == parts.dual == 0.0
    assert np.all(np.isfinite(certificate.z))

    def tangent(G):
        return G - X @ (X.T @ G + G.T @ X) / 2

    G = problem.f.gradient(X) - problem.g.subgradient(X)
    free = np.eye(N * R)[(problem.h.subdifferential(problem.A(X))[0] < 0).ravel()]
    least = tangent(G)
    if len(free):
        columns = np.stack([tangent(problem.A.adjoint(unit.reshape(N, R))).ravel() for unit in free], axis=1)
        fit = np.linalg.lstsq(columns, -tangent(G).ravel())[0] if isinstance(problem.h, L0) else None
        fit = -nnls(-columns, -tangent(G).ravel())[0] if fit is None else fit
        least = columns @ fit + tangent(G).ravel()
    assert parts.stationarity == pytest.approx(np.linalg.norm(least), abs=1e-6)


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_heavy_count_leaves_one_entry_in_a_column(rng, sweep):
    D = rng.standard_normal((50, 12)) * rng.uniform(0.5, 1.5, 12)
    problem = Problem.of(ExplainedVariance(D, 1 / 50) + 10.0 * L0(), over=Stiefel(12, 3))
    result = solve(problem, named("obcd", sweep=sweep), np.eye(12, 3), stop=Iterations(300), record=Recorder(every=300))
    assert np.count_nonzero(result.X) == 3
    variances = np.sum(D**2, axis=0) / 50
    # The Jacobi sweep does not see what a row that is zero would bring, so it keeps the rows it has.
    chosen = np.sort(variances)[-3:] if sweep == "sequential" else variances[np.any(result.X != 0, axis=1)]
    assert result.objective == pytest.approx(10.0 * 3 - chosen.sum() / 2, rel=1e-12)
    assert result.criticality < 1e-9
    assert result.state.moved == 0


@needs_numba
def test_a_heavy_count_gets_rid_of_a_dense_start(rng):
    problem = Problem.of(ExplainedVariance(rng.standard_normal((50, 12)), 1 / 50) + 10.0 * L0(), over=Stiefel(12, 3))
    result = solve(problem, "obcd", stop=Iterations(200), record=Recorder(every=200))
    assert np.count_nonzero(result.X) == 3
    assert result.infeasibility < 1e-13


def planted():
    """Nonnegative components on three blocks of rows, in noise."""
    rng = np.random.default_rng(2)
    n, r, m = 24, 3, 400
    V = np.zeros((n, r))
    for column in range(r):
        V[8 * column : 8 * column + 8, column] = rng.uniform(0.5, 1.5, 8)
    V = V / np.linalg.norm(V, axis=0)
    D = rng.standard_normal((m, r)) * np.array([4.0, 3.5, 3.0]) @ V.T + 0.1 * rng.standard_normal((m, n))
    return Problem.of(ExplainedVariance(D, 1 / m) + Nonnegative(), over=Stiefel(n, r)), V


@needs_numba
def test_planted_nonnegative_components_are_found():
    problem, V = planted()
    # Some starts end where no pair of rows can change its column: the best of three.
    runs = [solve(problem, "obcd", seed=seed, stop=Iterations(300), record=Recorder(every=300)) for seed in range(3)]
    best = min(runs, key=lambda run: run.objective)
    assert (best.X >= 0).all()
    assert np.min(np.max(best.X.T @ V, axis=0)) > 0.999
    assert best.objective <= problem.objective(V)
    assert best.criticality < 1e-5
    assert best.infeasibility < 1e-13


def test_the_jacobi_sweep_finds_the_loadings_of_given_blocks():
    problem, V = planted()
    blocks = (V > 0) / np.sqrt(8)
    result = solve(problem, named("obcd", sweep="jacobi"), blocks, stop=Iterations(600), record=Recorder(every=600))
    assert np.min(np.max(result.X.T @ V, axis=0)) > 0.999
    assert (result.X >= 0).all() and result.objective <= problem.objective(V)


# ---------------------------------------------------------------- libraries


@pytest.mark.parametrize("sweep", SWEEPS)
def test_the_same_in_another_array_library(sweep):
    strict = pytest.importorskip("array_api_strict")
    for h in (0.05 * L0(), Nonnegative()):
        last = {}
        for convert in (np.asarray, strict.asarray):
            problem = Problem.of(LeastSquares(convert(B), convert(Y), 0.1) + h, over=M)
            solver = named("obcd", sweep=sweep).for_problem(problem)
            state = next(islice(iterate(problem, solver, solver.init(problem, convert(M.random(3)))), 5, None))
            certificate = solver.certificate(problem, state)
            assert type(solver.point(state)) is type(certificate.z) is type(convert(B))
            last[convert] = [np.asarray(a) for a in (state.now.X, state.now.HX, certificate.y, certificate.z)]
        assert np.allclose(*last.values(), atol=1e-12)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("h", [0.05 * L0(), Nonnegative()], ids=["l0", "nonnegative"])
def test_single_precision_keeps_zeros_and_signs(sweep, h):
    problem = Problem.of(LeastSquares(B.astype(np.float32), Y.astype(np.float32), 0.1) + h, over=M)
    result = solve(problem, named("obcd", sweep=sweep), stop=Iterations(60), record=Recorder(every=60))
    assert result.X.dtype == np.float32
    assert _jumps(problem, result.X).small == pytest.approx(500 * 2.0**-23)  # rounding errors of this float type
    assert np.isfinite(result.objective)
    assert result.infeasibility < 500 * np.finfo(np.float32).eps * np.sqrt(R)
    assert np.count_nonzero(result.X) < N * R
    assert not ((result.X != 0) & (np.abs(result.X) < 1e-5)).any()
