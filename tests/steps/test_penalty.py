"""The penalties of OADMM: what they are measured by, when they rise, and where X is turned."""

from __future__ import annotations

import numpy as np
import pytest
from orthoprox.solvers._penalty import curvature, kinks, penalties

from orthoprox import Problem
from orthoprox._fields import replace
from orthoprox.maps import Matrix
from orthoprox.terms import L1, MCP, Linear
from steps.cases import PROBLEMS as ALL
from steps.cases import C, M, N, R, T, augmented, random_triple
from steps.test_oadmm import CONCAVE, TURNING, a_state, f, first_and_last, nearest_turn, penalty, solver


def test_the_curvature_that_the_penalty_has_to_outweigh():
    for seed in range(4):
        problem = CONCAVE["l1"]
        _, X, _, _, z = random_triple(problem, seed)
        assert curvature(problem, problem.at(X), z) == pytest.approx(penalty(problem, X, z, 1.0))
    heavy = Problem.of(f + 50.0 * L1(), over=M)
    assert curvature(heavy, heavy.at(X), z) == pytest.approx(50.0 * np.sqrt(N * R) / np.sqrt(R))
    weak = Problem.of(f + 4.0 * MCP(0.01, 0.1), over=M)
    assert curvature(weak, weak.at(X), 0 * z) == pytest.approx(2 * 40 / 0.3)
    nothing = Problem.of(Linear(0 * T), over=M)
    assert curvature(nothing, nothing.at(X), 0 * z) == 1.0
    mapped = Problem.of(f + 2.0 * L1() @ Matrix(C), over=M)
    assert kinks(mapped, mapped.at(X)) == pytest.approx(2.0 * np.sqrt(C.shape[0] * R) / np.linalg.norm(C @ X))


def test_X_is_turned_where_f_is_steep_beside_h_and_depends_on_the_span_alone():
    seen = {}
    for name, problem in CONCAVE.items():
        for seed in range(4):
            _, X, _, _, z = random_triple(problem, seed)
            z = z * (problem.h.weight / max(1.0, np.abs(z).max()))  # of the size of a subgradient
            found = penalties(problem, problem.at(X), z, 0.3, 0.7)
            assert found == pytest.approx(first_and_last(problem, X, z), rel=1e-12)
            seen.setdefault(found.turns, set()).add(name)
    assert set(TURNING) <= seen[True] and {"l1", "linear", "steep in other ways"} <= seen[False]
    very = penalties(CONCAVE["very steep"], CONCAVE["very steep"].at(X), 0 * z, 0.3, 0.7)
    assert very.last == pytest.approx(30 * very.first)
    assert not penalties(
        Problem(M=M, f=f), Problem(M=M, f=f).at(X), 0 * z, 0.3, 0.7
    ).turns  # nothing to be steep beside


@pytest.mark.parametrize("name", TURNING)
def test_a_turned_step_lowers_the_lagrangian_at_least_as_far_as_turning_does(name):
    """f is the same at XQ, and its linearisation there lies above it: nothing that the paper's step proves is lost."""
    problem = CONCAVE[name]
    for seed in range(5):
        old = a_state(problem, seed)
        new = solver(block=1).step(problem, old)
        _, last, _ = first_and_last(problem, old.now.X, old.z)
        xi = problem.g.subgradient(old.y)
        turned = old.now.X @ nearest_turn(old.now.X, last * old.y - old.z + xi)
        values = [augmented(problem, V, old.y, old.z, last) - np.sum(xi * V) for V in (old.now.X, turned, new.now.X)]
        assert values[2] < values[1] < values[0]
        assert problem.f.value(turned) == pytest.approx(float(problem.f.value(old.now.X)), rel=1e-12)


def test_the_penalty_rises_where_crit_does_not_fall_and_the_iterates_roam_or_are_wild():
    """Whether a block lowers Crit is seen from what Crit was said to be before it."""
    seen = set()
    for problem in (CONCAVE["l1"], CONCAVE["mcp"], CONCAVE["steep"]):
        for explored in (0, 7, 14, 15, 20, 29, 30):
            for before in (1e-9, 0.5, 1.0, 1.02, 5.0):
                reached = solver().step(problem, a_state(problem, 2, explored=explored)).crit
                old = replace(a_state(problem, 2, explored=explored), crit=before * reached)
                new = solver().step(problem, old)
                falls = reached < 0.99 * old.crit
                wild = reached > 0.03 * np.linalg.norm(problem.f.gradient(new.now.X))
                rises = not falls and (explored < 15 or (wild and explored < 30))
                assert new.explored == explored + rises
                seen.add((explored < 15, falls, wild, bool(rises)))
    assert {rises for *_, rises in seen} == {True, False}
    problem = CONCAVE["l1"]
    state = a_state(problem, 2)
    gradient = np.linalg.norm(problem.f.gradient(state.now.X))
    for explored, share, rises in (
        (14, 1e-6, True),
        (15, 1e-6, False),
        (15, 0.02, False),
        (15, 0.04, True),
        (30, 0.04, False),
    ):
        old = replace(state, explored=explored, crit=share * gradient)
        assert solver()._rises(problem, old, state.now, share * gradient) == rises
        assert not solver()._rises(problem, old, state.now, 0.98 * share * gradient)
    other = ALL["own function"]  # which takes no projections
    assert not solver()._rises(other, a_state(other, 2), a_state(other, 2).now, 1e9)
