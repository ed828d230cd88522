"""OADMM from a common state: a step is the same in every array library, in each of its phases."""

import functools

import numpy as np
import pytest
from array_api_compat import is_array_api_obj

from backends.problems import PROBLEMS
from backends.states import apart, carried, numbers
from orthoprox import named
from orthoprox._fields import parts, replace
from orthoprox.solvers.oadmm import Phase
from orthoprox.solvers.oadmm.guard import GuardedState

METHOD = named("oadmm", explore=3, block=3, rounds=4)  # short steps: a library that is not compiled takes long for each
BLOCKS = {"own function, unknown constant": "gradient"}
"""Hessian products by differences have half the digits: rounding would decide where Newton's steps end."""
STEPS = 40
TRIED = {
    "l1 minus largest-k": {Phase.HOMOTOPY, Phase.SETTLE},
    "plain l1, centred": {Phase.ROAM},
    "sparse data": {Phase.HOMOTOPY},
    "mcp of differences": {Phase.SETTLE},
    "negative part": {Phase.SETTLE},
    "groups of a matrix": {Phase.SETTLE},
    "stack of three": {Phase.SETTLE},
    "own function, unknown constant": {Phase.SETTLE},
    "compressed modes": {Phase.SETTLE},
}


def now(state):
    return state.inner.now if isinstance(state.inner, GuardedState) else state.inner.at


def method_of(name):
    return replace(METHOD, fast=BLOCKS.get(name))


@functools.cache
def steps_of(name):
    """Some steps of a run in every phase, and attempts: the first two of each kind."""
    problem, method = PROBLEMS[name](np.asarray), method_of(name)
    state, kept = method.init(problem, problem.M.random(3)), {}
    settles = TRIED[name] == {Phase.SETTLE}  # the same kind of step from the first one on
    for _ in range(4 if settles else STEPS):
        before, state = state, method.step(problem, state)
        if not np.array_equal(now(before).point.X, now(state).point.X):
            attempt = state.attempts.objective != before.attempts.objective
            kept.setdefault((before.phase, attempt), []).append((before, state))
    return {kind: pairs[:2] for kind, pairs in kept.items()}


def test_attempts_are_among_the_steps():
    assert any(attempt for name in TRIED for _, attempt in steps_of(name))


FEW = {"l1 minus largest-k", "plain l1, centred", "mcp of differences", "own function, unknown constant"}
"""Every phase and block method. JAX compiles each operation for each shape, so there these are all."""


@pytest.mark.parametrize("name", TRIED)
def test_single_steps(library, name):
    if library.name == "jax" and name not in FEW:
        pytest.skip("PyTorch and array-api-strict take this step too")
    there, method = PROBLEMS[name](library.asarray), method_of(name)
    X0 = there.M.random(3)
    begun = method.init(there, library.asarray(X0))
    assert apart(numbers(method.init(PROBLEMS[name](np.asarray), X0)), numbers(begun)) < 1e-9
    kinds = steps_of(name)
    assert TRIED[name] <= {phase for phase, _ in kinds}
    for pairs in kinds.values():
        for before, after in pairs:
            other = method.step(there, carried(before, library.asarray))
            assert all(library.owns(leaf) for leaf in parts(other) if is_array_api_obj(leaf))
            assert (other.t, other.phase, other.work) == (after.t, after.phase, after.work)
            one, two = now(after), now(other)
            for here, theirs in ((one.point.X, two.point.X), (one.y, two.y), (one.z, two.z)):
                assert apart([here], [library.numpy(theirs)]) < 1e-6
            assert np.array_equal(one.y == 0, library.numpy(two.y) == 0)


def test_the_papers_own_step(library):
    """A guard whose list no block passes calls OADMM-EP."""
    here, there = (PROBLEMS["mcp of differences"](convert) for convert in (np.asarray, library.asarray))
    (before, _), *_ = steps_of("mcp of differences")[Phase.SETTLE, False]
    before = replace(before, inner=replace(before.inner, recent=(1e-12,) * 3 * METHOD.memory))
    after, other = METHOD.step(here, before), METHOD.step(there, carried(before, library.asarray))
    assert after.inner.safe.t == other.inner.safe.t == METHOD.block
    assert apart([after.inner.safe.now.X], [library.numpy(other.inner.safe.now.X)]) < 1e-10
