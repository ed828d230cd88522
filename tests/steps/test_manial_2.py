"""Option II of ManIAL: the number of inner steps. What both options share is in test_manial_1."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Problem, named
from orthoprox.solvers._rgbb import Penalised, rgbb
from orthoprox.terms import ExplainedVariance
from steps.cases import PROBLEMS, B, M
from steps.descents import MODES, best_of_three_starts, walked


def test_inner_steps_double_up_to_their_limit():
    problem = PROBLEMS["groups of a matrix"]
    solver = named("manial-2", nu0=1.0, most_inner=20, least_gradient=0.0)
    state, steps = solver.init(problem, M.random(0)), []
    for _ in range(6):
        before, state = state.inner, solver.step(problem, state)
        steps.append(state.inner - before)
    assert steps == [2, 4, 8, 16, 20, 20]


def test_a_stationary_point_takes_no_inner_steps():
    problem = PROBLEMS["plain l1, centred"]
    solver = named("manial-2").for_problem(problem)
    state = walked(problem, solver, M.random(0), 25)
    again = solver.step(problem, state)
    assert again.inner - state.inner < 2**10
    loose = named("manial-2", nu0=solver.nu0, least_gradient=1e9)
    assert loose.step(problem, state).inner == state.inner


def test_a_very_late_iteration_does_not_overflow():
    problem = PROBLEMS["plain l1, centred"]
    solver = named("manial-2", most_inner=3).for_problem(problem)
    state = solver.init(problem, M.random(0))
    late = type(state)(**{**vars(state), "t": 5000})
    assert solver.step(problem, late).inner == 3


def test_defaults_are_those_of_the_authors_experiments():
    two = named("manial-2")
    assert (two.rho, two.tau, two.most_inner, two.least_gradient) == (1.5, 0.7, 1000, 1e-6)
    assert two.dual_step == "classical"
    assert not two.compilable


def test_without_h_every_step_is_plain_descent_on_f():
    problem = Problem.of(ExplainedVariance(B, 0.1), over=M)
    solver = named("manial-2").for_problem(problem)
    state = walked(problem, solver, M.random(0), 2)
    plain = Penalised(problem, 0.0 * state.now.X, 1.0, 0.0 * state.now.X)
    ell = state.L + state.nu
    found = rgbb(plain, state.now, length=state.length, ell=ell, tolerance=1e-6, most=8, done=state.inner)
    assert found.steps == 8
    assert np.allclose(solver.step(problem, state).now.X, found.point.X, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weight", MODES)
def test_compressed_modes(weight):
    assert best_of_three_starts(named("manial-2"), weight, 20) < MODES[weight] * (1 + 1e-4)
