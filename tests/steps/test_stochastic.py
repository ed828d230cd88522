"""One step of stochastic OADMM from a random state, its expectation, and what it is with a single batch."""

import itertools

import numpy as np
import pytest

from orthoprox import Checkpoint, Iterations, Problem, Recorder, UnsupportedProblem, named, solve, terms
from orthoprox.maps import Matrix
from orthoprox.solvers import StochasticOADMM, StochasticOADMMState
from orthoprox.terms import L1, ExplainedVariance, LargestK, LeastSquares, Mean, Quadratic, Smooth
from sentences import check_refusal
from steps.cases import PROBLEMS, B, C, M, S, Y, numerical_gradient, quartic, random_triple
from steps.checks import check_y_and_z, factor, walk

SETTINGS = {"beta0": 15.0, "xi": 0.7, "sigma": 1.4, "tau": 7.0, "p": 0.4, "theta": 2.5, "c": 600.0}  # not the defaults
ALPHA, T = 0.3, 7
BETA = 15.0 * (1 + 0.7 * T**0.4)
PARTS = (LeastSquares(B, Y, 0.2), Smooth(quartic, lipschitz=30.0), Quadratic(S, -1.5))
PROBLEM = Problem.of(Mean(PARTS, weight=0.7) - 0.3 * LargestK(5) + 0.4 * terms.GroupL2() @ Matrix(C), over=M)
ROWS = Problem.of(Mean.of_rows(B, 4, weight=1 / 14) + 0.2 * terms.L1(), over=M)


def random_state(seed):
    rng, X, X_prev, y, z = random_triple(PROBLEM, seed)
    average, at = rng.standard_normal(X.shape), M.project(rng.standard_normal(X.shape))
    now, before = PROBLEM.at(X), PROBLEM.at(X_prev)
    return StochasticOADMMState(t=T, now=now, before=before, y=y, z=z, average=average, at=at)


def weight_by_hand(problem, t):
    """a^t, with the constant of the weighted mean from its parts."""
    L = 0.7 * np.mean([part.lipschitz for part in PARTS])
    before = 15.0 * (1 + 0.7 * (t - 1) ** 0.4) * problem.A.norm**2 + L
    return min(1.0, (600.0 / before) ** 2), L


@pytest.mark.parametrize("i", range(3))
@pytest.mark.parametrize("seed", range(2))
def test_a_step_with_one_batch(seed, i):
    old, solver = random_state(seed), StochasticOADMM(**SETTINGS, alpha=ALPHA, strict_theory=False)
    new = solver.advance(PROBLEM, old, PROBLEM.f.part(i))
    X_c = old.now.X + ALPHA * (old.now.X - old.before.X)
    a, L = weight_by_hand(PROBLEM, T)
    assert 0.01 < a < 0.9 and solver.weight_of_new(PROBLEM, T) == pytest.approx(a)
    assert solver.weight_of_new(PROBLEM, 0) == 1
    now, then = (0.7 * numerical_gradient(PARTS[i].value, X) for X in (X_c, old.at))
    average = now + (1 - a) * (old.average - then)
    assert np.allclose(new.average, average, atol=1e-6)
    assert new.at == pytest.approx(X_c) and new.before is old.now
    gap = PROBLEM.A(X_c) - old.y
    G = average + C.T @ (old.z + BETA * gap) - PROBLEM.g.subgradient(old.now.X)
    ell = BETA * PROBLEM.A.norm**2 + L
    assert np.allclose(new.now.X, factor(X_c - G / (2.5 * ell)), atol=1e-7)
    check_y_and_z(PROBLEM, solver, old, new, beta=BETA, mu=7.0 / BETA, sigma=1.4)


def test_the_average_is_right_in_expectation():
    old, solver = random_state(5), StochasticOADMM(**SETTINGS, alpha=ALPHA, strict_theory=False)
    steps = [solver.advance(PROBLEM, old, PROBLEM.f.part(i)) for i in range(3)]
    X_c, a, f = steps[0].at, solver.weight_of_new(PROBLEM, T), PROBLEM.f
    whole = f.gradient(X_c) + (1 - a) * (old.average - f.gradient(old.at))
    assert np.allclose(np.mean([step.average for step in steps], axis=0), whole, atol=1e-12)
    assert not np.allclose(steps[0].average, whole, atol=1e-3)
    assert f.mean_square_lipschitz == pytest.approx(0.7 * np.sqrt(np.mean([part.lipschitz**2 for part in PARTS])))


def test_draws_are_even_and_do_not_depend_on_one_another():
    kinds = [type(part) for part in PARTS]
    drawn = [kinds.index(type(StochasticOADMM().draw(PROBLEM, t))) for t in range(900)]
    pairs = np.bincount([3 * i + j for i, j in itertools.pairwise(drawn)], minlength=9)
    assert np.all(np.abs(np.bincount(drawn) - 300) < 50) and np.all(
        np.abs(pairs - 100) < 35
    )  # standard deviations: 14, 10


