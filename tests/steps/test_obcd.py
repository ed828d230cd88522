"""Steps of OBCD from random states, against single pair updates written from the definition."""

from __future__ import annotations

import importlib.util
from itertools import islice, pairwise

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Recorder, Stiefel, UnsupportedProblem, iterate, named, solve
from orthoprox.backends import _obcd
from orthoprox.backends import _obcd_sequential as kernel
from orthoprox.maps import Difference, Entries, Identity, Matrix
from orthoprox.models import compressed_modes, sparse_pca
from orthoprox.problem import criticality
from orthoprox.solvers import OBCDState, obcd
from orthoprox.solvers.obcd import _weights
from orthoprox.terms import (
    L1,
    MCP,
    ExplainedVariance,
    GroupL2,
    Huber,
    LeastSquares,
    NegativePart,
    Quadratic,
    WeightedL1,
)
from steps.cases import MASK, B, M, N, R, S, Y, random_triple
from steps.cases import PROBLEMS as CASES
from steps.obcd_naive import naive_rounds

C_WEIGHTS = np.random.default_rng(3).random((N, R)) * (np.random.default_rng(4).random((N, R)) < 0.7)
PROBLEMS = {
    **{name: CASES[name] for name in ("l1 minus largest-k", "plain l1, centred", "entries")},
    "negative part": Problem.of(LeastSquares(B, Y, 0.1) + 0.5 * NegativePart(), over=M),
    "weights": Problem.of(Quadratic(S, 0.5) + WeightedL1(C_WEIGHTS, 0.8), over=M),
    "no h": Problem.of(Quadratic(S), over=M),
    "scaled": Problem.of(Quadratic(S) + 0.4 * NegativePart() @ (-2.0 * (Entries(MASK) @ Identity())), over=M),
}
T, ALPHA = 7, 1e-2
HAS_NUMBA = importlib.util.find_spec("numba") is not None
needs_numba = pytest.mark.skipif(not HAS_NUMBA, reason="the sequential sweep needs numba")
SWEEPS = [pytest.param("sequential", marks=needs_numba), "jacobi"]


def stepped(name, seed, **settings):
    problem = PROBLEMS[name]
    _, X, _, _, _ = random_triple(problem, seed)
    solver = named("obcd", alpha=ALPHA, seed=seed, **settings).for_problem(problem)
    start = solver.init(problem, X)
    old = OBCDState(t=T, now=start.now, H=start.H, L=start.L, largest=0.0, moved=0)
    return problem, solver, old, solver.step(problem, old)


# ---------------------------------------------------------------- the step


