"""One step of ManIAL from a random state, against its definition; what both options share, and option I."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, named, solve
from orthoprox.models import sparse_pca
from orthoprox.problem import criticality
from orthoprox.solvers import ManIALState
from orthoprox.solvers._manial import _penalty, dual_length, kkt_residual
from orthoprox.solvers._rgbb import Penalised, rgbb
from orthoprox.terms import L1, ExplainedVariance, LargestK, Quadratic
from steps.cases import PROBLEMS, B, M, S, random_triple
from steps.descents import MODES, best_of_three_starts, descent, psi, walked

NU, L, T = 9.0, 17.0, 3
OPTIONS = ("manial-1", "manial-2")
SETTINGS = {"nu0": 4.0, "rho": 1.7, "tau": 0.6, "tol": 1e-3, "most_inner": 7}
CLASSICAL, DAMPED = "classical", "damped"


def random_state(problem, seed, t=T, delta=1e-9, length=0.02, inner=40):
    _, X, _, y, z = random_triple(problem, seed)
    return ManIALState(
        t=t, now=problem.at(X), Y=y, Z=z, nu=NU, delta=delta, first_gap=2.0, L=L, length=length, inner=inner
    )


@pytest.fixture(params=itertools.product(PROBLEMS, OPTIONS, (CLASSICAL, DAMPED)), ids="-".join)
def case(request):
    name, option, dual_step = request.param
    problem = PROBLEMS[name]
    solver = named(option, **SETTINGS, dual_step=dual_step)
    old = random_state(problem, 1, length=0.02 if dual_step == CLASSICAL else 1e9)  # the second is clipped
    return problem, solver, old, solver.step(problem, old)


def test_a_step_is_as_defined(case):
    problem, solver, old, new = case
    k = T + 1
    # X: f(X) - <xi, X> + the envelope of h at A(X) - Z/nu
    xi = problem.g.subgradient(old.now.X)
    value = functools.partial(psi, problem, xi=xi, nu=NU, c=old.Z / NU, held=None)
    tolerance, most = (2.0**-k, 7) if solver.name == "manial-1" else (1e-6, min(2**k, 7))
    ell = L + NU * problem.A.norm**2
    X, length, trials, _ = descent(problem, value, old.now.X, a=old.length, ell=ell, most=most, tolerance=tolerance)
    assert np.allclose(new.now.X, X, atol=1e-5)
    assert (new.t, new.inner, new.L) == (T + 1, 40 + len(trials), L)
    assert new.length == pytest.approx(length, rel=1e-2)
    # Y and Z
    AX = problem.A(new.now.X)
    Y = problem.h.prox(AX - old.Z / NU, 1 / NU)
    gap = np.linalg.norm(AX - Y)
    damping = 1.0 if solver.dual_step == CLASSICAL else min(1, 2.0 * math.log(2) ** 2 / (gap * k**2 * math.log(k + 1)))
    assert damping < 1 or solver.dual_step == CLASSICAL
    assert np.allclose(new.Y, Y, atol=1e-12)
    assert np.allclose(new.Z, old.Z - damping * NU * (AX - Y), atol=1e-11)
    assert new.first_gap == 2.0
    # the penalty: the residual was 1e-9 and did not shrink
    assert new.delta == pytest.approx(gap / (1 + np.linalg.norm(AX) + np.linalg.norm(Y)))
    assert new.delta >= 1e-3
    assert new.nu == pytest.approx(1.7 * NU)


def test_the_certificate(case):
    problem, solver, old, new = case
    certificate = solver.certificate(problem, new)
    assert certificate.point is new.now
    assert certificate.y is new.Y
    assert np.array_equal(certificate.z, -new.Z)
    assert solver.point(new) is new.now.X
    if solver.dual_step == CLASSICAL:
        assert problem.h.subgradient_distance(new.Y, -new.Z) < 1e-9
        # The gradient of the smooth function is the one that Crit sees, but for the refreshed subgradient of g
        merit = Penalised(problem, problem.g.subgradient(new.now.X), NU, old.Z / NU)
        G = problem.M.tangent(new.now.X, merit.gradient(new.now, new.Y))
        assert criticality(problem, certificate).stationarity == pytest.approx(np.linalg.norm(G))


@pytest.mark.parametrize(
    ("before", "delta", "tol", "nu"),
    [
        (1e-9, 1e-2, 1e-3, 1.7 * NU),  # not small, no progress: grow
        (1e9, 1e-2, 1e-3, NU),  # progress enough
        (1e-9, 1e-2, 1e-2, 1.7 * NU),  # at tol is not small
        (1e-9, 1e-4, 0.5, NU),  # small, and stationary enough: 10 tol is above the relative residual
        (1e-9, 1e-4, 1e-3, NU / 1.7),  # small, not stationary: fall
    ],
)
def test_the_penalty_follows_its_rule(before, delta, tol, nu):
    problem = PROBLEMS["plain l1, centred"]
    old = random_state(problem, 1, delta=before)
    solver = named("manial-1", **{**SETTINGS, "tol": tol})
    assert 1e-2 < kkt_residual(problem, old.now, old.Z) < 5
    assert _penalty(solver, problem, old, old.now, old.Z, delta) == pytest.approx(nu)


def test_the_penalty_grows_exactly_when_the_residual_shrinks_by_less_than_tau():
    problem = PROBLEMS["plain l1, centred"]
    reached = named("manial-1", **SETTINGS).step(problem, random_state(problem, 1)).delta
    for ratio, grows in ((0.59, False), (0.61, True)):
        new = named("manial-1", **SETTINGS).step(problem, random_state(problem, 1, delta=reached / ratio))
        assert (new.nu > NU) == grows


def test_the_penalty_stays_in_its_range():
    problem, weak = PROBLEMS["plain l1, centred"], PROBLEMS["mcp of differences"]

    def after(problem, nu, nu0, delta):
        state = ManIALState(**{**vars(random_state(problem, 1)), "nu": nu})
        return _penalty(named("manial-1", **{**SETTINGS, "nu0": nu0}), problem, state, state.now, state.Z, delta)

    assert after(problem, 1.0, 1 / 1001, 1e-2) == pytest.approx(1000 / 1001)
    assert after(problem, 0.011, 1.0, 1e-4) == 0.01
    assert after(problem, 0.0011, 0.001, 1e-4) == 0.001
    W = weak.h.weak_convexity
    assert after(weak, 2.5 * W, 4 * W, 1e-4) == pytest.approx(2 * W)


def test_the_relative_residual():
    problem = PROBLEMS["l1 minus largest-k"]
    _, X, _, _, Z = random_triple(problem, 4)
    point = problem.at(X)
    gradient = problem.f.gradient(X)
    G = gradient - problem.g.subgradient(X) - problem.A.adjoint(Z)
    G = G - X @ (X.T @ G + G.T @ X) / 2
    of_X = np.linalg.norm(G) / (1 + np.linalg.norm(gradient))
    of_Y = np.linalg.norm(X - problem.h.prox(X - Z, 1.0)) / (1 + np.linalg.norm(X))
    assert kkt_residual(problem, point, Z) == pytest.approx(max(of_X, of_Y))
    assert kkt_residual(problem, point, 100 * Z) > 1
    # a problem on which the part for X is the larger one
    problem = Problem.of(Quadratic(S) - 3.0 * LargestK(5) + 1e-3 * L1(), over=M)
    G = problem.M.tangent(X, problem.f.gradient(X) - problem.g.subgradient(X))
    of_X = np.linalg.norm(G) / (1 + np.linalg.norm(problem.f.gradient(X)))
    assert kkt_residual(problem, problem.at(X), 0 * Z) == pytest.approx(of_X)


def test_a_residual_of_zero_does_not_divide():
    problem = PROBLEMS["plain l1, centred"]
    solver = named("manial-1", **SETTINGS, dual_step=DAMPED)
    assert dual_length(solver, random_state(problem, 0), 0.0, 2.0) == NU


def test_the_penalty_looks_at_the_new_multiplier():
    problem = PROBLEMS["plain l1, centred"]
    state = random_state(problem, 1)
    old = ManIALState(**{**vars(state), "Z": 30 * state.Z})
    new = named("manial-1", **SETTINGS).step(problem, old)
    before, after = (kkt_residual(problem, new.now, Z) for Z in (old.Z, new.Z))
    tol = (before + after) / 20
    assert new.delta < tol
    assert abs(before - after) > 0.1
    again = named("manial-1", **{**SETTINGS, "tol": tol}).step(problem, old)
    assert again.nu == pytest.approx(NU / 1.7 if after > before else NU)


def test_products_are_computed_afresh_at_every_fiftieth_inner_step():
    problem = PROBLEMS["plain l1, centred"]
    solver = named("manial-1", **{**SETTINGS, "most_inner": 1})
    for inner, fresh in ((49, True), (50, False)):
        new = solver.step(problem, random_state(problem, 0, inner=inner))
        assert np.array_equal(new.now.HX, problem.at(new.now.X).HX) == fresh


@pytest.mark.parametrize("option", OPTIONS)
def test_the_first_residual_is_remembered_for_the_damped_step(option):
    problem = PROBLEMS["plain l1, centred"]
    solver = named(option, nu0=5.0, dual_step=DAMPED)
    first = solver.step(problem, solver.init(problem, M.random(0)))
    gap = np.linalg.norm(first.now.AX - first.Y)
    assert first.first_gap == pytest.approx(gap)
    assert np.allclose(first.Z, -5.0 * math.log(2) * (first.now.AX - first.Y))
    assert solver.step(problem, first).first_gap == first.first_gap


@pytest.mark.parametrize("option", OPTIONS)
def test_the_start(option):
    problem = PROBLEMS["groups of a matrix"]
    solver = named(option).for_problem(problem)
    assert solver.nu0 == pytest.approx(problem.f.lipschitz / problem.A.norm**2)
    assert solver.tol == pytest.approx(1e-10 * 27)
    state = solver.init(problem, M.random(0))
    assert np.array_equal(state.Y, problem.A(M.random(0)))
    assert (state.t, state.inner, state.length, state.nu, state.L) == (0, 0, 1e-3, solver.nu0, problem.f.lipschitz)
    assert not state.Z.any()
    assert named(option, nu0=2.0, tol=1e-4).for_problem(problem) == named(option, nu0=2.0, tol=1e-4)
    unknown = PROBLEMS["own function, unknown constant"]
    solver = named(option).for_problem(unknown)
    assert solver.nu0 is None
    state = solver.init(unknown, M.random(0))
    assert state.nu == state.L > 0
    assert solver.step(unknown, state).t == 1
    weak = PROBLEMS["mcp of differences"]
    with pytest.raises(ValueError, match="nu0 must be at least 2 W_h"):
        named(option, nu0=1.9 * weak.h.weak_convexity).init(weak, M.random(0))


def test_defaults_are_those_of_the_authors_experiments():
    one = named("manial-1")
    assert (one.rho, one.tau, one.most_inner, one.least_gradient, one.dual_step) == (1.8, 0.8, 100, 1e-6, CLASSICAL)
    assert not one.compilable


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"nu0": 0.0}, "nu0 must be positive"),
        ({"rho": 1.0}, "rho must be above 1"),
        ({"tau": 1.0}, r"tau must lie in \(0, 1\)"),
        ({"tol": 0.0}, "tol must be positive"),
        ({"most_inner": 0}, "most_inner must be at least 1"),
        ({"least_gradient": -1.0}, "least_gradient must not be negative"),
        ({"dual_step": "long"}, "dual_step must be 'classical' or 'damped'"),
    ],
)
def test_settings_outside_their_range_are_refused(option, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        named(option, **settings)


@pytest.mark.parametrize("option", OPTIONS)
def test_extensions_are_told(option):
    notes = solve(PROBLEMS["scad minus largest-k"], option, stop=Iterations(2)).notes
    assert sum(f"{option} has no theory" in note for note in notes) == 2


def test_without_h_every_step_is_plain_descent_on_f():
    problem = Problem.of(ExplainedVariance(B, 0.1), over=M)
    solver = named("manial-1").for_problem(problem)
    state = walked(problem, solver, M.random(0), 2)
    assert np.allclose(state.Y, state.now.AX, atol=1e-14)
    plain = Penalised(problem, 0.0 * state.now.X, 1.0, 0.0 * state.now.X)
    ell = state.L + state.nu
    found = rgbb(plain, state.now, length=state.length, ell=ell, tolerance=2.0**-3, most=100, done=state.inner)
    assert found.steps > 0
    assert np.allclose(solver.step(problem, state).now.X, found.point.X, atol=1e-12)


@pytest.mark.parametrize("option", OPTIONS)
def test_principal_components(option):
    problem = sparse_pca(B, n_components=3, weight=0.0)
    result = solve(problem, option, stop=Iterations(20))
    values = np.linalg.svd(B, compute_uv=False)
    assert result.objective == pytest.approx(np.sum(values[3:] ** 2) / (2 * B.shape[0]), rel=1e-10)


@pytest.mark.parametrize("option", OPTIONS)
def test_it_converges_with_every_part_present(option):
    problem = sparse_pca(B, n_components=3, weight=0.1, k=10)
    result = solve(problem, option, stop=Iterations(60))
    assert result.criticality < 1e-5
    assert result.infeasibility < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("weight", MODES)
def test_compressed_modes(weight):
    assert best_of_three_starts(named("manial-1"), weight, 60) < MODES[weight] * (1 + 1e-4)


@pytest.mark.slow
def test_sparse_components_of_arabidopsis(shared_data):
    D = np.load(shared_data / "arabidopsis_118x834.npz")["X"]
    D = D - D.mean(axis=0)
    D = D / np.maximum(np.linalg.norm(D, axis=0), 1e-300)
    problem = Problem.of(ExplainedVariance(D, 2.0) + 0.4 * L1(), over=Stiefel(834, 10))
    solver = named("manial-1").for_problem(problem)
    reached = (solver.point(walked(problem, solver, problem.M.random(seed), 40)) for seed in range(5))
    assert min(float(problem.objective(X)) for X in reached) < -481.1 * (1 - 1e-3)
