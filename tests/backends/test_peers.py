"""The methods that OADMM is compared with: one step from a common state is the same in every array library."""

from itertools import islice, pairwise

import numpy as np
import pytest
from array_api_compat import is_array_api_obj

from backends.problems import PROBLEMS
from backends.states import apart, carried, is_single, numbers, single
from orthoprox import Iterations, Recorder, UnsupportedProblem, iterate, named, solve
from orthoprox._fields import parts
from orthoprox.backends import backend_of

METHODS = {
    "radmm": named("radmm"),
    "radmm, qr": named("radmm", retraction="qr"),
    "rsg": named("rsg"),
    "rsg, geometric": named("rsg", rule="geometric"),
    "spgm-ep": named("spgm-ep"),
    "spgm-ep, oadmm": named("spgm-ep", schedule="oadmm"),
    "spgm-rr": named("spgm-rr"),
    "spgm-rr, qr": named("spgm-rr", retraction="qr", refresh=3),
    "spgm-rr, fixed": named("spgm-rr", length="fixed"),
    "subgradient": named("subgradient"),
    "manpg": named("manpg"),
    "manpg-ada": named("manpg-ada"),
    "manpg, dual": named("manpg", inner="dual"),
    "manpg-ada, dual": named("manpg-ada", inner="dual"),
}
LOOPS = {
    "madmm": named("madmm", most_inner=6),
    "manial-1": named("manial-1", most_inner=6),
    "manial-2": named("manial-2", most_inner=6, dual_step="damped"),
    "socm": named("socm"),
    "socm, two blocks": named("socm", form="two-block", most_inner=8),
    "socm, linearised": named("socm", solve="linearised", most_inner=2),
}
"""Methods with inner loops. Inner steps whose lengths are quotients of differences magnify a rounding error."""
METHODS |= LOOPS


def admitted(problem, method):
    solver, given = METHODS[method], PROBLEMS[problem](np.asarray)
    try:
        solver.scope.admit(given, method)
        solver.for_problem(given)
    except UnsupportedProblem:
        return False
    return True


# Every method on every problem, its variants on a few, inner loops on some.
FEW = ("l1 minus largest-k", "groups of a matrix", "stack of three", "largest magnitude")
SOME = (
    "l1 minus largest-k",
    "mcp of differences",
    "stack of three",
    "entries, scad minus largest-k",
    "own function, unknown constant",
    "compressed modes",
)
PAIRS = [
    (problem, method)
    for problem in PROBLEMS
    for method in METHODS
    if (problem in SOME if method in LOOPS else problem in FEW or "," not in method) and admitted(problem, method)
]


def test_every_method_is_tried_with_and_without_a_map():
    for method in METHODS:
        tried = {problem for problem, other in PAIRS if other == method}
        assert "l1 minus largest-k" in tried
        assert {"groups of a matrix", "stack of three"} & tried or method in ("manpg", "manpg-ada", "socm, two blocks")


@pytest.mark.parametrize(("problem", "method"), PAIRS)
def test_single_steps(library, problem, method):
    steps, tolerance = (8, 1e-10) if method not in LOOPS else (5, 1e-9 if method.startswith("socm") else 1e-5)
    here, there = PROBLEMS[problem](np.asarray), PROBLEMS[problem](library.asarray)
    solver = METHODS[method].for_problem(here)
    X0 = here.M.random(3)
    begun = solver.init(there, library.asarray(X0))
    assert apart(numbers(solver.init(here, X0)), numbers(begun)) < (1e-9 if method in LOOPS else 1e-10)
    step = backend_of(library.asarray(X0)).compile(solver.step, there) if solver.compilable else solver.step
    moved = 0.0
    for before, after in islice(pairwise(iterate(here, solver, solver.init(here, X0))), steps):
        other = step(there, carried(before, library.asarray))
        assert all(library.owns(leaf) for leaf in parts(other) if is_array_api_obj(leaf))
        assert apart(numbers(after), numbers(other)) < tolerance
        moved = max(moved, float(np.max(np.abs(solver.point(after) - X0))))
    assert moved > 1e-3  # they did not agree by standing still


@pytest.mark.parametrize(
    ("problem", "method"),
    [pair for pair in PAIRS if pair[0] in FEW and pair[0] != "stack of three" and pair[1] not in LOOPS],
)
def test_a_short_run_is_feasible(library, problem, method):
    there = PROBLEMS[problem](library.asarray)
    X0 = library.asarray(there.M.random(3))
    result = solve(there, METHODS[method], X0, stop=Iterations(30), record=Recorder(every=10))
    assert library.owns(result.X)
    assert result.infeasibility < 1e-12 * np.sqrt(there.M.r)
    assert result.objective < float(there.objective(X0))


IN_SINGLE_PRECISION = [
    (problem, method)
    for problem, method in PAIRS
    if problem in ("l1 minus largest-k", "stack of three")
    or (problem == "own function, unknown constant" and method in LOOPS)
]


@pytest.mark.parametrize(("problem", "method"), IN_SINGLE_PRECISION)
def test_single_precision_stays(library, problem, method):
    there = PROBLEMS[problem](single(library))
    solver = METHODS[method].for_problem(there)
    for state in islice(iterate(there, solver, solver.init(there, single(library)(there.M.random(3)))), 6):
        assert is_single(state)
    assert np.all(np.isfinite(library.numpy(solver.point(state))))
    assert float(there.M.infeasibility(solver.point(state))) < 1e-5
