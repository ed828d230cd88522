"""One step of MADMM from a random state, against its definition; its descent, which ManIAL shares, and its products."""

import functools

import numpy as np
import pytest

from orthoprox import Problem, named
from orthoprox.maps import Identity
from orthoprox.solvers import MADMMState, _rgbb
from orthoprox.solvers._rgbb import PenaltyFunction, rgbb
from orthoprox.terms import L1, ExplainedVariance
from steps.cases import PROBLEMS, B, M, N, random_triple
from steps.checks import count_calls
from steps.descents import descent, psi

RHO, L = 9.0, 17.0


@pytest.mark.parametrize(("length", "inexact"), [(0.02, 0.03), (1e9, 0.3)])  # the second length is clipped
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_is_as_defined(name, length, inexact):
    problem, solver = PROBLEMS[name], named("madmm", most_inner=6, inexact=inexact)
    _, X, _, y, z = random_triple(problem, int(length > 1))
    old = MADMMState(t=7, now=problem.at(X), Z=y, U=0.3 * z, rho=RHO, L=L, length=length, inner=40)
    new = solver.step(problem, old)
    # X: f(X) - <xi, X> + rho/2 |A(X) - Z + U|^2
    value = functools.partial(psi, problem, xi=problem.g.subgradient(X), nu=RHO, c=-old.U, fixed=old.Z)
    tolerance = max(1e-8, inexact * RHO * problem.A.norm * np.linalg.norm(problem.A(X) - old.Z))
    ell = L + RHO * problem.A.norm**2
    X_new, length, trials, _ = descent(problem, value, X, a=length, ell=ell, most=6, tolerance=tolerance)
    assert np.allclose(new.now.X, X_new, atol=1e-6)
    assert (new.t, new.inner, new.L) == (8, 40 + len(trials), L)
    assert new.length == pytest.approx(length, rel=1e-3)
    # Z, U and the balance of the residuals
    AX = problem.A(new.now.X)
    Z = problem.h.prox(AX + old.U, 1 / RHO)
    primal, dual = np.linalg.norm(AX - Z), RHO * np.linalg.norm(problem.A.adjoint(Z - old.Z))
    scale = 2 if primal >= 10 * dual else 0.5 if dual > 10 * primal else 1
    assert np.allclose(new.Z, Z, atol=1e-12)
    assert np.allclose(new.U, (old.U + AX - Z) / scale, atol=1e-12)
    assert new.rho == scale * RHO
    # the certificate is a subgradient whatever becomes of the penalty
    certificate = solver.certificate(problem, new)
    assert (certificate.point is new.now, certificate.y is new.Z, solver.point(new) is new.now.X) == (True,) * 3
    assert np.allclose(certificate.z, RHO * (old.U + AX - Z), atol=1e-12)
    assert problem.h.subgradient_distance(new.Z, certificate.z) < 1e-9


@pytest.mark.parametrize(("gap", "factor"), [(1 / 10.1, 2.0), (1 / 9.9, 1.0), (9.9, 1.0), (10.1, 0.5)])
def test_residuals_balance_until_the_penalty_is_frozen(gap, factor):
    # gap: the dual residual, for a primal one of 1
    problem, solver = PROBLEMS["plain l1, centred"], named("madmm", balance=8)
    E = np.ones(problem.shape) / np.sqrt(np.prod(problem.shape))
    assert solver._penalty_factor(problem, 7, RHO, E, gap * E / RHO) == factor
    assert solver._penalty_factor(problem, 8, RHO, E, gap * E / RHO) == 1.0
    # Z has not moved at all, A(X) is off by a few units in the last place: that is no imbalance.
    for primal, raises in ((0.0, 1.0), (1e-15, 1.0), (1e-12, 2.0)):
        assert solver._penalty_factor(problem, 7, RHO, primal * E, 0 * E) == raises


TWICE = 2.0 * Identity()
CONCAVE, KINKED = (Problem.of(ExplainedVariance(B) + weight * L1() @ TWICE, over=M) for weight in (0.1, 8.0))
FLOORS = {
    "weakly convex h": (PROBLEMS["mcp of differences"], 2 * PROBLEMS["mcp of differences"].h.weak_convexity),
    "concave f": (CONCAVE, CONCAVE.f.lipschitz / 2 / 4),  # below, X and Z would swing for ever
    "concave f and a strong h": (KINKED, 1.2 * 8.0 * np.sqrt(N) / 2),  # and here stay apart
}


