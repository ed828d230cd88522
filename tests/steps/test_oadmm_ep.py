"""One step of OADMM-EP from a random state, against Algorithm 1."""

import numpy as np
import pytest

from orthoprox import Problem, named, solve
from orthoprox.maps import Identity
from orthoprox.solvers import OADMMEPState
from orthoprox.terms import L1
from orthoprox.terms.envelope import envelope_gradient
from steps.cases import PROBLEMS, M, N, R, augmented, numerical_gradient, random_triple
from steps.checks import check_doublings, check_majorises, check_products

SETTINGS = {"beta0": 15.0, "theta": 3.0, "xi": 0.5, "sigma": 1.4, "tau": 7.0, "p": 0.4}  # far from the defaults
T = 7


@pytest.fixture(params=[(name, seed) for name in PROBLEMS for seed in range(4)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    name, seed = request.param
    problem = PROBLEMS[name]
    rng, X, X_prev, y, z = random_triple(problem, seed)
    solver = named("oadmm-ep", **SETTINGS)
    L = 30.0 if problem.f.lipschitz is None else problem.f.lipschitz
    old = OADMMEPState(t=T, now=problem.at(X), before=problem.at(X_prev), y=y, z=z, L=L)
    return rng, problem, solver, old, solver.step(problem, old)


def penalty(solver, t=T):
    return solver.beta0 * (1 + solver.xi * t**solver.p)


def test_X_minimises_its_model(case):  # S1, S2
    rng, problem, solver, old, new = case
    beta, X = penalty(solver), old.now.X
    X_c = X + solver.alpha * (X - old.before.X)
    G = numerical_gradient(lambda V: augmented(problem, V, old.y, old.z, beta), X_c)
    G = G - problem.g.subgradient(X)
    ell = beta * problem.A.norm**2 + new.L

    def model(V):
        return np.sum((V - X) * G) + solver.theta * ell / 2 * np.sum((V - X_c) ** 2)

    U, _, Vt = np.linalg.svd(X_c - G / (solver.theta * ell), full_matrices=False)
    assert np.allclose(new.now.X, U @ Vt, atol=1e-7)
    rivals = [problem.M.project(new.now.X + s * rng.standard_normal((N, R))) for s in (1e-3, 1e-2, 1e-1)]
    assert all(model(new.now.X) <= model(V) + 1e-6 for V in rivals)
    assert solver.alpha > 0.15  # so that a wrong extrapolation would show


def test_multiplier_is_the_gradient_of_the_envelope(case):  # S3, S4: Lemma 4.1(a)
    _, problem, solver, old, new = case
    beta = penalty(solver)
    multiplier = old.z - (old.z - new.z) / solver.sigma
    assert np.allclose(multiplier, envelope_gradient(problem.h, new.y, solver.tau / beta), atol=1e-10)
    y_breve = solver.certificate(problem, new).y
    assert problem.h.subgradient_distance(y_breve, multiplier) < 1e-9


def test_y_minimises_the_smoothed_subproblem(case):  # S3
    rng, problem, solver, old, new = case
    beta = penalty(solver)
    mu = solver.tau / beta
    b = problem.A(new.now.X) + old.z / beta

    def cost(y):
        v = problem.h.prox(y, mu)
        return problem.h.value(v) + np.sum((v - y) ** 2) / (2 * mu) + beta / 2 * np.sum((y - b) ** 2)

    rivals = [new.y + s * rng.standard_normal(new.y.shape) for s in (1e-4, 1e-2, 1)]
    assert all(cost(new.y) <= cost(y) + 1e-9 for y in rivals)
    assert np.allclose(new.z, old.z + solver.sigma * beta * (problem.A(new.now.X) - new.y), atol=1e-12)  # S4
    assert (new.t, new.before is old.now) == (T + 1, True)
    check_products(problem, new.now)


def test_the_certificate_is_the_triple_of_the_theorem(case):
    _, problem, solver, old, new = case
    certificate = solver.certificate(problem, new)
    beta = penalty(solver)
    b = problem.A(new.now.X) + old.z / beta
    y_breve = problem.h.prox(b, solver.tau / beta + 1 / beta)  # as S3 computes it
    assert np.allclose(certificate.y, y_breve, atol=1e-12)
    assert certificate.z is new.z
    assert certificate.point is new.now


def test_an_unknown_constant_is_doubled_until_the_model_is_an_upper_bound():
    problem = PROBLEMS["own function, unknown constant"]
    _, X, X_prev, y, z = random_triple(problem, 0)
    solver = named("oadmm-ep", beta0=1e-3, strict_theory=False)  # a tiny penalty makes L matter
    old = OADMMEPState(t=0, now=problem.at(X), before=problem.at(X_prev), y=y, z=z, L=1e-6)
    new = solver.step(problem, old)
    check_doublings(new.L, 1e-6)
    assert check_majorises(problem.f, X + solver.alpha * (X - X_prev), new.now.X, new.L)
    assert 0.1 < solver.init(problem, X).L < 30


def test_the_first_state_is_where_the_paper_begins():
    problem = PROBLEMS["groups of a matrix"]
    X = problem.M.random(0)
    state = named("oadmm-ep", beta0=5.0).init(problem, X)
    assert state.t == 0
    assert state.now is state.before
    assert state.now.X is X
    assert (state.y == problem.A(X)).all()
    assert (state.z == 0).all()
    assert named("oadmm-ep", beta0=5.0).certificate(problem, state).y is state.y


def test_the_penalty_is_chosen_for_the_problem():
    problem = PROBLEMS["l1 minus largest-k"]
    assert named("oadmm-ep").for_problem(problem).beta0 == max(10 * 0.5, problem.f.lipschitz)
    assert named("oadmm-ep", beta0=3.0).for_problem(problem).beta0 == 3.0
    weak = PROBLEMS["mcp of differences"]
    chosen = named("oadmm-ep").for_problem(weak)
    assert chosen.beta0 >= 2 * chosen.tau * weak.h.weak_convexity
    stacked = PROBLEMS["stacked"]
    assert named("oadmm-ep").for_problem(stacked).beta0 >= 10 * 0.6
    assert named("oadmm-ep", sigma=1.5).for_problem(problem).tau == 8.0
    assert named("oadmm-ep", xi=1.0).alpha == pytest.approx(0.01 / (2.01 * 3), abs=2e-12)
    for solver in ("oadmm-ep", "oadmm-rr"):  # A = 0 leaves the slope of h, and A in other units changes the curvature
        scaled = [Problem(M=M, f=problem.f, h=L1(0.1), A=c * Identity()) for c in (0.0, 0.5)]
        assert [named(solver).for_problem(one).beta0 for one in scaled] == [1.0, 4 * problem.f.lipschitz]


def test_theory_can_be_left_knowingly():
    solver = named("oadmm-ep", tau=0.1, xi=0.0, alpha=0.5, strict_theory=False, beta0=20.0)
    result = solve(PROBLEMS["l1 minus largest-k"], solver, stop=lambda now: now.t >= 30)
    assert np.isfinite(result.objective)
    plain = named("oadmm-ep", tau=0.0, strict_theory=False, beta0=20.0)
    assert np.isfinite(solve(PROBLEMS["plain l1, centred"], plain, stop=lambda now: now.t >= 30).objective)


def test_a_penalty_too_small_for_a_weakly_convex_h_is_refused():
    with pytest.raises(ValueError, match="beta0 must be at least 2 tau W_h"):
        solve(PROBLEMS["mcp of differences"], named("oadmm-ep", beta0=1e-3))
    solver = named("oadmm-ep")
    with pytest.raises(ValueError, match="has no beta0 yet"):
        solver.init(PROBLEMS["plain l1, centred"], PROBLEMS["plain l1, centred"].M.random(0))
