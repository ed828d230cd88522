"""Methods with inner loops give the same steps in every array library."""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any

import numpy as np
import pytest
from array_api_compat import array_namespace, is_array_api_obj

from backends.problems import PROBLEMS
from backends.states import apart, carried, numbers
from orthoprox import UnsupportedProblem, iterate, named
from orthoprox._fields import parts
from orthoprox.backends import backend_of

METHODS = {
    "madmm": named("madmm", most_inner=6),
    "manial-1": named("manial-1", most_inner=6),
    "manial-2": named("manial-2", most_inner=6, dual_step="damped"),
    "socm": named("socm"),
    "socm, two blocks": named("socm", form="two-block", most_inner=8),
    "socm, linearised": named("socm", solve="linearised", most_inner=2),
}

TRIED = [
    "l1 minus largest-k",
    "mcp of differences",
    "stack of three",
    "entries, scad minus largest-k",
    "own function, unknown constant",
    "compressed modes",
]


def prepared(problem, method):
    try:
        return METHODS[method].for_problem(problem)
    except UnsupportedProblem:
        pytest.skip("The problem is outside this form's scope.")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", TRIED)
def test_five_single_steps(library, problem, method):
    here, there = PROBLEMS[problem](np.asarray), PROBLEMS[problem](library.asarray)
    solver = prepared(here, method)
    X0 = here.M.random(3)
    begun = numbers(solver.init(there, library.asarray(X0)))
    step = backend_of(library.asarray(X0)).compile(solver.step, there) if solver.compilable else solver.step
    for before, after in islice(pairwise(iterate(here, solver, solver.init(here, X0))), 5):
        if before.t == 0:
            assert apart(numbers(before), begun) < 1e-9
        other = step(there, carried(before, library.asarray))
        assert all(library.owns(leaf) for leaf in parts(other) if is_array_api_obj(leaf))
        # Inner steps whose lengths are quotients of differences magnify a rounding error.
        assert apart(numbers(after), numbers(other)) < (1e-9 if method.startswith("socm") else 1e-5)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("problem", ["l1 minus largest-k", "stack of three", "own function, unknown constant"])
def test_single_precision_stays(library, problem, method):
    def single(a: Any) -> Any:
        a = np.asarray(a)
        return library.asarray(a.astype(np.float32) if a.dtype == np.float64 else a)

    there = PROBLEMS[problem](single)
    solver = prepared(there, method)
    X0 = single(there.M.random(3))
    for state in islice(iterate(there, solver, solver.init(there, X0)), 6):
        arrays = [leaf for leaf in parts(state) if is_array_api_obj(leaf) and leaf.ndim > 0]
        assert all(a.dtype == array_namespace(a).float32 for a in arrays)
    assert np.all(np.isfinite(library.numpy(solver.point(state))))
    assert float(there.M.infeasibility(solver.point(state))) < 1e-5
