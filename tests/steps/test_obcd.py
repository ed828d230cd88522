"""Steps of OBCD from random states, against single pair updates written from the definition."""

import importlib.util
from itertools import pairwise, product

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, UnsupportedProblem, named, solve, terms
from orthoprox.backends import _obcd
from orthoprox.backends import _obcd_sequential as kernel
from orthoprox.backends._obcd_jumps import signed_start
from orthoprox.maps import Difference, Entries, Identity, Matrix
from orthoprox.problem import criticality
from orthoprox.solvers import OBCDState, obcd
from orthoprox.terms import L0, L1, ExplainedVariance, LeastSquares, NegativePart, Nonnegative, Quadratic, WeightedL1
from steps.cases import MASK, B, M, N, R, S, Y, random_triple
from steps.cases import PROBLEMS as CASES
from steps.cases import T as SLOPE
from steps.checks import check_products, smooth_gradient, tangent, walk
from steps.obcd_naive import HAS_NUMBA, mixed_point, naive_rounds, needs_numba, signs_of, sparse_point

C_WEIGHTS = np.random.default_rng(3).random((N, R)) * (np.random.default_rng(4).random((N, R)) < 0.7)
KINKS = {
    **{name: CASES[name] for name in ("l1 minus largest-k", "plain l1, centred", "entries")},
    "negative part": Problem.of(LeastSquares(B, Y, 0.1) + 0.5 * NegativePart(), over=M),
    "weights": Problem.of(Quadratic(S, 0.5) + WeightedL1(C_WEIGHTS, 0.8), over=M),
    "no h": Problem.of(Quadratic(S), over=M),
    "scaled": Problem.of(Quadratic(S) + 0.4 * NegativePart() @ (-2.0 * (Entries(MASK) @ Identity())), over=M),
}
JUMPS = {
    "l0": Problem.of(ExplainedVariance(B, 0.1) + terms.Linear(SLOPE, 0.2) + 0.05 * L0(), over=M),
    "l0 of some entries, with g": Problem.of(
        Quadratic(S, 0.5) - 0.1 * terms.LargestK(5) + 0.2 * L0() @ (-2.0 * (Entries(MASK) @ Identity())), over=M
    ),
    "nonnegative": Problem.of(LeastSquares(B, Y, 0.1) + Nonnegative(), over=M),
    "nonpositive where": Problem.of(Quadratic(S) + 3.0 * Nonnegative() @ (-2.0 * Entries(MASK)), over=M),
    "lifted": Problem.of(Quadratic(S) + 0.0 * Nonnegative(), over=M),
}
PROBLEMS = KINKS | JUMPS
T, ALPHA = 7, 1e-2
SWEEPS = [pytest.param("sequential", marks=needs_numba), "jacobi"]
SETS = ["random", "cyclic", "greedy-reduction", "greedy-violation"]


def start_at(name, seed):
    if name in KINKS:
        return random_triple(PROBLEMS[name], seed)[1]
    X = mixed_point(seed) if name.startswith("l0") else sparse_point(seed)
    return -X if name == "nonpositive where" else X


def state_at(solver, problem, X, t=T, **other):
    return OBCDState(**{**vars(solver.init(problem, X)), "t": t, **other})


