"""One step of OADMM-EP and of OADMM-RR from a random state, against Algorithm 1."""

import itertools
import tracemalloc

import numpy as np
import pytest

from orthoprox import Problem, iterate, named, solve
from orthoprox.maps import Identity
from orthoprox.models import sparse_pca
from orthoprox.solvers import OADMMEPState, OADMMRRState, oadmm_rr
from orthoprox.solvers._linesearch import SHORTEST, backtrack, barzilai_borwein
from orthoprox.terms import L1
from steps.cases import PROBLEMS, M, N, R, augmented, lipschitz, numerical_gradient, random_triple
from steps.checks import check_y_and_z, factor

SETTINGS = {"beta0": 15.0, "xi": 0.5, "sigma": 1.4, "tau": 7.0, "p": 0.4}  # far from the defaults
T = 7
BETA = 15.0 * (1 + 0.5 * T**0.4)
LENGTHS = ("fixed", "bb-long", "bb-short")


def slope(problem, at, old):
    """The gradient of the smooth part of the augmented Lagrangian at a point, g linearised at X."""
    G = numerical_gradient(lambda V: augmented(problem, V, old.y, old.z, BETA), at)
    return G - problem.g.subgradient(old.now.X)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_by_projection(name, seed):
    problem = PROBLEMS[name]
    _, X, X_prev, y, z = random_triple(problem, seed)
    solver = named("oadmm-ep", **SETTINGS, theta=3.0)
    old = OADMMEPState(t=T, now=problem.at(X), before=problem.at(X_prev), y=y, z=z, L=lipschitz(problem))
    new = solver.step(problem, old)
    X_c = X + solver.alpha * (X - X_prev)
    G, ell = slope(problem, X_c, old), BETA * problem.A.norm**2 + new.L
    assert np.allclose(new.now.X, factor(X_c - G / (3.0 * ell)), atol=1e-7)
    assert solver.alpha > 0.15  # so that a wrong extrapolation would show
    assert new.before is old.now
    check_y_and_z(problem, solver, old, new, beta=BETA, mu=7.0 / BETA, sigma=1.4)


@pytest.mark.parametrize("by", ["polar", "qr"])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_by_retraction_takes_the_first_length_that_decreases_enough(name, length, by):
    problem = PROBLEMS[name]
    rng, X, X_prev, y, z = random_triple(problem, list(PROBLEMS).index(name) + LENGTHS.index(length))
    # b_range lets a long first length through, so that lengths are refused now and then
    search = {"rho": 0.8, "gamma": 0.6, "delta": 0.3, "length": length, "retraction": by, "b_range": (0.5, 40.0)}
    solver = named("oadmm-rr", **SETTINGS, **search)
    S, G_prev = (None, None) if length == "fixed" else (X_prev, rng.standard_normal(X.shape))
    old = OADMMRRState(t=T, now=problem.at(X), y=y, z=z, X_prev=S, G_prev=G_prev, trials=0)
    new = solver.step(problem, old)
    G = slope(problem, X, old)
    D, D_1 = (G - rho * X @ G.T @ X - (1 - rho) * X @ X.T @ G for rho in (0.8, 1.0))
    eta = 1 / BETA
    if length != "fixed":
        S, Z = X - X_prev, G_prev - D_1
        inner = abs(np.sum(S * Z))
        quotient = np.sum(S * S) / inner if length == "bb-long" else inner / np.sum(Z * Z)
        eta = np.clip(BETA * quotient, 0.5, 40.0) / BETA

    def merit(V):
        return augmented(problem, V, y, z, BETA) - problem.g.value(V)

    trials, expected = 1, factor(X - eta * D, by)
    while merit(expected) - merit(X) > -0.3 * np.sum(D * D) * eta:
        eta *= 0.6
        trials, expected = trials + 1, factor(X - eta * D, by)
    assert np.allclose(new.now.X, expected, atol=1e-6)
    assert new.trials == trials
    if length == "fixed":
        assert new.X_prev is None and new.G_prev is None
    else:
        assert new.X_prev is X and np.allclose(new.G_prev, D_1, atol=1e-6)
    check_y_and_z(problem, solver, old, new, beta=BETA, mu=7.0 / BETA, sigma=1.4)


def test_the_first_state_and_the_first_step():
    problem = PROBLEMS["groups of a matrix"]
    X, solver = problem.M.random(0), named("oadmm-ep", beta0=5.0)
    state = solver.init(problem, X)
    assert (state.t, state.now is state.before, state.now.X is X) == (0, True, True)
    assert (state.y == problem.A(X)).all() and (state.z == 0).all()
    assert solver.certificate(problem, state).y is state.y
    solvers = [named("oadmm-rr", beta0=5.0, length=length) for length in LENGTHS]  # no quotient yet: the fixed length
    steps = [solver.step(problem, solver.init(problem, X)).now.X for solver in solvers]
    assert all(np.allclose(steps[0], other, atol=1e-13) for other in steps[1:])


