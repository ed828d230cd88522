"""Gradient steps on an augmented Lagrangian, alone."""

import numpy as np
import pytest

from orthoprox import Problem, named
from orthoprox._fields import replace
from orthoprox.solvers import ManIAL
from orthoprox.solvers.oadmm.gradient import Gradient
from orthoprox.solvers.oadmm.tuning import Tuning
from orthoprox.terms import LInf, Quadratic
from phases.problems import OTHERS, random_iterate
from steps.cases import M, S

PROBLEMS = {"own function": OTHERS["own function"], "linf": Problem.of(Quadratic(S) + 0.5 * LInf(), over=M)}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_block_is_an_outer_iteration_of_manial_measured_once(name):
    problem, method = PROBLEMS[name], Gradient()
    peer = named("manial-1").for_problem(problem)
    state, theirs = method.init(problem, M.random(2)), peer.init(problem, M.random(2))
    for t in range(6):
        state, theirs = method.step(problem, state), peer.step(problem, theirs)
        assert np.array_equal(state.at.point.X, theirs.now.X)
        assert np.array_equal(state.at.y, theirs.Y) and np.array_equal(state.at.z, -theirs.Z)
        assert (state.t, method.work(state)) == (t + 1, peer.work(theirs))
        assert state.at.objective == pytest.approx(float(problem.objective(theirs.now.X)))


def test_the_descent_ends_at_a_share_of_crit():
    """ManIAL's own limit would keep a Crit below it out of reach."""
    problem, method = PROBLEMS["own function"], Gradient(tuning=Tuning(exact=0.02))
    state = method.init(problem, M.random(2))
    for _ in range(12):
        state = method.step(problem, state)
    late = replace(state, inner=replace(state.inner, t=60))
    for crit, least in ((1e-7, 2e-9), (1.0, 1e-6)):
        step = method.step(problem, replace(late, at=replace(late.at, crit=crit)))
        theirs = ManIAL(least_gradient=least).for_problem(problem).step(problem, late.inner)
        assert np.array_equal(step.at.point.X, theirs.now.X)
        assert step.inner.inner == theirs.inner > late.inner.inner


def test_it_goes_on_from_another_point():
    problem, method = PROBLEMS["linf"], Gradient()
    state = method.step(problem, method.init(problem, M.random(2)))
    at = random_iterate(problem, 5)
    moved = method.restart(problem, state, at)
    assert moved.at is at and moved.inner.now is at.point
    assert np.array_equal(moved.inner.Y, at.y) and np.array_equal(moved.inner.Z, -at.z)
    assert (moved.inner.nu, moved.inner.t) == (state.inner.nu, state.inner.t + 1) and method.tighten(
        problem, moved
    ) is moved
