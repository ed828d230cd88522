"""One step of SPGM-RR from a random state, against its definition. Settings shared with SPGM-EP are tried there."""

import itertools

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, UnsupportedProblem, solve
from orthoprox.solvers.spgm_rr import SPGMRR, SPGMRRState
from orthoprox.terms import ExplainedVariance
from steps.cases import PROBLEMS, numerical_gradient, random_triple
from steps.checks import check_products, check_smoothed_certificate, factor, smoothed, tangent

T, MU0 = 7, 0.6
SCHEDULES = {
    "power": ({"p": 0.4}, MU0 / 8**0.4),
    "oadmm": ({"schedule": "oadmm", "beta0": 1 / MU0, "p": 0.4, "xi": 0.7}, MU0 / (1 + 0.7 * 7**0.4)),
}
LENGTHS = (0.003, 0.3, 1.0, 8.0, 1e5)  # the first is taken at once, the last never within twelve halvings


def merit(problem, X, mu):
    return smoothed(problem, X, mu) - problem.g.value(X)


def searched(problem, X, mu, eta, by):
    """The point of the published search, and how often it halved; X itself after twelve in vain."""
    G = numerical_gradient(lambda V: smoothed(problem, V, mu), X) - problem.g.subgradient(X)
    D = tangent(X, G)
    here = merit(problem, X, mu)
    for halvings in range(13):
        X_new = factor(X - eta * 0.5**halvings * D, by)
        if merit(problem, X_new, mu) <= here - 0.5 * eta * 0.5**halvings * np.sum(D * D):
            return X_new, halvings
    return X, 12


def state_at(problem, X, eta, calm=0):
    return SPGMRRState(t=T, now=problem.at(X), mu0=MU0, eta=eta, calm=calm, trials=0)


@pytest.fixture(
    params=[
        (name, seed, schedule, eta, ("polar", "qr")[seed % 2])
        for seed, (name, eta, schedule) in enumerate(itertools.product(PROBLEMS, LENGTHS, SCHEDULES))
    ],
    ids=lambda p: f"{p[0]}-{p[2]}-{p[3]}-{p[4]}",
)
def case(request):
    name, seed, schedule, eta, by = request.param
    problem, (settings, mu) = PROBLEMS[name], SCHEDULES[schedule]
    _, X, _, _, _ = random_triple(problem, seed)
    solver = SPGMRR(**settings, retraction=by)
    old = state_at(problem, X, eta, calm=2)
    return problem, solver, mu, old, solver.step(problem, old)


def test_X_is_the_first_length_that_decreases_enough(case):
    problem, solver, mu, old, new = case
    X, halvings = searched(problem, old.now.X, mu, old.eta, solver.retraction)
    assert np.allclose(new.now.X, X, atol=1e-6)
    assert new.trials == halvings + 1
    assert new.eta == pytest.approx(old.eta * 0.5 ** min(halvings, 3))
    assert new.calm == (3 if halvings == 0 else 0)
    assert (new.t, new.mu0) == (T + 1, MU0)
    assert solver.point(new) is new.now.X
    check_products(problem, new.now)


def test_the_certificate_is_the_prox_and_the_gradient_of_the_envelope(case):
    problem, solver, mu, old, _ = case
    check_smoothed_certificate(problem, solver, old, mu)


def test_lengths_grow_after_enough_searches_without_a_halving():
    problem = PROBLEMS["plain l1, centred"]
    _, X, _, _, _ = random_triple(problem, 0)

    def after(calm, eta, **settings):
        new = SPGMRR(**settings).step(problem, state_at(problem, X, eta, calm))
        return new.eta, new.calm

    assert after(3, 1e-3) == (1e-3, 4)
    assert after(4, 1e-3) == (2e-3, 0)
    assert after(1, 1e-3, grow_after=2) == (2e-3, 0)
    assert after(4, 1e-3, grow_after=None) == (1e-3, 5)
    for grow_after in (5, None):
        eta, calm = after(4, 8.0, grow_after=grow_after)
        assert (eta < 8.0, calm) == (True, 0)


FIXED = [name for name in PROBLEMS if PROBLEMS[name].f.lipschitz is not None]


def fixed_length(problem, X, mu):
    """The rule of section 8.1 (a), with C_f bounded by one gradient and the size of the manifold."""
    r, A, L = problem.M.r, problem.A, problem.f.lipschitz
    C_f = np.linalg.norm(problem.f.gradient(X) - problem.g.subgradient(X)) + 2 * np.sqrt(r) * L
    C_h = problem.h.lipschitz_constant(problem.shape)
    return 1 / (L + (np.sqrt(r + 1) + 0.5) * (C_h * A.norm + C_f) + A.norm**2 / mu)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_length_is_taken_without_a_search(name, schedule):
    problem, (settings, mu) = PROBLEMS[name], SCHEDULES[schedule]
    X0, X = (random_triple(problem, seed)[1] for seed in (20, 21))
    solver = SPGMRR(length="fixed", **settings).for_problem(problem)
    state = solver.init(problem, X0)
    assert state.eta == pytest.approx(fixed_length(problem, X0, np.inf), rel=1e-12)
    new = solver.step(problem, state_at(problem, X, state.eta))
    G = numerical_gradient(lambda V: smoothed(problem, V, mu), X) - problem.g.subgradient(X)
    D = tangent(X, G)
    eta = fixed_length(problem, X0, mu)
    assert np.allclose(new.now.X, factor(X - eta * D, "polar"), atol=1e-8)
    assert np.linalg.norm(new.now.X - X) > 1e-4  # so that a wrong length would be seen
    assert (new.t, new.eta, new.calm, new.trials) == (T + 1, state.eta, 0, 1)
    check_products(problem, new.now)
    # What the constants are made for: the decrease that a search would have asked for.
    assert merit(problem, new.now.X, mu) <= merit(problem, X, mu) - 0.5 * eta * np.sum(D * D) + 1e-9


def test_a_fixed_length_needs_a_constant_and_something_to_divide_by():
    with pytest.raises(UnsupportedProblem, match="length='fixed' needs an f whose gradient has a known Lipschitz"):
        solve(PROBLEMS["own function, unknown constant"], SPGMRR(length="fixed"))
    with pytest.raises(ValueError, match="needs the Lipschitz constant"):
        SPGMRR(length="fixed").init(PROBLEMS["own function, unknown constant"], PROBLEMS["entries"].M.random(0))
    nothing = Problem(M=Stiefel(4, 2))
    assert solve(nothing, SPGMRR(length="fixed"), stop=Iterations(3)).iterations == 3


def test_the_first_state():
    problem = PROBLEMS["groups of a matrix"]
    X = problem.M.random(0)
    state = SPGMRR(mu0=0.3, eta0=0.7).init(problem, X)
    assert (state.t, state.mu0, state.eta, state.calm, state.trials) == (0, 0.3, 0.7, 0, 0)
    assert state.now.X is X
    assert SPGMRR().eta0 == 1.0


def test_a_search_at_a_stationary_point_ends_at_once():
    problem = Problem.of(ExplainedVariance(np.diag([3.0, 2.0, 1.0, 0.5])), over=Stiefel(4, 2))
    solver = SPGMRR()
    state = SPGMRRState(t=3, now=problem.at(np.eye(4, 2)), mu0=1.0, eta=1.0, calm=0, trials=0)
    assert solver.step(problem, state).trials == 1
