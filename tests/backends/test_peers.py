"""The methods that OADMM is compared with: one step from a common state is the same in every array library."""

from __future__ import annotations

from itertools import islice, pairwise

import numpy as np
import pytest
from array_api_compat import array_namespace, is_array_api_obj

from backends.problems import PROBLEMS
from backends.states import apart, carried, numbers
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


def admitted(problem, method):
    solver, given = METHODS[method], PROBLEMS[problem](np.asarray)
    try:
        solver.scope.admit(given, method)
        solver.for_problem(given)
    except UnsupportedProblem:
        return False
    return True


# Every method on every problem, its variants on a few.
FEW = ("l1 minus largest-k", "groups of a matrix", "stack of three", "largest magnitude")
PAIRS = [
    (problem, method)
    for problem in PROBLEMS
    for method in METHODS
    if (problem in FEW or "," not in method) and admitted(problem, method)
]


def test_every_method_is_tried_with_and_without_a_map():
    for method in METHODS:
        tried = {problem for problem, other in PAIRS if other == method}
        assert "l1 minus largest-k" in tried
        assert "groups of a matrix" in tried or method in ("manpg", "manpg-ada")


@pytest.mark.parametrize(("problem", "method"), PAIRS)
def test_eight_single_steps(library, problem, method):
    here, there = PROBLEMS[problem](np.asarray), PROBLEMS[problem](library.asarray)
    solver = METHODS[method].for_problem(here)
    X0 = here.M.random(3)
    begun = solver.init(there, library.asarray(X0))
    assert apart(numbers(solver.init(here, X0)), numbers(begun)) < 1e-10
    step = backend_of(library.asarray(X0)).compile(solver.step, there) if solver.compilable else solver.step
    moved = 0.0
    for before, after in islice(pairwise(iterate(here, solver, solver.init(here, X0))), 8):
        other = step(there, carried(before, library.asarray))
        assert all(library.owns(leaf) for leaf in parts(other) if is_array_api_obj(leaf))
        assert apart(numbers(after), numbers(other)) < 1e-10
        moved = max(moved, float(np.max(np.abs(after.now.X - X0))))
    assert moved > 1e-3  # they did not agree by standing still


@pytest.mark.parametrize(
    ("problem", "method"),
    [pair for pair in PAIRS if pair[0] in ("l1 minus largest-k", "groups of a matrix", "largest magnitude")],
)
def test_a_short_run_is_feasible(library, problem, method):
    there = PROBLEMS[problem](library.asarray)
    X0 = library.asarray(there.M.random(3))
    result = solve(there, METHODS[method], X0, stop=Iterations(30), record=Recorder(every=10))
    assert library.owns(result.X)
    assert result.infeasibility < 1e-12 * np.sqrt(there.M.r)
    assert result.objective < float(there.objective(X0))


@pytest.mark.parametrize(
    ("problem", "method"), [pair for pair in PAIRS if pair[0] in ("l1 minus largest-k", "stack of three")]
)
def test_single_precision_stays(library, problem, method):
    def single(a):
        a = np.asarray(a)
        return library.asarray(a.astype(np.float32) if a.dtype == np.float64 else a)

    there = PROBLEMS[problem](single)
    solver = METHODS[method].for_problem(there)
    for state in islice(iterate(there, solver, solver.init(there, single(there.M.random(3)))), 6):
        arrays = [leaf for leaf in parts(state) if is_array_api_obj(leaf) and leaf.ndim > 0]
        assert all(a.dtype == array_namespace(a).float32 for a in arrays)
    assert float(there.M.infeasibility(solver.point(state))) < 1e-5
