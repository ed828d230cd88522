"""One step of OADMM-RR from a random state, against Algorithm 1."""

import itertools

import numpy as np
import pytest

from orthoprox import iterate, named
from orthoprox.solvers import OADMMRRState
from orthoprox.solvers._linesearch import MOST_TRIALS, backtrack, barzilai_borwein
from orthoprox.terms.envelope import envelope_gradient
from steps.cases import PROBLEMS, augmented, numerical_gradient, random_triple
from steps.checks import check_products

SETTINGS = {"beta0": 15.0, "xi": 0.5, "sigma": 1.4, "tau": 7.0, "p": 0.4, "rho": 0.8, "gamma": 0.6, "delta": 0.3}
T = 7
LENGTHS = ("fixed", "bb-long", "bb-short")


PARAMS = [
    (name, seed, length, by)
    for seed, (name, length, by) in enumerate(itertools.product(PROBLEMS, LENGTHS, ("polar", "qr")))
]


@pytest.fixture(params=PARAMS, ids=lambda p: f"{p[0]}-{p[2]}-{p[3]}")
def case(request):
    return take_step(*request.param)


def take_step(name, seed, length, by):
    problem = PROBLEMS[name]
    rng, X, X_prev, y, z = random_triple(problem, seed)
    # b_range lets a long first length through, so that lengths are refused now and then
    solver = named("oadmm-rr", **SETTINGS, length=length, retraction=by, b_range=(0.5, 40.0))
    remembered = (None, None) if length == "fixed" else (X_prev, rng.standard_normal(X.shape))
    old = OADMMRRState(t=T, now=problem.at(X), y=y, z=z, X_prev=remembered[0], G_prev=remembered[1], trials=0)
    return problem, solver, old, solver.step(problem, old)


def penalty(solver, t=T):
    return solver.beta0 * (1 + solver.xi * t**solver.p)


def merit(problem, X, old, beta):
    return augmented(problem, X, old.y, old.z, beta) - problem.g.value(X)


def direction(problem, old, beta):
    X = old.now.X
    G = numerical_gradient(lambda V: augmented(problem, V, old.y, old.z, beta), X) - problem.g.subgradient(X)

    def of(rho):
        return G - rho * X @ G.T @ X - (1 - rho) * X @ X.T @ G

    return of


def first_length(solver, old, of, beta):
    if solver.length == "fixed":
        return 1 / beta
    S, Z = old.now.X - old.X_prev, old.G_prev - of(1.0)
    inner = abs(np.sum(S * Z))
    quotient = np.sum(S * S) / inner if solver.length == "bb-long" else inner / np.sum(Z * Z)
    return np.clip(beta * quotient, 0.5, 40.0) / beta


def test_X_is_the_first_length_that_decreases_enough(case):  # S1, S2
    problem, solver, old, new = case
    beta = penalty(solver)
    of = direction(problem, old, beta)
    D = of(solver.rho)
    eta = first_length(solver, old, of, beta)
    wanted = solver.delta * np.sum(D * D)
    here = merit(problem, old.now.X, old, beta)
    trials, X = 1, problem.M.retract(old.now.X, -eta * D, solver.retraction)
    while merit(problem, X, old, beta) - here > -wanted * eta:
        eta *= solver.gamma
        trials, X = trials + 1, problem.M.retract(old.now.X, -eta * D, solver.retraction)
    assert np.allclose(new.now.X, X, atol=1e-6)
    assert new.trials == trials


def test_multiplier_is_the_gradient_of_the_envelope(case):  # S3, S4: Lemma 4.1(a)
    problem, solver, old, new = case
    beta = penalty(solver)
    multiplier = old.z - (old.z - new.z) / solver.sigma
    assert np.allclose(multiplier, envelope_gradient(problem.h, new.y, solver.tau / beta), atol=1e-10)
    assert np.allclose(new.z, old.z + solver.sigma * beta * (problem.A(new.now.X) - new.y), atol=1e-10)
    assert problem.h.subgradient_distance(solver.certificate(problem, new).y, multiplier) < 1e-9


def test_the_state_moves_on_with_true_products(case):
    problem, solver, old, new = case
    assert new.t == T + 1
    check_products(problem, new.now)
    if solver.length == "fixed":
        assert new.X_prev is None and new.G_prev is None
    else:
        of = direction(problem, old, penalty(solver))
        assert new.X_prev is old.now.X
        assert np.allclose(new.G_prev, of(1.0), atol=1e-6)


def test_a_first_step_with_barzilai_borwein_has_the_fixed_length():
    problem = PROBLEMS["l1 minus largest-k"]
    X = problem.M.random(0)
    steps = [
        (solver := named("oadmm-rr", beta0=5.0, length=length)).step(problem, solver.init(problem, X)).now.X
        for length in LENGTHS
    ]
    assert np.allclose(steps[0], steps[1], atol=1e-13)
    assert np.allclose(steps[0], steps[2], atol=1e-13)


def test_quotients(rng):
    S, Z = rng.standard_normal((5, 2)), rng.standard_normal((5, 2))
    inner = abs(np.sum(S * Z))
    assert barzilai_borwein(S, Z, "long") == pytest.approx(np.sum(S * S) / inner)
    assert barzilai_borwein(S, -Z, "long") == pytest.approx(np.sum(S * S) / inner)
    assert barzilai_borwein(S, Z, "short") == pytest.approx(inner / np.sum(Z * Z))
    assert barzilai_borwein(0 * S, 0 * Z, "long") == 0
    assert barzilai_borwein(S, 0 * Z, "short") == 0


def test_a_search_that_cannot_succeed_ends():
    eta, _, trials = backtrack(lambda eta: (None, np.float64(1.0)), 1.0, 0.5, np.float64(1.0), 0.0)
    assert trials == MOST_TRIALS
    assert eta == 0.5 ** (MOST_TRIALS - 1)


def test_a_search_at_a_stationary_point_ends_at_once():
    problem = PROBLEMS["plain l1, centred"]
    solver = named("oadmm-rr", beta0=100.0)
    late = next(itertools.islice(iterate(problem, solver, solver.init(problem, problem.M.random(0))), 4000, None))
    assert all(solver.step(problem, late).trials <= 2 for _ in range(3))


def test_a_length_that_leaves_the_domain_is_shortened():
    def trial(eta):
        return eta, np.float64(np.nan) if eta > 0.3 else np.float64(-eta)

    eta, outcome, trials = backtrack(trial, 1.0, 0.5, np.float64(0.5), 0.0)
    assert (eta, outcome, trials) == (0.25, 0.25, 3)
