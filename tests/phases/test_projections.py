"""Blocks of projections, alone: one block from a random state, its penalties, and when they rise."""

import numpy as np
import pytest

from orthoprox import Problem
from orthoprox._fields import replace
from orthoprox.backends._speculation import MOST_EFFORT, speculate
from orthoprox.maps import Difference
from orthoprox.solvers.oadmm.projections import Projections, ProjectionsState, curvature, kinks
from orthoprox.solvers.oadmm.tuning import Tuning
from orthoprox.terms import L1, MCP, ExplainedVariance, Linear, Quadratic, Smooth, Zero
from phases.problems import CONCAVE, STEEP, f, random_iterate
from steps.cases import M, N, R, S
from steps.checks import factor

T = Tuning(rise=1.07, most=3.0, falls=0.97, wild=0.05, steep=3.3, turn_first=1.7, turn_last=45.0)  # not the defaults
METHOD = Projections(explore=15, block=4, roam=0.3, settle=0.7, tuning=T)


@pytest.fixture(params=[(name, seed) for name in CONCAVE for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    name, seed = request.param
    return CONCAVE[name], random_iterate(CONCAVE[name], seed)


def expected_penalties(problem, X, z):
    """By the definitions: the first and the last penalty, and whether X is turned."""
    kink = problem.h.lipschitz_constant((N, R)) / np.sqrt(R)
    pull = problem.f.gradient(X) - problem.g.subgradient(X) + z
    least = 2 * problem.h.weak_convexity
    last = max(0.7 * max(problem.f.lipschitz + np.sum(X * pull) / R, kink), least)
    if isinstance(problem.f, ExplainedVariance) and last > T.steep * kink:
        return max(T.turn_first * kink, least), max(min(last, T.turn_last * kink), least), True
    return max(0.3 * kink, least), last, False


def nearest_turn(X, W):
    """The orthogonal Q for which XQ is nearest to W."""
    U, _, Vt = np.linalg.svd(X.T @ W)
    return U @ Vt


class _InNumPysNumbers(L1):
    """A term whose constants are numbers of NumPy's, as a user's easily are."""

    def lipschitz_constant(self, shape):
        return np.float64(super().lipschitz_constant(shape))


def test_constants_may_be_numbers_of_numpys():
    ours, theirs = (Problem.of(f + h, over=M) for h in (L1(1e-5), _InNumPysNumbers(1e-5)))
    start = random_iterate(ours, 0)
    for rises in (0, 20):
        state = ProjectionsState(t=0, at=start, rises=rises)
        assert np.array_equal(METHOD.step(theirs, state).at.y, METHOD.step(ours, state).at.y)


@pytest.mark.parametrize("rises", [0, 3, 12, 15, 20, 500])
def test_a_block_is_the_papers_iteration_without_smoothing_and_proximal_term(case, rises):
    problem, at = case
    new = METHOD.step(problem, ProjectionsState(t=9, at=at, rises=rises))
    X, y, z = at.point.X, at.y, at.z
    first, last, turns = expected_penalties(problem, X, z)
    beta = (
        first ** (1 - rises / 15) * last ** (rises / 15) if rises < 15 else last * min(T.rise ** (rises - 15), T.most)
    )
    for _ in range(4):
        W = beta * y - z + problem.g.subgradient(y)  # at y, whose zeros are exact
        V = X @ nearest_turn(X, W) if turns else X
        X = factor(W - problem.f.gradient(V))
        y = problem.h.prox(X + z / beta, 1 / beta)
        z = z + beta * (X - y)
    assert np.allclose(new.at.point.X, X, atol=1e-9)
    assert np.allclose(new.at.y, y, atol=1e-9)
    assert np.allclose(new.at.z, z, atol=1e-9 * beta)
    assert np.allclose(new.at.point.HX, problem.f.product(new.at.point.X), atol=1e-11)
    assert problem.h.subgradient_distance(new.at.y, new.at.z) < 1e-11 * beta
    assert (new.t, METHOD.work(new)) == (10, 40)


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("effort", range(1, MOST_EFFORT + 1))
def test_only_the_longest_program_turns(turns, effort):
    """The others go on as if nobody did, and say so."""
    problem = CONCAVE["l1"]
    X, y, z = METHOD.iterate_block(problem, *_parts(problem), 7.0, turns)
    with speculate(effort) as assumed:
        there = METHOD.iterate_block(problem, *_parts(problem), 7.0, np.asarray(turns))
    enough = bool(assumed.enough)
    assert enough == (effort == MOST_EFFORT or not turns)
    if enough:
        for ours, theirs in zip((X.X, y, z), (there[0].X, *there[1:]), strict=True):
            assert np.allclose(ours, theirs, atol=1e-12)


def _parts(problem):
    """A point near which polar factors are well conditioned, y and z."""
    at = random_iterate(problem, 3)
    return at.point, at.point.X, 0.01 * at.z


def test_penalties_outweigh_curvature_and_never_go_below_what_the_prox_needs():
    at = random_iterate(CONCAVE["l1"], 1)
    heavy = Problem.of(f + 50.0 * L1(), over=M)
    assert kinks(heavy, at.point) == pytest.approx(50.0 * np.sqrt(N * R) / np.sqrt(R))
    assert curvature(heavy, at.point, at.z) == pytest.approx(kinks(heavy, at.point))
    nothing = Problem.of(Linear(np.zeros((N, R))), over=M)
    assert curvature(nothing, nothing.at(at.point.X), 0 * at.z) == 1.0
    weak = Problem.of(f + 4.0 * MCP(0.01, 0.1), over=M)  # W_h = 40, kinks far below
    for roam in (0.01, 0.1):
        method = replace(METHOD, roam=roam)
        found = method.penalties(weak, weak.at(at.point.X), 0 * at.z)
        assert all(method.penalty(found, rises) >= 2 * 40 for rises in (0, 7, 15, 99))
    turning = {name for name, problem in CONCAVE.items() if METHOD.penalties(problem, at.point, 0 * at.z).turns}
    assert set(STEEP) <= turning and not turning & {"l1", "linear", "steep in other ways"}


def test_the_penalty_rises_where_crit_does_not_fall_while_it_roams_or_is_wild():
    """The rule, read off blocks from many states: (Crit fell, roaming, wild) decides."""
    seen = set()
    for name in ("l1", "mcp", "steep"):
        for seed in range(6):
            state = ProjectionsState(t=0, at=random_iterate(CONCAVE[name], seed), rises=(0, 14, 15, 16)[seed % 4])
            for _ in range(12):
                new = METHOD.step(CONCAVE[name], state)
                fell = new.at.crit < T.falls * state.at.crit
                wild = new.at.crit > T.wild * new.at.scale
                roams = state.rises < 15
                assert new.rises - state.rises == int(not fell and (roams or wild))
                seen.add((fell, roams, wild))
                state = new
    assert len(seen) >= 6


def test_a_refused_block_raises_the_penalty_past_its_last_value():
    problem, at = CONCAVE["l1"], random_iterate(CONCAVE["l1"], 2)
    state = ProjectionsState(t=3, at=at, rises=2)
    assert METHOD.roams(state)
    tight = METHOD.tighten(problem, state)
    found = METHOD.penalties(problem, at.point, at.z)
    assert not METHOD.roams(tight) and METHOD.penalty(found, tight.rises) > found.last
    assert METHOD.penalty(found, 10**6) <= T.most * found.last * (1 + 1e-12)  # but not without end
    other = random_iterate(problem, 3)
    moved = METHOD.restart(problem, tight, other)
    assert moved.at is other and moved.rises == tight.rises


def test_which_problems_it_takes():
    for expression in (
        Quadratic(S @ S) + L1(),
        f + L1() @ Difference(),
        Smooth(lambda X: (0.0, 0 * X), lipschitz=1.0) + L1(),
    ):
        assert not Projections.takes(Problem.of(expression, over=M))
    assert Projections.takes(Problem(M=M, f=Zero(), h=L1()))
