"""One step of RADMM from a random state, against its definition; where it walks with OADMM-RR."""

import itertools

import numpy as np
import pytest

from orthoprox import Problem, Stiefel, solve
from orthoprox.solvers.radmm import RADMM, RADMMState
from orthoprox.terms import L1, MCP, Zero
from steps.cases import PROBLEMS, N, R, augmented, numerical_gradient, random_triple
from steps.checks import check_doublings, check_majorises, check_products, factor, tangent

T, BETA, MU = 7, 15.0, 0.3


def state_at(problem, seed, L=30.0):
    _, X, _, y, z = random_triple(problem, seed)
    return RADMMState(t=T, now=problem.at(X), y=y, z=z, L=L if problem.f.lipschitz is None else problem.f.lipschitz)


@pytest.fixture(
    params=[
        (name, seed, by, eta)
        for seed, (name, by, eta) in enumerate(itertools.product(PROBLEMS, ("polar", "qr"), (0.02, None)))
    ],
    ids=lambda p: f"{p[0]}-{p[2]}-{p[3]}",
)
def case(request):
    name, seed, by, eta = request.param
    problem = PROBLEMS[name]
    old = state_at(problem, seed)
    solver = RADMM(beta=BETA, mu=MU, eta=eta, retraction=by)
    return problem, solver, old, solver.step(problem, old)


def test_X_is_a_riemannian_gradient_step(case):
    problem, solver, old, new = case
    X = old.now.X
    G = numerical_gradient(lambda V: augmented(problem, V, old.y, old.z, BETA), X) - problem.g.subgradient(X)
    D = tangent(X, G)
    eta = solver.eta or 1 / (new.L + BETA * problem.A.norm**2)
    assert np.allclose(new.now.X, factor(X - eta * D, solver.retraction), atol=1e-7)
    assert (new.t, new.L) == (T + 1, old.L)
    assert np.linalg.norm(new.now.X - X) > 1e-3
    check_products(problem, new.now)


def test_y_minimises_the_smoothed_h_and_z_takes_a_full_step(case):
    problem, _, old, new = case
    AX = problem.A(new.now.X)
    b = AX + old.z / BETA
    y_breve = problem.h.prox(b, MU + 1 / BETA)
    y = (y_breve + MU * BETA * b) / (1 + MU * BETA)
    assert np.allclose(new.y, y, atol=1e-12)
    assert np.allclose(new.z, old.z + BETA * (AX - y), atol=1e-11)


def test_the_certificate_is_the_prox_point_and_the_multiplier(case):
    problem, solver, old, new = case
    certificate = solver.certificate(problem, new)
    y_breve = problem.h.prox(problem.A(new.now.X) + old.z / BETA, MU + 1 / BETA)
    assert np.allclose(certificate.y, y_breve, atol=1e-12)
    assert certificate.z is new.z
    assert certificate.point is new.now
    assert problem.h.subgradient_distance(certificate.y, certificate.z) < 1e-9
    assert solver.point(new) is new.now.X


def test_the_first_state():
    problem = PROBLEMS["groups of a matrix"]
    solver = RADMM(beta=2.0)
    X = problem.M.random(0)
    state = solver.init(problem, X)
    assert (state.t, state.now.X is X, state.L) == (0, True, problem.f.lipschitz)
    assert (state.y == problem.A(X)).all()
    assert (state.z == 0).all()
    assert solver.certificate(problem, state).y is state.y
    with pytest.raises(ValueError, match="radmm has no beta yet"):
        RADMM().init(problem, X)


def test_an_unknown_constant_is_doubled_until_the_model_is_an_upper_bound():
    problem = PROBLEMS["own function, unknown constant"]
    old = state_at(problem, 0, L=1e-6)
    new = RADMM(beta=1e-3, mu=MU).step(problem, old)
    check_doublings(new.L, 1e-6)
    assert check_majorises(problem.f, old.now.X, new.now.X, new.L)
    chosen = RADMM().for_problem(problem)
    assert chosen.eta is None and 0.1 < chosen.beta < 30
    assert 0.1 < chosen.init(problem, old.now.X).L < 30


def test_settings_are_chosen_for_the_problem():
    problem = PROBLEMS["groups of a matrix"]
    L, norm = problem.f.lipschitz, problem.A.norm
    chosen = RADMM().for_problem(problem)
    assert chosen.beta == pytest.approx(L / norm**2)
    assert chosen.mu == pytest.approx(1e-8 / chosen.beta)
    assert chosen.eta == pytest.approx(1 / (2 * L))
    strict = RADMM(strict_theory=True).for_problem(problem)
    assert strict.mu == pytest.approx(4 / strict.beta)
    assert strict.eta == pytest.approx(1 / (4 * L))
    given = RADMM(beta=3.0, mu=0.1, eta=0.2)
    assert given.for_problem(problem) is given
    assert RADMM(beta=3.0).for_problem(problem).eta == pytest.approx(1 / (L + 3 * norm**2))
    # An f without curvature leaves the slope of h; nothing at all leaves 1.
    bare = Problem(M=Stiefel(N, R), h=L1(0.3))
    assert RADMM().for_problem(bare).beta == pytest.approx(0.3 * np.sqrt(N * R) / np.sqrt(R))
    assert RADMM().for_problem(Problem(M=Stiefel(N, R))).beta == 1.0
    weak = Problem(M=Stiefel(N, R), f=Zero(), h=MCP(0.1, 0.01))
    for solver in (RADMM(), RADMM(strict_theory=True), RADMM(mu=0.2 / weak.h.weak_convexity)):
        chosen = solver.for_problem(weak)
        assert (chosen.mu + 1 / chosen.beta) * weak.h.weak_convexity <= 0.5 + 1e-12
        chosen.init(weak, weak.M.random(0))


def test_presets_are_those_of_the_paper():
    assert RADMM.preset("I") == RADMM(beta=100.0)
    assert RADMM.preset("II", retraction="qr") == RADMM(beta=10_000.0, retraction="qr")
    with pytest.raises(ValueError, match="The presets of radmm are I, II; given 'III'"):
        RADMM.preset("III")


def test_a_smoothing_too_large_for_a_weakly_convex_h_is_refused():
    problem = PROBLEMS["mcp of differences"]
    W = problem.h.weak_convexity
    for settings in ({"beta": 0.9 * W}, {"beta": 100 * W, "mu": 0.6 / W}):
        with pytest.raises(ValueError, match=r"radmm needs mu \+ 1/beta < 1/W_h"):
            solve(problem, RADMM(**settings))