def test_the_penalty_is_chosen_for_the_problem():
    problem, weak, stacked = (PROBLEMS[name] for name in ("l1 minus largest-k", "mcp of differences", "stacked"))
    assert named("oadmm-ep").for_problem(problem).beta0 == max(10 * 0.5, problem.f.lipschitz)
    assert named("oadmm-ep", beta0=3.0).for_problem(problem).beta0 == 3.0
    chosen = named("oadmm-ep").for_problem(weak)
    assert chosen.beta0 >= 2 * chosen.tau * weak.h.weak_convexity
    assert named("oadmm-ep").for_problem(stacked).beta0 >= 10 * 0.6
    assert named("oadmm-ep", sigma=1.5).for_problem(problem).tau == 8.0
    assert named("oadmm-ep", xi=1.0).alpha == pytest.approx(0.01 / (2.01 * 3), abs=2e-12)
    for solver in ("oadmm-ep", "oadmm-rr"):  # A = 0 leaves the slope of h, and A in other units changes the curvature
        scaled = [Problem(M=M, f=problem.f, h=L1(0.1), A=c * Identity()) for c in (0.0, 0.5)]
        assert [named(solver).for_problem(one).beta0 for one in scaled] == [1.0, 4 * problem.f.lipschitz]
    with pytest.raises(ValueError, match="has no beta0 yet"):
        named("oadmm-ep").init(problem, M.random(0))


@pytest.mark.parametrize("tau", [0.1, 0.0])
def test_theory_can_be_left_knowingly(tau):
    solver = named("oadmm-ep", tau=tau, xi=0.0, alpha=0.5, strict_theory=False, beta0=20.0)
    result = solve(PROBLEMS["l1 minus largest-k"], solver, stop=lambda now: now.t >= 30)
    assert np.isfinite(result.objective)


def test_quotients(rng):
    S, Z = rng.standard_normal((N, R)), rng.standard_normal((N, R))
    inner = abs(np.sum(S * Z))
    assert barzilai_borwein(S, -Z, False) == pytest.approx(np.sum(S * S) / inner)
    assert barzilai_borwein(S, Z, True) == pytest.approx(inner / np.sum(Z * Z))
    assert barzilai_borwein(0 * S, 0 * Z, False) == barzilai_borwein(S, 0 * Z, True) == 0


def test_a_search_ends_where_it_cannot_succeed_and_shortens_what_leaves_the_domain():
    for gamma in (0.1, 0.5, 0.99):
        eta, _, _, accepted = backtrack(lambda eta: (None, np.float64(1.0)), 1.0, gamma, np.float64(1.0), 0.0)
        assert not accepted and gamma * SHORTEST <= eta <= SHORTEST

    def trial(eta):
        return eta, np.float64(np.nan) if eta > 0.3 else np.float64(-eta)

    assert backtrack(trial, 1.0, 0.5, np.float64(0.5), 0.0) == (0.25, 0.25, 3, True)


def test_without_an_acceptable_step_x_stays(monkeypatch):
    problem = PROBLEMS["plain l1, centred"]
    solver = named("oadmm-rr", beta0=100.0)
    state = solver.init(problem, problem.M.random(0))
    monkeypatch.setattr(oadmm_rr, "lagrangian_change", lambda *_: np.float64(1.0))
    assert np.all(solver.step(problem, state).now.X == state.now.X)


def test_a_search_at_a_stationary_point_ends_at_once():
    problem, solver = PROBLEMS["plain l1, centred"], named("oadmm-rr", beta0=100.0)
    late = next(itertools.islice(iterate(problem, solver, solver.init(problem, M.random(0))), 4000, None))
    assert solver.step(problem, late).trials <= 2


def test_a_step_of_the_projection_variant_peaks_at_twelve_arrays(rng):
    """Of X's size, old and new state included."""
    n, r = 4000, 20
    problem = sparse_pca(rng.standard_normal((50, n)), n_components=r, weight=1.0, k=n)
    solver = named("oadmm-ep", beta0=10.0)
    X = problem.M.random(0)
    tracemalloc.start()
    try:
        state = solver.init(problem, X)
        for _ in range(3):
            state = solver.step(problem, state)
        tracemalloc.reset_peak()
        for _ in range(2):
            state = solver.step(problem, state)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert np.isfinite(state.now.X).all()
    assert peak <= 12 * 8 * n * r
