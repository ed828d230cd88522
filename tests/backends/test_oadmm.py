"""OADMM from a common state: a step is the same in every array library, in each of its phases."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from array_api_compat import array_namespace, is_array_api_obj

from backends.problems import PROBLEMS
from backends.states import apart, carried, numbers
from orthoprox import Iterations, named, solve
from orthoprox._fields import parts

METHOD = named("oadmm", explore=3, block=3, rounds=4)  # short steps: a library that is not compiled takes long for each
STEPS = 40
TRIED = {
    "l1 minus largest-k": {"path", "attempt"},
    "plain l1, centred": {"block", "attempt"},
    "sparse data": {"path", "attempt"},
    "mcp of differences": {"block"},
    "negative part": {"block"},
    "groups of a matrix": {"block"},
    "stack of three": {"block"},
    "own function, unknown constant": {"block"},
    "compressed modes": {"block"},
}


def phase(before, after):
    """What a step was."""
    if not before.path.finished:
        return "path"
    return "attempt" if after.reached != before.reached else "block"


@functools.cache
def steps_of(name):
    """Some steps of a run, of every kind there is: the first two of each."""
    problem = PROBLEMS[name](np.asarray)
    state, kept = METHOD.init(problem, problem.M.random(3)), {}
    for _ in range(STEPS):
        before, state = state, METHOD.step(problem, state)
        if not np.array_equal(before.now.X, state.now.X):
            kept.setdefault(phase(before, state), []).append((before, state))
    return {kind: pairs[:2] for kind, pairs in kept.items()}


@pytest.mark.parametrize("name", TRIED)
def test_single_steps(library, name):
    there = PROBLEMS[name](library.asarray)
    X0 = there.M.random(3)
    begun = METHOD.init(there, library.asarray(X0))
    assert apart(numbers(METHOD.init(PROBLEMS[name](np.asarray), X0)), numbers(begun)) < 1e-9
    kinds = steps_of(name)
    assert TRIED[name] <= set(kinds)
    for pairs in kinds.values():
        for before, after in pairs:
            other = METHOD.step(there, carried(before, library.asarray))
            assert all(library.owns(leaf) for leaf in parts(other) if is_array_api_obj(leaf))
            assert other.path.finished == after.path.finished
            assert (other.t, other.explored, other.paper.t) == (after.t, after.explored, after.paper.t)
            for field in ("y", "z"):
                assert apart([getattr(after, field)], [library.numpy(getattr(other, field))]) < 1e-6
            assert apart([after.now.X], [library.numpy(other.now.X)]) < 1e-6
            assert np.array_equal(after.y == 0, library.numpy(other.y) == 0)


def test_the_papers_own_step(library):
    here, there = (PROBLEMS["plain l1, centred"](convert) for convert in (np.asarray, library.asarray))
    (before, _), *_ = steps_of("plain l1, centred")["block"]
    full = {"recent": (1e-12,) * METHOD.memory, "explored": METHOD.explore, "waited": 0}
    before = type(before)(**{**vars(before), **full})
    after, other = METHOD.step(here, before), METHOD.step(there, carried(before, library.asarray))
    assert after.paper.t == other.paper.t == METHOD.block
    assert apart([after.now.X], [library.numpy(other.now.X)]) < 1e-10


@pytest.mark.parametrize("name", ["plain l1, centred", "l1 minus largest-k"])
def test_a_run_ends_with_exact_zeros(library, name):
    if library.name == "jax":
        pytest.skip("its steps are tried one by one above; a whole run takes a minute without compilation")
    there = PROBLEMS[name](library.asarray)
    result = solve(
        there, named("oadmm", explore=3, block=5), library.asarray(there.M.random(3)), stop=Iterations(STEPS)
    )
    assert library.owns(result.X)
    assert result.criticality < 1e-9
    assert (library.numpy(result.X) == 0).any()
    assert result.infeasibility < 1e-12


@pytest.mark.parametrize("name", ["plain l1, centred", "l1 minus largest-k", "stack of three"])
def test_single_precision_stays(library, name):
    def single(a):
        a = np.asarray(a)
        return library.asarray(a.astype(np.float32) if a.dtype == np.float64 else a)

    there = PROBLEMS[name](single)
    state = METHOD.init(there, single(there.M.random(3)))
    for _ in range(6):
        state = METHOD.step(there, state)
        arrays = [leaf for leaf in parts(state) if is_array_api_obj(leaf) and leaf.ndim > 0]
        assert all(a.dtype == array_namespace(a).float32 for a in arrays)
    assert float(there.M.infeasibility(state.now.X)) < 1e-5