def take_step(name, seed, **settings):
    problem = PROBLEMS[name]
    solver = named("obcd", alpha=ALPHA, seed=seed, **settings).for_problem(problem)
    old = state_at(solver, problem, start_at(name, seed))
    return problem, solver, old, solver.step(problem, old)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("kind", ["random", "cyclic"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_takes_the_best_turn_of_every_pair(name, kind, sweep):
    moved = 0
    seeds = [list(PROBLEMS).index(name)] if name in KINKS else range(2 if kind == "random" else 1)
    for seed in seeds:
        problem, solver, old, new = take_step(name, seed, sweep=sweep, working_set=kind, rounds=2)
        rng = np.random.default_rng((seed, T))
        pairs = [
            rng.permutation(N)[: N // 2 * 2].reshape(-1, 2) if kind == "random" else _obcd.cyclic_pairs(N, 2 * T + k)
            for k in range(2)
        ]
        majorised = None if sweep == "sequential" else problem.f.upper_curvature
        X = naive_rounds(problem, old.now.X, pairs, ALPHA, majorised=majorised)
        assert np.allclose(new.now.X, X, atol=1e-6)
        assert name in KINKS or np.array_equal(new.now.X == 0, X == 0)
        check_products(problem, new.now, atol=1e-12)
        assert (new.t, new.H is old.H, new.L, solver.work(new)) == (T + 1, True, old.L, 2 * (T + 1))
        assert 0 <= new.moved <= 2 * (N // 2) and (new.largest > 0) == (new.moved > 0)
        moved += new.moved
    assert moved > (0 if name in KINKS or kind == "cyclic" else 2)


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize(("name", "kind"), [*product(KINKS, ["random"]), *product(JUMPS, SETS)])
def test_the_objective_never_rises_and_X_stays_feasible(name, kind, sweep):
    problem = PROBLEMS[name]
    solver = named("obcd", sweep=sweep, working_set=kind).for_problem(problem)
    states = walk(problem, solver, M.random(1), 24)
    values = [float(problem.objective(state.now.X)) for state in states]  # infinite if an entry had a wrong sign
    assert all(np.isfinite(values))
    assert all(b <= a + 1e-13 * (1 + abs(a)) for a, b in pairwise(values))
    assert values[-1] < values[0] - 0.1
    assert all(M.infeasibility(state.now.X) < 1e-12 for state in states)
    last = states[-1].now.X
    assert name in KINKS or not ((last != 0) & (np.abs(last) < 1e-12)).any()


@pytest.mark.parametrize("sweep", SWEEPS)
@pytest.mark.parametrize("name", ["plain l1, centred", "l0", "nonnegative"])
def test_what_drifts_is_mended_without_losing_zeros_or_signs(name, sweep):
    problem = PROBLEMS[name]
    solver = named("obcd", sweep=sweep, refresh=5).for_problem(problem)
    X = start_at(name, 1)
    for t, mended in ((3, False), (4, True)):
        new = solver.step(problem, state_at(solver, problem, X * (1 + 1e-10 * np.arange(1, R + 1)), t)).now
        assert (M.infeasibility(new.X) < 1e-13) == mended
        assert np.isfinite(problem.h.value(new.X))
        assert M.infeasibility(solver.step(problem, state_at(solver, problem, X, t)).now.X) < 1e-13
    assert np.array_equal(new.HX, problem.f.product(new.X))
    if name in JUMPS:  # and from any point: columns that overlap in few entries are mended in more than one go
        for seed in range(6):
            X = start_at(name, seed)
            X = X + 1e-10 * np.random.default_rng(seed + 30).standard_normal((N, R)) * (X != 0)
            mended = solver._refresh(problem, problem.at(X))
            assert M.infeasibility(X) > 5e-11
            assert M.infeasibility(mended.X) < (1e-15 if name == "nonnegative" else 0.1 * M.infeasibility(X))
            assert np.array_equal(np.sign(mended.X), np.sign(X))
            assert np.allclose(mended.X, X, atol=1e-8)


@pytest.mark.parametrize("sweep", SWEEPS)
def test_a_run_with_signs_begins_at_the_rounded_start(sweep):
    problem = PROBLEMS["nonnegative"]
    result = solve(problem, named("obcd", sweep=sweep), M.random(3), stop=Iterations(0))
    assert np.array_equal(result.X, signed_start(M.random(3), signs_of(np.ones((N, R)))))
    assert np.isfinite(result.objective)
    X = sparse_point(2)
    assert solve(problem, named("obcd", sweep=sweep), X, stop=Iterations(0)).X is X


@pytest.mark.parametrize("name", PROBLEMS)
def test_the_certificate_has_the_best_multiplier_there_is(name, monkeypatch):
    monkeypatch.setattr(obcd, "MULTIPLIER_STEPS", 3000)
    problem = PROBLEMS[name]
    solver = named("obcd", sweep="jacobi").for_problem(problem)
    X0, steps = (M.random(2), 30) if name in KINKS else (start_at(name, 4), 3)
    state = walk(problem, solver, X0, steps)[-1]
    certificate = solver.certificate(problem, state)
    X, y, z = state.now.X, certificate.y, certificate.z
    G = smooth_gradient(problem, X)
    assert (certificate.point is state.now, solver.point(state) is X) == (True, True)
    parts = criticality(problem, certificate)
    assert parts.dual < 1e-12
    if name in KINKS:  # that of a proximal gradient step
        D = tangent(X, G + problem.A.adjoint(z))
        assert np.allclose(y, problem.A(X) - problem.A(D) / problem.f.lipschitz, atol=1e-5)
        assert parts.stationarity == pytest.approx(np.linalg.norm(D))
        return
    assert np.array_equal(y, problem.A(X)) and np.all(np.isfinite(z))
    # Half the square of the length of D is convex in z: z is best if no admissible change of it has a slope there.
    D = tangent(X, G + problem.A.adjoint(z))
    free = problem.h.subdifferential(problem.A(X))[0] < 0
    slopes = problem.A(D)[free]
    assert parts.stationarity == pytest.approx(np.linalg.norm(D), rel=1e-12)
    assert np.allclose(slopes * z[free], 0, atol=1e-10) and np.all(slopes < 1e-10)
    if isinstance(problem.h, L0):
        assert np.allclose(slopes, 0, atol=1e-10)


def test_settings_are_chosen_for_the_problem(monkeypatch):
    problem, solver = KINKS["plain l1, centred"], named("obcd")
    chosen = solver.for_problem(problem)
    assert (chosen.sweep, chosen.rounds) == (("sequential", N - 1) if HAS_NUMBA else ("jacobi", 1))
    assert named("obcd", sweep="jacobi").for_problem(problem).rounds == 1
    assert named("obcd", sweep="jacobi", rounds=4).for_problem(problem).rounds == 4
    with pytest.raises(ValueError, match="obcd has no sweep or no rounds yet"):
        solver.init(problem, M.random(0))
    monkeypatch.setattr(obcd, "MOST_ROWS", N - 1)
    assert solver.for_problem(problem).sweep == "jacobi"


def test_without_numba(monkeypatch):
    def missing(module, name, purpose):
        raise ModuleNotFoundError(f"{purpose} needs numba, which is not installed: pip install 'orthoprox[{name}]'.")

    problem = KINKS["plain l1, centred"]
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert named("obcd").for_problem(problem).sweep == "jacobi"
    monkeypatch.setattr(kernel, "extra", missing)
    monkeypatch.setattr(kernel, "compiled_sweep", kernel.compiled_sweep.__wrapped__)
    assert kernel.callable_when_compiled(missing) is missing
    with pytest.raises(ModuleNotFoundError, match=r"The sequential sweep of obcd needs numba.*orthoprox\[fast\]"):
        named("obcd", sweep="sequential").for_problem(problem)


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        (Problem.of(Quadratic(S) + terms.MCP(), over=M), "obcd needs a convex h; given MCP"),
        (Problem.of(Quadratic(S) + terms.GroupL2(), over=M), "obcd needs an h that acts entry by entry; given GroupL2"),
        (Problem.of(Quadratic(S) + terms.Huber(), over=M), "h with a known 1-D structure.*given Huber"),
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
        problem = Problem.of(f + L1(), over=M)
        assert named("obcd").for_problem(problem).sweep == "jacobi"
        with pytest.raises(UnsupportedProblem, match="needs f to be <X, HX>/2 .* Choose sweep='jacobi'"):
            named("obcd", sweep="sequential").for_problem(problem)


def test_g_and_maps_are_said_to_be_extensions():
    notes = solve(KINKS["entries"], named("obcd", sweep="jacobi"), stop=Iterations(1)).notes
    assert sum("obcd has no theory for" in note for note in notes) == 2
