"""The guard keeps its promise whatever the fast method does: tried with methods that misbehave on purpose."""

from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest

from orthoprox import named, solve
from orthoprox._fields import replace
from orthoprox.driver import Iterations
from orthoprox.solvers.oadmm.block import Block
from orthoprox.solvers.oadmm.guard import Guarded
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from phases.problems import CONCAVE, OTHERS, random_iterate
from steps.cases import M
from steps.checks import walk

PROBLEM = CONCAVE["l1"]
BLOCK, MEMORY = 5, 3


@dataclass(frozen=True, kw_only=True, eq=False)
class WildState:
    t: int
    at: Iterate
    restarts: int = 0
    tightened: int = 0


@dataclass(frozen=True, kw_only=True)
class Wild(Block[WildState]):
    """Jumps to where its script says: a random point, the same point for ever, or two points in turn."""

    name: ClassVar[str] = "wild"
    summary: ClassVar[str] = "misbehaves"
    script: str = "random"

    def init(self, problem, X0):
        return WildState(t=0, at=measure(problem, problem.at(X0), problem.A(X0), 0.0 * problem.A(X0)))

    def step(self, problem, state):
        seeds = {"random": state.t + 10, "stuck": 10, "alternates": 10 + state.t % 2}
        return replace(state, t=state.t + 1, at=random_iterate(problem, seeds[self.script]))

    def restart(self, problem, state, at):
        return replace(state, at=at, restarts=state.restarts + 1)

    def tighten(self, problem, state):
        return replace(state, tightened=state.tightened + 1)


def guarded(problem, fast, **settings):
    safe = named("oadmm-ep").for_problem(problem)
    return Guarded(fast=fast, safe=safe, memory=MEMORY, block=BLOCK, **settings)


def crit(problem, method, state):
    at = method.certificate(problem, state)
    return measure(problem, at.point, at.y, at.z).crit


@pytest.mark.parametrize("script", ["random", "stuck", "alternates"])
@pytest.mark.parametrize("name", ["l1", "mcp", "groups of a matrix"])
def test_what_is_reported_never_gets_worse_nor_is_worse_than_the_safe_methods_own_points(script, name):
    problem = {**CONCAVE, **OTHERS}[name]
    method = guarded(problem, Wild(script=script))
    states = walk(problem, method, M.random(3), 150)
    reported = [crit(problem, method, state) for state in states]
    assert all(b <= a for a, b in pairwise(reported))
    safe = [(t, crit(problem, method.safe, s.safe)) for t, s in enumerate(states) if s.safe is not None]
    assert len(safe) > 50
    assert all(reported[t] <= value * (1 + 1e-9) for t, value in safe)
    assert reported[-1] < 0.5 * min(s.now.crit for s in states[1:10])  # the fast method alone would stay there


@pytest.mark.parametrize("script", ["random", "alternates"])
def test_accepted_points_bring_crit_down_by_a_constant_factor_every_memory_of_them(script):
    method = guarded(PROBLEM, Wild(script=script), falls=0.9)
    accepted = []
    for old, new in pairwise(walk(PROBLEM, method, M.random(3), 400)):
        if new.recent != old.recent:
            accepted.append(new.recent[-1])
            assert len(new.recent) <= MEMORY
        else:  # the list is what it was: refusals do not make room
            assert new.safe.t == (0 if old.safe is None else old.safe.t) + BLOCK
    tops = [max(accepted[i : i + MEMORY]) for i in range(0, len(accepted) - MEMORY, MEMORY)]
    assert len(tops) > 3
    assert all(b < 0.9 * a for a, b in pairwise(tops))


def test_the_safe_method_goes_on_from_its_own_iterates():
    method = guarded(PROBLEM, Wild())
    states = walk(PROBLEM, method, M.random(3), 60)
    first = next(i for i, state in enumerate(states) if state.safe is not None)
    own = method.safe.init(PROBLEM, states[first - 1].reported.point.X)
    for state, before in zip(states[first:], states[first - 1 :], strict=False):
        if before.safe is not None and state.safe is before.safe:
            continue
        for _ in range(BLOCK):
            own = method.safe.step(PROBLEM, own)
        assert np.array_equal(state.safe.now.X, own.now.X)
    assert own.t > 5 * BLOCK


def test_a_refused_method_is_tightened_and_restarts_where_the_safe_one_passes():
    states = walk(PROBLEM, guarded(PROBLEM, Wild()), M.random(3), 200)
    last = states[-1]
    assert last.fast.tightened == last.safe.t / BLOCK
    assert 0 < last.fast.restarts < last.fast.tightened
    for old, new in pairwise(states):
        if new.fast.restarts > old.fast.restarts:
            assert np.array_equal(new.fast.at.point.X, new.safe.now.X) and new.recent[-1] == new.now.crit


def test_points_from_elsewhere_enter_the_list_only_where_they_pass():
    method = guarded(PROBLEM, Wild())
    state = walk(PROBLEM, method, M.random(3), 30)[-1]
    bad = replace(random_iterate(PROBLEM, 99), crit=10 * max(state.recent))
    good = replace(bad, crit=0.5 * max(state.recent))
    assert method.restart(PROBLEM, state, bad).recent == state.recent
    assert method.restart(PROBLEM, state, good).recent[-1] == good.crit
    for at in (bad, good):
        assert method.restart(PROBLEM, state, at).now is at


def test_what_is_not_a_number_never_passes():
    method = guarded(PROBLEM, Wild())
    state = method.init(PROBLEM, M.random(3))
    broken = replace(state.now, crit=float("nan"))
    new = method.restart(PROBLEM, state, broken)
    assert new.recent == () and new.reported is state.reported


def test_a_fast_method_that_settles_is_left_alone():
    oadmm = named("oadmm", explore=0, polish=False).for_problem(PROBLEM)
    method = oadmm.guard(PROBLEM)
    last = walk(PROBLEM, method, M.random(3), 80)[-1]
    assert last.reported.crit < 1e-10
    start = solve(PROBLEM, seed=1, stop=Iterations(200)).X  # near a solution there is nothing to refuse
    near = M.retract(start, 1e-3 * M.tangent(start, PROBLEM.f.gradient(start) + 1.0))
    assert walk(PROBLEM, method, near, 9)[-1].safe is None