@pytest.mark.parametrize("name", [name for name in PROBLEMS if "unknown" not in name])
def test_with_all_data_in_a_batch_it_is_oadmm_ep(name):
    problem = PROBLEMS[name]
    settings = {"beta0": 15.0, "theta": 1.3, "alpha": 0.05}
    whole = named("oadmm-ep", **settings)
    batch = StochasticOADMM(**settings, c=10.0, strict_theory=False)  # so that the average has a memory
    X0 = M.random(3)
    for one, other in zip(walk(problem, whole, X0, 40), walk(problem, batch, X0, 40), strict=True):
        assert np.allclose(one.now.X, other.now.X, atol=1e-9) and np.allclose(one.z, other.z, atol=1e-7)
        assert np.allclose(one.y, other.y, atol=1e-9)
    assert batch.weight_of_new(problem, 39) < 0.5


@pytest.mark.parametrize(("xi", "p", "theta"), [(0.5, 1 / 3, 3.0), (1.0, 0.5, 1.5), (0.05, 0.2, 40.0)])
def test_the_weights_are_what_the_proof_needs(xi, p, theta):
    solver = StochasticOADMM(xi=xi, p=p, theta=theta).for_problem(ROWS)
    gamma, L = theta - 1, ROWS.f.mean_square_lipschitz
    ell = np.array([solver._curvature(ROWS, t) for t in range(3000)])
    a = np.array([solver.weight_of_new(ROWS, t) for t in range(3001)])
    kappa = 4 / (gamma * np.concatenate([ell[:1], ell]) * a)
    assert a[0] == a[1] == 1 and np.all(np.diff(a) <= 0) and a[-1] < 1
    assert np.all((1 - a[1:] / 2) * kappa[1:] <= kappa[:-1] * (1 + 1e-12))
    assert np.all((a[1:] == 1) | (2 * kappa[1:] * L**2 <= gamma * ell / 8 * (1 + 1e-12)))


def test_runs_go_down_and_go_on_from_a_file(tmp_path):
    solver, X0 = StochasticOADMM(seed=3), M.random(0)
    file, every = tmp_path / "run.npz", {"record": Recorder(every=100)}
    whole = solve(ROWS, solver, X0, stop=Iterations(300), **every)
    solve(ROWS, solver, X0, stop=Iterations(120), observers=[Checkpoint(file, every=60)], **every)
    assert np.array_equal(solve(ROWS, solver, stop=Iterations(300), resume=file, **every).X, whole.X)
    other = solve(ROWS, StochasticOADMM(seed=4), X0, stop=Iterations(300), **every)
    assert not np.array_equal(other.X, whole.X)
    start, best = float(ROWS.objective(X0)), solve(ROWS).objective
    assert max(whole.objective, other.objective) < best + 0.2 * (start - best)


def test_batches_may_come_from_elsewhere(rng):
    problem = Problem(M=M, h=0.2 * terms.L1())
    solver = StochasticOADMM(lipschitz=ROWS.f.lipschitz).for_problem(problem)
    state = solver.init(problem, M.random(0))
    for t in range(200):
        state = solver.advance(problem, state, ROWS.f.part(t % 4))
    assert state.t == 200 and ROWS.objective(state.now.X) < ROWS.objective(M.random(0))


REFUSED = [
    (lambda: StochasticOADMM().for_problem(PROBLEMS["own function, unknown constant"]), "needs the Lipschitz constant"),
    (lambda: StochasticOADMM(alpha=0.1), "alpha must be 0"),
    (lambda: StochasticOADMM(p=0.6), "p must be at most 1/2"),
    (lambda: StochasticOADMM(theta=1.0), "theta must be above 1"),
    (lambda: StochasticOADMM(c=-1.0), "c must be positive"),
    (lambda: StochasticOADMM(lipschitz=-1.0), "lipschitz must be finite"),
    (lambda: StochasticOADMM(c=1e-3).for_problem(ROWS), "c must be at least"),
    (lambda: StochasticOADMM(beta0=1e3).init(ROWS, M.random(0)), "has no c yet"),
    (lambda: Mean(ExplainedVariance(B)), "a sequence of smooth terms; given one ExplainedVariance"),
    (lambda: Mean([]), "at least one part"),
    (lambda: Mean([L1()]), "must be smooth terms; given L1"),
    (lambda: Mean.of_rows(B, 2.5), "rows must be a whole number"),
    (lambda: Mean.of_rows(B, 0), "at least 1 row"),
]


@pytest.mark.parametrize(("make", "sentence"), REFUSED)
def test_a_mistake_gets_a_sentence(make, sentence):
    check_refusal(make, sentence, (TypeError, ValueError, UnsupportedProblem))
