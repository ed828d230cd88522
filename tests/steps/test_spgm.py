"""One step of SPGM-EP and of SPGM-RR from a random state, against their definitions; the settings that both have.

SPGM-EP is OADMM-EP with z held at 0 and alpha = 0. If y minimises h_mu(y) + beta/2 |A(X) - y|^2, then
beta (A(X) - y) = grad h_nu(A(X)) with nu = mu + 1/beta: both methods follow the same gradient, whatever mu is. Their
lengths are 1/(theta (L_f + beta |A|^2)) and 1/(theta (L_f + |A|^2/nu)): the same only without smoothing, mu = 0.
"""

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, UnsupportedProblem, named, solve
from orthoprox.solvers.spgm_ep import SPGMEP, SPGMEPState
from orthoprox.solvers.spgm_rr import SPGMRR, SPGMRRState
from orthoprox.terms import MCP, ExplainedVariance
from steps.cases import PROBLEMS, M, N, R, lipschitz, numerical_gradient, random_triple
from steps.checks import check_products, check_smoothed_certificate, factor, smoothed, tangent

T, MU0 = 7, 0.6
SCHEDULES = {
    "power": ({"p": 0.4}, MU0 / 8**0.4),
    "oadmm": ({"schedule": "oadmm", "beta0": 1 / MU0, "p": 0.4, "xi": 0.7}, MU0 / (1 + 0.7 * 7**0.4)),
}
LENGTHS = (0.003, 0.3, 1.0, 8.0, 1e5)  # the first is taken at once, the last never within twelve halvings
PLAIN = PROBLEMS["plain l1, centred"]
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES)
both = pytest.mark.parametrize("Solver", [SPGMEP, SPGMRR])


def slope(problem, X, mu):
    return numerical_gradient(lambda V: smoothed(problem, V, mu), X) - problem.g.subgradient(X)


def merit(problem, X, mu):
    return smoothed(problem, X, mu) - problem.g.value(X)


def check_state(problem, solver, old, new, mu):
    assert (new.t, new.mu0, solver.point(new) is new.now.X) == (T + 1, MU0, True)
    check_products(problem, new.now)
    check_smoothed_certificate(problem, solver, old, mu)


@every_schedule
@pytest.mark.parametrize("name", PROBLEMS)
def test_X_is_a_projected_gradient_step_on_the_smoothed_objective(name, schedule):
    problem, (settings, mu) = PROBLEMS[name], SCHEDULES[schedule]
    _, X, _, _, _ = random_triple(problem, 1)
    theta = {"power": 1.7, "oadmm": 1.01}[schedule]  # the second is the default
    solver = SPGMEP(**settings) if schedule == "oadmm" else SPGMEP(**settings, theta=theta)
    old = SPGMEPState(t=T, now=problem.at(X), mu0=MU0, L=lipschitz(problem))
    new = solver.step(problem, old)
    expected = factor(X - slope(problem, X, mu) / (theta * (old.L + problem.A.norm**2 / mu)))
    assert np.allclose(new.now.X, expected, atol=1e-7)
    assert np.linalg.norm(expected - X) > 1e-3 and new.L == old.L
    check_state(problem, solver, old, new, mu)


def state_at(problem, X, eta, calm=0):
    return SPGMRRState(t=T, now=problem.at(X), mu0=MU0, eta=eta, calm=calm, trials=0)


@every_schedule
@pytest.mark.parametrize("by", ["polar", "qr"])
@pytest.mark.parametrize("name", PROBLEMS)
def test_X_is_the_first_length_that_decreases_enough(name, by, schedule):
    problem, (settings, mu) = PROBLEMS[name], SCHEDULES[schedule]
    solver = SPGMRR(**settings, retraction=by)
    for seed, eta in enumerate(LENGTHS):
        _, X, _, _, _ = random_triple(problem, seed)
        D, expected, halvings = tangent(X, slope(problem, X, mu)), X, 12
        for trial in range(13):
            length = eta * 0.5**trial
            X_new = factor(X - length * D, by)
            if merit(problem, X_new, mu) <= merit(problem, X, mu) - 0.5 * length * np.sum(D * D):
                expected, halvings = X_new, trial
                break
        old = state_at(problem, X, eta, calm=2)
        new = solver.step(problem, old)
        assert np.allclose(new.now.X, expected, atol=1e-6)
        assert (new.trials, new.calm) == (halvings + 1, 3 if halvings == 0 else 0)
        assert new.eta == pytest.approx(eta * 0.5 ** min(halvings, 3))
        check_state(problem, solver, old, new, mu)


def test_lengths_grow_after_enough_searches_without_a_halving():
    _, X, _, _, _ = random_triple(PLAIN, 0)

    def after(calm, eta, **settings):
        new = SPGMRR(**settings).step(PLAIN, state_at(PLAIN, X, eta, calm))
        return new.eta, new.calm

    assert after(3, 1e-3) == (1e-3, 4)
    assert after(4, 1e-3) == (2e-3, 0)
    assert after(1, 1e-3, grow_after=2) == (2e-3, 0)
    assert after(4, 1e-3, grow_after=None) == (1e-3, 5)
    for grow_after in (5, None):
        eta, calm = after(4, 8.0, grow_after=grow_after)
        assert (eta < 8.0, calm) == (True, 0)
    still = Problem.of(ExplainedVariance(np.diag([3.0, 2.0, 1.0, 0.5])), over=Stiefel(4, 2))
    assert SPGMRR().step(still, state_at(still, np.eye(4, 2), 1.0)).trials == 1  # at a stationary point


