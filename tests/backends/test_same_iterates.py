"""The same solver file gives the same iterates in every array library."""

from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from array_api_compat import is_array_api_obj

from backends.problems import PROBLEMS, SOLVERS, B, N, R, quartic
from backends.states import apart, arrays_of, carried, is_single, numbers, single
from orthoprox import Problem, Stiefel, iterate
from orthoprox._fields import parts
from orthoprox.backends import backend_of
from orthoprox.models import sparse_pca
from orthoprox.terms import L1, Smooth

STEPS = 100
TRAJECTORIES = [
    (problem, solver)
    for problem in PROBLEMS
    for solver in SOLVERS
    if solver in ("ep", "rr", "subgradient") or problem == "largest magnitude"
]
# Barzilai-Borwein lengths are quotients of differences: on most problems a rounding error doubles every few
# iterations, whatever the library, so there the steps are compared one by one and not the trajectories.
SINGLE_STEPS = [
    (problem, solver)
    for problem in ("l1 minus largest-k", "mcp of differences", "own function, unknown constant")
    for solver in ("rr, bb-long", "rr, bb-short", "rr, qr")
]
IN_SINGLE_PRECISION = [
    ("l1 minus largest-k", "ep"),
    ("l1 minus largest-k", "rr, qr"),
    ("stack of three", "ep"),
    ("stack of three", "rr, bb-long"),
    ("own function, unknown constant", "rr"),
    ("own function, unknown constant", "subgradient"),
]


def states(problem: Problem, solver: Any, X0: Any) -> Any:
    solver = solver.for_problem(problem)
    return iterate(problem, solver, solver.init(problem, X0))


@pytest.mark.parametrize(("problem", "solver"), TRAJECTORIES)
def test_a_hundred_steps(library, problem, solver):
    here, there = PROBLEMS[problem](np.asarray), PROBLEMS[problem](library.asarray)
    X0 = here.M.random(3)
    first = states(here, SOLVERS[solver], X0)
    second = states(there, SOLVERS[solver], library.asarray(X0))
    moved = 0.0
    for one, other in islice(zip(first, second, strict=True), STEPS + 1):
        assert all(library.owns(leaf) for leaf in parts(other) if is_array_api_obj(leaf))
        assert apart(numbers(one), numbers(other)) < 1e-10
        moved = max(moved, float(np.max(np.abs(one.now.X - X0))))
    assert int(other.t) == STEPS
    assert moved > 0.1  # they did not agree by standing still


@pytest.mark.parametrize(("problem", "solver"), SINGLE_STEPS)
def test_a_hundred_single_steps(library, problem, solver):
    here, there = PROBLEMS[problem](np.asarray), PROBLEMS[problem](library.asarray)
    solver = SOLVERS[solver].for_problem(here)
    X = library.asarray(here.M.random(3))
    step = backend_of(X).compile(solver.step, there)
    for before, after in islice(pairwise(states(here, solver, here.M.random(3))), STEPS):
        other = step(there, carried(before, library.asarray))
        assert apart(numbers(after), numbers(other)) < 1e-10


@pytest.mark.parametrize(("problem", "solver"), IN_SINGLE_PRECISION)
def test_single_precision_stays(library, problem, solver):
    here, there = PROBLEMS[problem](np.asarray), PROBLEMS[problem](single(library))
    X0 = here.M.random(3)
    for state in islice(states(there, SOLVERS[solver], single(library)(X0)), 11):
        assert len(arrays_of(state)) >= 4  # X, A(X), y and z, or two points; HX where f has it
        assert is_single(state)
    exact = next(islice(states(here, SOLVERS[solver], X0), 10, None))
    assert np.max(np.abs(library.numpy(state.now.X) - exact.now.X)) < 1e-3


def test_the_measure_sees_a_difference():
    """The instrument: a state whose multiplier is off in its last digits is not the same."""
    problem = sparse_pca(B, n_components=R, weight=0.1)
    state = next(islice(states(problem, SOLVERS["ep"], problem.M.random(3)), 5, None))
    other = numbers(state)
    other = [leaf + 2e-10 if leaf is other[-2] else leaf for leaf in other]
    assert apart(numbers(state), numbers(state)) == 0
    assert 1e-10 < apart(numbers(state), other) < 3e-10


def test_the_length_of_a_search_does_not_depend_on_the_library(library):
    """A guess of the Lipschitz constant that is far too small is doubled as often everywhere."""
    problem = Problem.of(Smooth(quartic) + 0.2 * L1(), over=Stiefel(N, R))
    solver = SOLVERS["ep"].for_problem(problem)
    X0 = problem.M.random(3)
    grown = []
    for X in (X0, library.asarray(X0)):
        state = solver.init(problem, X)
        object.__setattr__(state, "L", 1e-9)
        grown.append(float(next(islice(iterate(problem, solver, state), 1, None)).L))
    assert grown[0] > 1e-9
    assert grown[0] == grown[1]
