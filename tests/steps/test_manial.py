"""One step of ManIAL from a random state, against its definition."""

import functools
import math

import numpy as np
import pytest

from orthoprox import Problem, named
from orthoprox._fields import replace
from orthoprox.solvers import ManIAL, ManIALState
from orthoprox.solvers.manial import kkt_residual
from orthoprox.terms import L1, LargestK, Quadratic
from steps.cases import PROBLEMS, M, S, random_triple
from steps.checks import tangent, walk
from steps.descents import descent, psi

NU, L, T = 9.0, 17.0, 3
OPTIONS = ("manial-1", "manial-2")
SETTINGS = {"nu0": 4.0, "rho": 1.7, "tau": 0.6, "tol": 1e-3, "most_inner": 7}
CLASSICAL, DAMPED = "classical", "damped"
PLAIN = PROBLEMS["plain l1, centred"]


def random_state(problem, seed, **other):
    _, X, _, y, z = random_triple(problem, seed)
    state = {"t": T, "delta": 1e-9, "length": 0.02, "inner": 40, "nu": NU, "first_gap": 2.0, "L": L, "Y": y, "Z": z}
    return ManIALState(now=problem.at(X), **{**state, **other})


@pytest.mark.parametrize("dual_step", [CLASSICAL, DAMPED])
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_is_as_defined(name, option, dual_step):
    problem, solver, k = PROBLEMS[name], named(option, **SETTINGS, dual_step=dual_step), T + 1
    old = random_state(problem, 1, length=0.02 if dual_step == CLASSICAL else 1e9)  # the second is clipped
    new = solver.step(problem, old)
    # X: f(X) - <xi, X> + the envelope of h at A(X) - Z/nu
    value = functools.partial(psi, problem, xi=problem.g.subgradient(old.now.X), nu=NU, c=old.Z / NU, fixed=None)
    tolerance, most = (2.0**-k, 7) if solver.inner == "tolerance" else (1e-6, min(2**k, 7))
    ell = L + NU * problem.A.norm**2
    X, length, trials, _ = descent(problem, value, old.now.X, a=old.length, ell=ell, most=most, tolerance=tolerance)
    assert np.allclose(new.now.X, X, atol=1e-5)
    assert (new.t, new.inner, new.L) == (k, 40 + len(trials), L)
    assert new.length == pytest.approx(length, rel=1e-2)
    # Y and Z
    AX = problem.A(new.now.X)
    Y = problem.h.prox(AX - old.Z / NU, 1 / NU)
    gap = np.linalg.norm(AX - Y)
    damping = 1.0 if dual_step == CLASSICAL else min(1, 2.0 * math.log(2) ** 2 / (gap * k**2 * math.log(k + 1)))
    assert damping < 1 or dual_step == CLASSICAL
    assert np.allclose(new.Y, Y, atol=1e-12)
    assert np.allclose(new.Z, old.Z - damping * NU * (AX - Y), atol=1e-11)
    assert new.first_gap == 2.0
    # the penalty: the residual was 1e-9 and did not shrink
    assert new.delta == pytest.approx(gap / (1 + np.linalg.norm(AX) + np.linalg.norm(Y)))
    assert new.delta >= 1e-3
    assert new.nu == pytest.approx(1.7 * NU)
    certificate = solver.certificate(problem, new)
    assert (certificate.point is new.now, certificate.y is new.Y, solver.point(new) is new.now.X) == (True,) * 3
    assert np.array_equal(certificate.z, -new.Z)
    assert dual_step == DAMPED or problem.h.subgradient_distance(new.Y, -new.Z) < 1e-9


def test_the_two_options_are_settings_of_one_method():
    one, two = named("manial-1"), named("manial-2")
    assert isinstance(one, ManIAL) and replace(one, inner="doubling") == two
    assert (replace(one, inner="doubling", rho=1.9).rho, replace(one, rho=1.9).tau) == (1.9, 0.8)
    assert "tolerance 2^-k" in one.summary and "2^k of them" in two.summary


def test_inner_steps_double_up_to_their_limit_and_end_at_the_least_gradient():
    problem = PROBLEMS["groups of a matrix"]
    solver = named("manial-2", nu0=1.0, most_inner=20, least_gradient=0.0)
    states = walk(problem, solver, M.random(0), 6)
    state = states[-1]
    assert np.diff([solver.work(state) for state in states]).tolist() == [2, 4, 8, 16, 20, 20]
    assert replace(solver, least_gradient=1e9).step(problem, state).inner == state.inner
    late = ManIALState(**{**vars(state), "t": 5000})  # 2^5000 does not overflow
    assert solver.step(problem, late).inner == state.inner + 20