@pytest.mark.parametrize("kind", FLOORS)
def test_the_penalty_is_not_halved_below_its_floor(kind):
    (problem, least), solver = FLOORS[kind], named("madmm")
    E = np.ones(problem.shape)
    assert solver._penalty_factor(problem, 0, 2 * least, 0 * E, E) == 0.5
    assert solver._penalty_factor(problem, 0, 1.99 * least, 0 * E, E) == 1.0


def test_a_change_too_small_for_the_difference_of_two_values_keeps_its_digits():
    problem = PROBLEMS["plain l1, centred"]
    rng, X, _, y, z = random_triple(problem, 0)
    merit = PenaltyFunction(problem, 0.0 * X, RHO, z, y)
    D = 1e-12 * problem.M.tangent(X, rng.standard_normal(X.shape))
    now, new = problem.at(X), problem.at(X + D)
    assert merit.change(now, y, new, y) == pytest.approx(np.sum(D * merit.gradient(now, y)), rel=1e-3)


def test_a_descent_ends_at_its_tolerance_and_does_nothing_at_a_stationary_point():
    problem = Problem.of(ExplainedVariance(B), over=M)
    X = problem.M.random(0)
    merit = PenaltyFunction(problem, 0.0 * X, 1.0, 0.0 * X)
    found = rgbb(merit, problem.at(X), length=1e-3, ell=problem.f.lipschitz, tolerance=1e-8, most=500)
    assert np.linalg.norm(found.G) <= 1e-8
    assert 5 < found.steps < 500
    values = np.linalg.svd(B, compute_uv=False)
    assert problem.objective(found.point) == pytest.approx(-np.sum(values[:3] ** 2) / 2, rel=1e-12)
    again = rgbb(merit, found.point, length=0.3, ell=problem.f.lipschitz, tolerance=1e-8, most=500)
    assert (again.steps, again.point) == (0, found.point)


@pytest.mark.parametrize("free", [False, True])
def test_a_descent_from_any_length_is_as_defined(free):
    """Lengths are clipped at the start and after each step, a third trial may rise, and the mean is that of values."""
    problem, rises = PROBLEMS["l1 minus largest-k"], 0
    _, X, _, y, z = random_triple(problem, 2)
    xi, fixed = problem.g.subgradient(X), None if free else y
    value = functools.partial(psi, problem, xi=xi, nu=RHO, c=z, fixed=fixed)
    merit = PenaltyFunction(problem, xi, RHO, z, fixed)
    near = descent(problem, value, X, a=0.02, ell=20.0, most=6)[0]
    first = ((X, 1e-12, 20.0, 2), (X, 0.05, 1e5, 3), (X, 0.02, 20.0, 4))
    for start, length, ell, most in (*first, *((near, length, 20.0, 1) for length in (3.0, 12.0, 20.0, 40.0))):
        X_new, a, trials, mean = descent(problem, value, start, a=length, ell=ell, most=most)
        found = rgbb(merit, problem.at(start), length=length, ell=ell, tolerance=0.0, most=most)
        assert np.allclose(found.point.X, X_new, atol=1e-5) and found.steps == len(trials)
        assert found.length == pytest.approx(a, rel=1e-3) and found.mean == pytest.approx(mean, rel=1e-5)
        rises += trials[0] == 3 and value(X_new) > value(start) + 1e-3
    assert rises > 0


def test_the_inner_tolerance_has_a_floor():
    problem, solver = PROBLEMS["plain l1, centred"], named("madmm", inexact=0.0, most_inner=400)
    solver = solver.for_problem(problem)
    assert 10 < solver.step(problem, solver.init(problem, M.random(0))).inner < 400


def test_one_product_with_the_data_per_inner_step(monkeypatch):
    problem, X = PROBLEMS["plain l1, centred"], M.random(0)
    start, merit = problem.at(X), PenaltyFunction(problem, 0.0 * X, RHO, 0.0 * X)
    calls = count_calls(monkeypatch)
    for step_size, ell, done, refreshes in ((1e9, 1e-6, 15, 0), (1e-3, 20.0, _rgbb.REFRESH - 20, 1)):
        calls.clear()
        found = rgbb(merit, start, length=step_size, ell=ell, tolerance=0.0, most=30, done=done)
        assert len(calls) == 30 + refreshes
    last = rgbb(merit, start, length=1e-3, ell=20.0, tolerance=0.0, most=1, done=_rgbb.REFRESH - 1)
    assert np.array_equal(last.point.HX, problem.at(last.point.X).HX)
    assert not np.array_equal(found.point.HX, problem.at(found.point.X).HX)
