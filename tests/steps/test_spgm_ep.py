"""One step of SPGM-EP from a random state, against its definition; how it is OADMM-EP without multiplier."""

import itertools

import numpy as np
import pytest

from orthoprox import Problem, Stiefel, named
from orthoprox.solvers.spgm_ep import SPGMEP, SPGMEPState
from orthoprox.solvers.spgm_rr import SPGMRR
from orthoprox.terms import MCP
from steps.cases import PROBLEMS, N, R, numerical_gradient, random_triple
from steps.checks import (
    check_doublings,
    check_majorises,
    check_products,
    check_smoothed_certificate,
    factor,
    smoothed,
)

T, MU0 = 7, 0.6
SCHEDULES = {
    "power": ({"p": 0.4, "theta": 1.7}, MU0 / 8**0.4),
    "oadmm": ({"schedule": "oadmm", "beta0": 1 / MU0, "p": 0.4, "xi": 0.7}, MU0 / (1 + 0.7 * 7**0.4)),
}


@pytest.fixture(params=itertools.product(PROBLEMS, SCHEDULES, range(2)), ids=lambda p: f"{p[0]}-{p[1]}-{p[2]}")
def case(request):
    name, schedule, seed = request.param
    problem, (settings, mu) = PROBLEMS[name], SCHEDULES[schedule]
    _, X, _, _, _ = random_triple(problem, seed)
    solver = SPGMEP(**settings)
    L = 30.0 if problem.f.lipschitz is None else problem.f.lipschitz
    old = SPGMEPState(t=T, now=problem.at(X), mu0=MU0, L=L)
    return problem, solver, mu, old, solver.step(problem, old)


def test_X_is_a_projected_gradient_step_on_the_smoothed_objective(case):
    problem, solver, mu, old, new = case
    X = old.now.X
    G = numerical_gradient(lambda V: smoothed(problem, V, mu), X) - problem.g.subgradient(X)
    theta = 1.7 if solver.schedule == "power" else 1.01
    expected = factor(X - G / (theta * (old.L + problem.A.norm**2 / mu)))
    assert np.allclose(new.now.X, expected, atol=1e-7)
    assert np.linalg.norm(expected - X) > 1e-3
    assert (new.t, new.mu0, new.L) == (T + 1, MU0, old.L)
    assert solver.point(new) is new.now.X
    check_products(problem, new.now)


def test_the_certificate_is_the_prox_and_the_gradient_of_the_envelope(case):
    problem, solver, mu, old, _ = case
    check_smoothed_certificate(problem, solver, old, mu)


def test_an_unknown_constant_is_doubled_until_the_model_is_an_upper_bound():
    problem = PROBLEMS["own function, unknown constant"]
    _, X, _, _, _ = random_triple(problem, 0)
    new = SPGMEP().step(problem, SPGMEPState(t=0, now=problem.at(X), mu0=1e3, L=1e-6))
    check_doublings(new.L, 1e-6)
    assert check_majorises(problem.f, X, new.now.X, new.L)
    start = SPGMEP().init(problem, X)
    assert start.t == 0 and 0.1 < start.L < 30


@pytest.mark.parametrize("Solver", [SPGMEP, SPGMRR])
def test_the_first_smoothing(Solver):
    problem = PROBLEMS["plain l1, centred"]
    X = problem.M.random(0)
    assert Solver().init(problem, X).mu0 == pytest.approx(0.1 * np.median(np.abs(X)) / 0.7)
    assert Solver(mu0=0.2).init(problem, X).mu0 == 0.2
    assert Solver(schedule="oadmm", beta0=5.0).init(problem, X).mu0 == 0.2
    entries = PROBLEMS["entries"]
    seen = entries.A(X)
    width = 0.1 * (np.median(np.abs(seen)) or np.mean(np.abs(seen)))
    slope = entries.h.lipschitz_constant(entries.shape) / np.sqrt(np.prod(entries.shape))
    assert Solver().init(entries, X).mu0 == pytest.approx(width / slope)
    corner = np.eye(N, R)  # its median is zero: the mean takes its place
    assert Solver().init(problem, corner).mu0 == pytest.approx(0.1 / N / 0.7)
    assert Solver().init(Problem(M=Stiefel(N, R)), X).mu0 == 1e30
    chosen = Solver(schedule="oadmm").for_problem(problem)
    assert chosen.beta0 == named("oadmm-ep").for_problem(problem).beta0
    assert Solver(schedule="oadmm", beta0=3.0).for_problem(problem).beta0 == 3.0
    assert Solver().for_problem(problem).mu0 is None
    with pytest.raises(ValueError, match="has no beta0 yet"):
        Solver(schedule="oadmm").init(problem, X)


@pytest.mark.parametrize("Solver", [SPGMEP, SPGMRR])
def test_a_weakly_convex_h_bounds_the_smoothing(Solver):
    problem = PROBLEMS["mcp of differences"]
    X, most = problem.M.random(0), 0.5 / problem.h.weak_convexity
    assert Solver(mu0=most).init(problem, X).mu0 == most
    for settings in ({"mu0": 1.1 * most}, {"schedule": "oadmm", "beta0": 0.9 / most}):
        with pytest.raises(ValueError, match=r"must be at most 1/\(2 W_h\)"):
            Solver(**settings).init(problem, X)
    steep = Problem(M=problem.M, h=MCP(0.1, 0.01))
    assert Solver().init(steep, X).mu0 == pytest.approx(0.5 / steep.h.weak_convexity)
    chosen = Solver(schedule="oadmm").for_problem(steep)
    assert chosen.beta0 == named("oadmm-ep").for_problem(steep).beta0
    nowhere = np.full_like(X, np.nan)
    assert np.isnan(Solver().init(PROBLEMS["plain l1, centred"], nowhere).mu0)  # the driver looks at the start
    assert SPGMEP().for_problem(problem).mu0 == pytest.approx(most)  # as published; the other takes the width
    assert SPGMRR().for_problem(problem).mu0 is None
    assert (SPGMEP(schedule="oadmm").theta, SPGMEP(schedule="oadmm", theta=2.0).theta) == (1.01, 2.0)


# OADMM-EP with z held at 0 and alpha = 0 ("without multiplier"). If y minimises h_mu(y) + beta/2 |A(X) - y|^2, then
# beta (A(X) - y) = grad h_nu(A(X)) with nu = mu + 1/beta: both methods follow the same gradient, whatever mu is. Their
# lengths are 1/(theta (L_f + beta |A|^2)) and 1/(theta (L_f + |A|^2/nu)): the same only without smoothing, mu = 0.