def next_penalty(problem, delta, last=1e-9, nu=NU, **settings):
    solver, state = named("manial-1", **{**SETTINGS, **settings}), random_state(problem, 1, nu=nu, delta=last)
    return solver._next_penalty(problem, state, state.now, state.Z, delta)


@pytest.mark.parametrize(
    ("delta", "last", "tol", "expected"),
    [
        (0.61e-2, 1e-2, 1e-3, 1.7 * NU),  # not small, shrinks by less than tau: grow
        (0.59e-2, 1e-2, 1e-3, NU),  # shrinks enough
        (1e-2, 1e-9, 1e-2, 1.7 * NU),  # at tol is not small
        (1e-4, 1e-9, 0.5, NU),  # small, and stationary enough: 10 tol is above the relative residual
        (1e-4, 1e-9, 1e-3, NU / 1.7),  # small, not stationary: fall
    ],
)
def test_the_penalty_follows_its_rule(delta, last, tol, expected):
    assert 1e-2 < kkt_residual(PLAIN, random_state(PLAIN, 1).now, random_state(PLAIN, 1).Z) < 5
    assert next_penalty(PLAIN, delta, last, tol=tol) == pytest.approx(expected)


def test_the_penalty_stays_in_its_range():
    of_h = 10 * 0.7  # h outweighs f
    assert next_penalty(PLAIN, 1e-2, nu=6000.0, nu0=1 / 1001) == pytest.approx(1000 * of_h)
    assert next_penalty(PLAIN, 1e-2, nu=9000.0, nu0=10.0) == pytest.approx(1000 * 10)
    assert next_penalty(PLAIN, 1e-4, nu=0.011, nu0=1.0) == 0.01
    assert next_penalty(PLAIN, 1e-4, nu=0.0011, nu0=0.001) == 0.001
    weak = PROBLEMS["mcp of differences"]
    W = weak.h.weak_convexity
    assert next_penalty(weak, 1e-4, nu=2.5 * W, nu0=4 * W) == pytest.approx(2 * W)


def test_the_relative_residual():
    _, X, _, _, Z = random_triple(PLAIN, 4)

    def parts(problem, Z):
        gradient = problem.f.gradient(X)
        G = tangent(X, gradient - problem.g.subgradient(X) - problem.A.adjoint(Z))
        of_Y = np.linalg.norm(X - problem.h.prox(X - Z, 1.0)) / (1 + np.linalg.norm(X))
        return np.linalg.norm(G) / (1 + np.linalg.norm(gradient)), of_Y

    problem = PROBLEMS["l1 minus largest-k"]
    of_X, of_Y = parts(problem, Z)
    assert of_Y > of_X and kkt_residual(problem, problem.at(X), Z) == pytest.approx(of_Y)
    problem = Problem.of(Quadratic(S) - 3.0 * LargestK(5) + 1e-3 * L1(), over=M)
    of_X, of_Y = parts(problem, 0 * Z)
    assert of_X > of_Y and kkt_residual(problem, problem.at(X), 0 * Z) == pytest.approx(of_X)


def test_the_penalty_looks_at_the_new_multiplier():
    state = random_state(PLAIN, 1)
    old = ManIALState(**{**vars(state), "Z": 30 * state.Z})
    new = named("manial-1", **SETTINGS).step(PLAIN, old)
    before, after = (kkt_residual(PLAIN, new.now, Z) for Z in (old.Z, new.Z))
    tol = (before + after) / 20
    assert new.delta < tol
    assert abs(before - after) > 0.1
    again = named("manial-1", **{**SETTINGS, "tol": tol}).step(PLAIN, old)
    assert again.nu == pytest.approx(NU / 1.7 if after > before else NU)


@pytest.mark.parametrize("option", OPTIONS)
def test_the_first_residual_is_remembered_for_the_damped_step(option):
    solver = named(option, nu0=5.0, dual_step=DAMPED)
    first = solver.step(PLAIN, solver.init(PLAIN, M.random(0)))
    gap = np.linalg.norm(first.now.AX - first.Y)
    assert first.first_gap == pytest.approx(gap)
    assert np.allclose(first.Z, -5.0 * math.log(2) * (first.now.AX - first.Y))
    assert solver.step(PLAIN, first).first_gap == first.first_gap
    smooth = Problem.of(Quadratic(S), over=M)  # without h there is no residual to divide by
    assert not solver.step(smooth, solver.init(smooth, M.random(0))).Z.any()


def test_the_tolerance_counts_entries_unless_it_is_given():
    assert named("manial-1").for_problem(PLAIN).tol == pytest.approx(1e-10 * 27)
    given = named("manial-2", nu0=2.0, tol=1e-4)
    assert given.for_problem(PLAIN) == given