def fixed_length(problem, X, mu):
    """The rule of section 8.1 (a), with C_f bounded by one gradient and the size of the manifold."""
    r, A, L = problem.M.r, problem.A, problem.f.lipschitz
    C_f = np.linalg.norm(problem.f.gradient(X) - problem.g.subgradient(X)) + 2 * np.sqrt(r) * L
    C_h = problem.h.lipschitz_constant(problem.shape)
    return 1 / (L + (np.sqrt(r + 1) + 0.5) * (C_h * A.norm + C_f) + A.norm**2 / mu)


@every_schedule
@pytest.mark.parametrize("name", [name for name in PROBLEMS if PROBLEMS[name].f.lipschitz is not None])
def test_a_fixed_length_is_taken_without_a_search(name, schedule):
    problem, (settings, mu) = PROBLEMS[name], SCHEDULES[schedule]
    X0, X = (random_triple(problem, seed)[1] for seed in (20, 21))
    solver = SPGMRR(length="fixed", **settings).for_problem(problem)
    state = solver.init(problem, X0)
    assert state.eta == pytest.approx(fixed_length(problem, X0, np.inf), rel=1e-12)
    new = solver.step(problem, state_at(problem, X, state.eta))
    D, eta = tangent(X, slope(problem, X, mu)), fixed_length(problem, X0, mu)
    assert np.allclose(new.now.X, factor(X - eta * D, "polar"), atol=1e-8)
    assert np.linalg.norm(new.now.X - X) > 1e-4  # so that a wrong length would be seen
    assert (new.t, new.eta, new.calm, new.trials) == (T + 1, state.eta, 0, 1)
    # What the constants are made for: the decrease that a search would have asked for.
    assert merit(problem, new.now.X, mu) <= merit(problem, X, mu) - 0.5 * eta * np.sum(D * D) + 1e-9


def test_a_fixed_length_needs_a_constant_and_something_to_divide_by():
    unknown = PROBLEMS["own function, unknown constant"]
    with pytest.raises(UnsupportedProblem, match="length='fixed' needs an f whose gradient has a known Lipschitz"):
        solve(unknown, SPGMRR(length="fixed"))
    with pytest.raises(ValueError, match="needs the Lipschitz constant"):
        SPGMRR(length="fixed").init(unknown, M.random(0))
    assert solve(Problem(M=Stiefel(4, 2)), SPGMRR(length="fixed"), stop=Iterations(3)).iterations == 3


@both
def test_the_first_state(Solver):
    X = M.random(0)
    assert Solver().init(PLAIN, X).mu0 == pytest.approx(0.1 * np.median(np.abs(X)) / 0.7)
    assert Solver(mu0=0.2).init(PLAIN, X).mu0 == Solver(schedule="oadmm", beta0=5.0).init(PLAIN, X).mu0 == 0.2
    entries = PROBLEMS["entries"]
    seen = entries.A(X)
    width = 0.1 * (np.median(np.abs(seen)) or np.mean(np.abs(seen)))
    slope = entries.h.lipschitz_constant(entries.shape) / np.sqrt(np.prod(entries.shape))
    assert Solver().init(entries, X).mu0 == pytest.approx(width / slope)
    corner = np.eye(N, R)  # its median is zero: the mean takes its place
    assert Solver().init(PLAIN, corner).mu0 == pytest.approx(0.1 / N / 0.7)
    assert Solver().init(Problem(M=M), X).mu0 == 1e30
    chosen = Solver(schedule="oadmm").for_problem(PLAIN)
    assert chosen.beta0 == named("oadmm-ep").for_problem(PLAIN).beta0
    assert Solver(schedule="oadmm", beta0=3.0).for_problem(PLAIN).beta0 == 3.0
    assert Solver().for_problem(PLAIN).mu0 is None
    with pytest.raises(ValueError, match="has no beta0 yet"):
        Solver(schedule="oadmm").init(PLAIN, X)
    state = SPGMRR(mu0=0.3, eta0=0.7).init(PLAIN, X)
    assert (state.t, state.mu0, state.eta, state.calm, state.trials, state.now.X is X) == (0, 0.3, 0.7, 0, 0, True)


@both
def test_a_weakly_convex_h_bounds_the_smoothing(Solver):
    problem = PROBLEMS["mcp of differences"]
    X, most = M.random(0), 0.5 / problem.h.weak_convexity
    assert Solver(mu0=most).init(problem, X).mu0 == most
    for settings in ({"mu0": 1.1 * most}, {"schedule": "oadmm", "beta0": 0.9 / most}):
        with pytest.raises(ValueError, match=r"must be at most 1/\(2 W_h\)"):
            Solver(**settings).init(problem, X)
    steep = Problem(M=M, h=MCP(0.1, 0.01))
    assert Solver().init(steep, X).mu0 == pytest.approx(0.5 / steep.h.weak_convexity)
    assert Solver(schedule="oadmm").for_problem(steep).beta0 == named("oadmm-ep").for_problem(steep).beta0
    assert np.isnan(Solver().init(PLAIN, np.full_like(X, np.nan)).mu0)  # the driver looks at the start
    assert SPGMEP().for_problem(problem).mu0 == pytest.approx(most)  # as published; the other takes the width
    assert SPGMRR().for_problem(problem).mu0 is None
    assert SPGMEP(schedule="oadmm", theta=2.0).theta == 2.0