@needs_numba
@pytest.mark.parametrize("kind", ["random", "cyclic"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_sequential_step_is_pair_after_pair(name, kind):
    seed = list(PROBLEMS).index(name)
    problem, _, old, new = stepped(name, seed, sweep="sequential", working_set=kind, rounds=2)
    rng = np.random.default_rng((seed, T))
    pairs = (
        [rng.permutation(N)[: N // 2 * 2].reshape(-1, 2) for _ in range(2)]
        if kind == "random"
        else [_obcd.cyclic_pairs(N, 2 * T), _obcd.cyclic_pairs(N, 2 * T + 1)]
    )
    assert np.allclose(new.now.X, naive_rounds(problem, old.now.X, pairs, ALPHA), atol=1e-6)
    fresh = problem.at(new.now.X)
    assert np.allclose(fresh.HX, new.now.HX, atol=1e-12)
    assert np.array_equal(fresh.AX, new.now.AX)
    assert (new.t, new.H is old.H, new.L) == (T + 1, True, old.L)
    assert 0 < new.moved <= 2 * (N // 2)
    assert new.largest > 0


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_jacobi_step_updates_disjoint_pairs_at_once(name):
    seed = list(PROBLEMS).index(name)
    problem, _, old, new = stepped(name, seed, sweep="jacobi", rounds=2)
    rng = np.random.default_rng((seed, T))
    pairs = [rng.permutation(N)[: N // 2 * 2].reshape(-1, 2) for _ in range(2)]
    X = naive_rounds(problem, old.now.X, pairs, ALPHA, majorised=problem.f.upper_curvature)
    assert np.allclose(new.now.X, X, atol=1e-6)
    assert np.array_equal(new.now.HX, problem.f.product(new.now.X))
    assert (new.t, new.H) == (T + 1, None)


def test_an_unknown_curvature_is_doubled_until_it_fits():
    problem = CASES["own function, unknown constant"]
    _, X, _, _, _ = random_triple(problem, 1)
    solver = named("obcd", alpha=ALPHA).for_problem(problem)
    assert solver.sweep == "jacobi"
    start = solver.init(problem, X)
    new = solver.step(problem, OBCDState(t=0, now=start.now, H=None, L=1e-3, largest=0.0, moved=0))
    doublings = np.log2(new.L / 1e-3)
    assert doublings == pytest.approx(round(doublings)) and doublings >= 1

    def fits(L):
        pairs = [_obcd.random_pairs(N, np.random.default_rng((0, 0)))]
        after = naive_rounds(problem, X, pairs, ALPHA, majorised=L)
        D = after - X
        bound = np.sum(problem.f.gradient(X) * D) + L / 2 * np.sum(D * D)
        return problem.f.value(after) <= problem.f.value(X) + bound + 1e-12, after

    assert fits(new.L)[0] and not fits(new.L / 2)[0]
    assert np.allclose(new.now.X, fits(new.L)[1], atol=1e-6)


def test_weights_reproduce_h(rng):
    for name, problem in PROBLEMS.items():
        X = rng.standard_normal((N, R))
        W, K = _weights(problem, X)
        assert np.sum(W * np.abs(X) + K * X) == pytest.approx(problem.h.value(problem.A(X)), abs=1e-12), name
        assert (W >= 0).all()


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("kind", ["random", "cyclic", "greedy-reduction", "greedy-violation"])
def test_steps_depend_on_seed_and_t_alone(sweep, kind):
    name, settings = "plain l1, centred", {"sweep": sweep, "working_set": kind, "rounds": 2}
    *_, old, new = stepped(name, 1, **settings)
    *_, again = stepped(name, 1, **settings)
    assert np.array_equal(new.now.X, again.now.X)
    problem, solver = PROBLEMS[name], named("obcd", **settings, seed=2, alpha=ALPHA)
    other = solver.step(problem, old)
    later = solver.step(problem, OBCDState(t=T + 1, now=old.now, H=old.H, L=old.L, largest=0.0, moved=0))
    if kind in ("random", "cyclic"):  # all rows are one group here, of which the greedy choice is the same
        assert np.array_equal(other.now.X, new.now.X) == (kind == "cyclic")
        assert not np.array_equal(other.now.X, later.now.X)


# ---------------------------------------------------------------- runs


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_the_objective_never_rises_and_X_stays_feasible(name, sweep):
    problem = PROBLEMS[name]
    solver = named("obcd", sweep=sweep).for_problem(problem)
    states = list(islice(iterate(problem, solver, solver.init(problem, M.random(1))), 60))
    values = [float(problem.objective(state.now.X)) for state in states]
    assert all(b <= a + 1e-13 * (1 + abs(a)) for a, b in pairwise(values))
    assert values[-1] < values[0] - 0.1
    assert all(M.infeasibility(state.now.X) < 1e-13 for state in states)


@needs_numba
def test_feasible_after_a_quarter_of_a_million_pairs():
    problem = sparse_pca(np.random.default_rng(1).standard_normal((80, 50)), n_components=10, weight=0.05)
    solver = named("obcd", refresh=10_000).for_problem(problem)
    late = next(islice(iterate(problem, solver, solver.init(problem, problem.M.random(0))), 200, None))
    assert solver.rounds * 25 * 200 > 2e5
    assert problem.M.infeasibility(late.now.X) < 1e-12 * np.sqrt(10)
    assert np.allclose(late.now.HX, problem.f.product(late.now.X), atol=1e-11)


@pytest.mark.parametrize("sweep", SWEEPS)
def test_what_drifts_is_refreshed(sweep):
    problem = PROBLEMS["plain l1, centred"]
    solver = named("obcd", sweep=sweep, refresh=5).for_problem(problem)
    X = M.random(0) * (1 + 1e-10)
    start = solver.init(problem, X)
    for t, mended in ((3, False), (4, True)):
        new = solver.step(problem, OBCDState(t=t, now=start.now, H=start.H, L=start.L, largest=0.0, moved=0))
        assert (M.infeasibility(new.now.X) < 1e-14) == mended
    assert np.array_equal(new.now.HX, problem.f.product(new.now.X))
    exact = solver.init(problem, M.random(0))
    kept = solver.step(problem, OBCDState(t=4, now=exact.now, H=exact.H, L=exact.L, largest=0.0, moved=0))
    free = solver.step(problem, OBCDState(t=3, now=exact.now, H=exact.H, L=exact.L, largest=0.0, moved=0))
    assert M.infeasibility(kept.now.X) < 1e-14 and M.infeasibility(free.now.X) < 1e-14


@pytest.mark.parametrize(
    ("sweep", "steps", "kind"),
    [
        pytest.param("sequential", 150, "random", marks=needs_numba),
        pytest.param("sequential", 150, "cyclic", marks=needs_numba),
        ("jacobi", 600, "random"),
    ],
)
def test_principal_components(rng, sweep, steps, kind):
    D = rng.standard_normal((60, 15)) * 0.7 ** np.arange(15) @ np.linalg.qr(rng.standard_normal((15, 15)))[0]
    problem = Problem.of(ExplainedVariance(D, 1 / 60), over=Stiefel(15, 3))
    solver = named("obcd", sweep=sweep, working_set=kind)
    result = solve(problem, solver, stop=Iterations(steps), record=Recorder(every=steps))
    assert -2 * result.objective == pytest.approx(np.linalg.eigvalsh(D.T @ D / 60)[-3:].sum(), rel=1e-7)
    assert result.criticality < 1e-3


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_heavy_weight_leads_to_coordinate_vectors(rng, sweep):
    D = rng.standard_normal((50, 8))
    D = D / np.linalg.norm(D, axis=0)
    problem = sparse_pca(np.sqrt(50) * D, n_components=3, weight=3.0)
    runs = [
        solve(problem, named("obcd", sweep=sweep), seed=seed, stop=Iterations(200), record=Recorder(every=200))
        for seed in range(3)
    ]
    best = min(runs, key=lambda run: run.objective)
    assert best.objective - problem.offset == pytest.approx(3 * (3.0 - 0.5), abs=1e-9)
    assert np.count_nonzero(best.X) == 3  # exact zeros
    assert best.state.moved == 0 and best.state.largest == 0.0
    assert best.criticality < 1e-9


@needs_numba
@pytest.mark.parametrize(("weight", "published"), [(0.05, 2.936859), (0.10, 4.814427)])
def test_compressed_modes(weight, published):
    problem = compressed_modes(128, n_components=10, weight=weight)
    start = solve(problem, "subgradient", seed=1, stop=Iterations(500), record=Recorder(every=500))
    solver = named("obcd", working_set="cyclic")
    result = solve(problem, solver, start.X, stop=Iterations(400), record=Recorder(every=400))
    assert result.objective == pytest.approx(published, rel=3e-3)
    assert result.infeasibility < 1e-12


@pytest.mark.parametrize("sweep", SWEEPS)
def test_the_same_in_another_array_library(sweep):
    strict = pytest.importorskip("array_api_strict")
    X0 = M.random(3)
    last = {}
    for convert in (np.asarray, strict.asarray):
        problem = Problem.of(
            LeastSquares(convert(B), convert(Y), 0.1) - 0.1 * L1() + 0.5 * WeightedL1(convert(C_WEIGHTS)), over=M
        )
        solver = named("obcd", sweep=sweep).for_problem(problem)
        state = next(islice(iterate(problem, solver, solver.init(problem, convert(X0))), 5, None))
        certificate = solver.certificate(problem, state)
        assert type(solver.point(state)) is type(certificate.z) is type(convert(X0))
        last[convert] = [np.asarray(a) for a in (state.now.X, state.now.HX, certificate.y, certificate.z)]
    assert np.allclose(*last.values(), atol=1e-12)


# ---------------------------------------------------------------- certificate, settings, scope


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_certificate_is_that_of_a_proximal_step(name, monkeypatch):
    monkeypatch.setattr(obcd, "MULTIPLIER_STEPS", 3000)
    problem = PROBLEMS[name]
    solver = named("obcd", sweep="jacobi").for_problem(problem)
    state = next(islice(iterate(problem, solver, solver.init(problem, M.random(2))), 30, None))
    certificate = solver.certificate(problem, state)
    X, y, z = state.now.X, certificate.y, certificate.z
    assert certificate.point is state.now
    assert problem.h.subgradient_distance(y, z) < 1e-12
    G = problem.f.gradient(X) - problem.g.subgradient(X) + problem.A.adjoint(z)
    D = G - X @ (X.T @ G + G.T @ X) / 2
    assert np.allclose(y, problem.A(X) - problem.A(D) / problem.f.lipschitz, atol=1e-5)
    parts = criticality(problem, certificate)
    assert parts.stationarity == pytest.approx(np.linalg.norm(D))


def test_defaults():
    problem = PROBLEMS["plain l1, centred"]
    solver = named("obcd")
    assert (solver.alpha, solver.working_set, solver.sweep) == (1e-5, "random", None)
    chosen = solver.for_problem(problem)
    assert (chosen.sweep, chosen.rounds) == (("sequential", N - 1) if HAS_NUMBA else ("jacobi", 1))
    assert named("obcd", sweep="jacobi").for_problem(problem).rounds == 1
    assert named("obcd", sweep="jacobi", rounds=4).for_problem(problem).rounds == 4
    assert not solver.compilable
    with pytest.raises(ValueError, match="obcd has no sweep or no rounds yet"):
        solver.init(problem, M.random(0))
    masked = Problem.of(LeastSquares(Entries(MASK)) + L1(), over=M)
    assert solver.for_problem(masked).sweep == "jacobi"


def test_without_numba(monkeypatch):
    def missing(module, name, purpose):
        raise ModuleNotFoundError(f"{purpose} needs numba, which is not installed: pip install 'orthoprox[{name}]'.")

    problem = PROBLEMS["plain l1, centred"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert named("obcd").for_problem(problem).sweep == "jacobi"
    monkeypatch.setattr(kernel, "extra", missing)
    monkeypatch.setattr(kernel, "compiled_sweep", kernel.compiled_sweep.__wrapped__)
    assert kernel.callable_when_compiled(missing) is missing
    with pytest.raises(ModuleNotFoundError, match=r"The sequential sweep of obcd needs numba.*orthoprox\[fast\]"):
        named("obcd", sweep="sequential").for_problem(problem)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"sweep": "parallel"}, "sweep must be 'sequential' or 'jacobi'; given 'parallel'"),
        ({"working_set": "greedy"}, "working_set must be one of random, cyclic"),
        ({"alpha": 0.0}, "alpha must be positive"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"refresh": 0}, "refresh must be at least 1"),
        ({"seed": -1}, "seed must not be negative"),
    ],
)
def test_settings_outside_their_range_are_refused(settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        named("obcd", **settings)


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Problem.of(Quadratic(S) + MCP(), over=M), "obcd needs a convex h; given MCP"),
        (Problem.of(Quadratic(S) + GroupL2(), over=M), "obcd needs an h that acts entry by entry; given GroupL2"),
        (Problem.of(Quadratic(S) + Huber(), over=M), "entrywise separable h with a known 1-D structure.*given Huber"),
        (Problem.of(Quadratic(S) + L1() @ Difference(), over=M), r"separable in X \(A = I.*given Difference"),
        (Problem.of(Quadratic(S) + L1() @ (Identity() - Matrix(S)), over=M), "separable in X.*given Sum"),
        (Problem.of(L1() @ Identity(), over=Stiefel(1, 1)), "needs n >= 2; given n = 1"),
    ],
)
def test_problems_outside_its_scope_are_refused(problem, sentence):
    with pytest.raises(UnsupportedProblem, match=sentence):
        solve(problem, "obcd", stop=Iterations(1))


def test_a_sequential_sweep_needs_one_matrix():
    for f in (CASES["own function"].f, LeastSquares(Entries(MASK)), Quadratic(S) + LeastSquares(Entries(MASK))):
        with pytest.raises(UnsupportedProblem, match="needs f to be <X, HX>/2 .* Choose sweep='jacobi'"):
            named("obcd", sweep="sequential").for_problem(Problem.of(f + L1(), over=M))


def test_g_and_maps_are_said_to_be_extensions():
    notes = solve(PROBLEMS["entries"], named("obcd", sweep="jacobi"), stop=Iterations(1)).notes
    assert sum("obcd has no theory for" in note for note in notes) == 2
