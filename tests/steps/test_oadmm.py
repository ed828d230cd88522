"""Single steps of OADMM from random states: its fast blocks, its guard, its attempts to finish."""

from __future__ import annotations

import numpy as np
import pytest
from orthoprox.solvers._path import Path

from orthoprox import Critical, Iterations, Problem, Recorder, named, solve
from orthoprox._fields import replace
from orthoprox.maps import Difference
from orthoprox.problem import Certificate, criticality
from orthoprox.solvers.oadmm import _one_step
from orthoprox.terms import (
    L1,
    MCP,
    ExplainedVariance,
    GroupL2,
    Huber,
    LargestK,
    Linear,
    LInf,
    Quadratic,
    Smooth,
    Zero,
)
from steps.cases import PROBLEMS as ALL
from steps.cases import B, M, N, R, S, T, augmented, random_triple

f = ExplainedVariance(B, 0.3)
CONCAVE = {  # f below its linearisations and A = I: blocks of projections
    "l1": Problem.of(f + 0.7 * L1(), over=M),
    "l1 minus largest-k": Problem.of(f - 0.5 * LargestK(8) + 0.5 * L1(), over=M),
    "mcp": Problem.of(f + 0.4 * MCP(0.6, 3.0), over=M),
    "rows": Problem.of(f + 0.6 * GroupL2(), over=M),
    "rows minus largest-k": Problem.of(f - 0.2 * LargestK(5) + 0.6 * GroupL2(), over=M),
    "linear": Problem.of(Linear(T) + 0.4 * Huber(0.3), over=M),
    "steep": Problem.of(f + 0.005 * L1(), over=M),
    "steep, with g": Problem.of(f - 0.004 * LargestK(8) + 0.005 * L1(), over=M),
    "very steep": Problem.of(f + 1e-5 * L1(), over=M),
    "steep in other ways": Problem.of(f + Linear(T) + 1e-5 * L1(), over=M),
}
TURNING = ("steep", "steep, with g", "very steep")
OTHERS = [name for name, problem in ALL.items() if not _one_step(problem)]
BLOCK, MEMORY = 4, 3
SETTINGS = {"explore": 15, "roam": 0.3, "settle": 0.7}


def solver(**settings):
    return named("oadmm", **{**SETTINGS, "block": BLOCK, "memory": MEMORY, "polish": False, **settings})


def a_state(problem, seed=1, method=None, **fields):
    """A state no run would reach, past the homotopy."""
    method = solver() if method is None else method
    _, X, _, y, z = random_triple(problem, seed)
    begun = method.init(problem, X)
    if begun.newton is not None:
        begun = replace(begun, newton=replace(begun.newton, y=y, z=z))
    if begun.inner is not None:
        begun = replace(begun, inner=replace(begun.inner, Y=y, Z=-z))
    given = {"y": y, "z": z, "path": Path.over(), "explored": method.explore, "waited": 2, "t": 9, "steps": 70}
    state = replace(begun, **{**given, **fields})
    return replace(state, crit=crit(problem, state)) if state.path.finished else state


def crit(problem, state):
    """Crit with its primal part in units of the gradient."""
    parts = criticality(problem, Certificate(problem.at(state.now.X), state.y, state.z))
    unit = np.linalg.norm(problem.f.gradient(state.now.X)) / np.linalg.norm(problem.A(state.now.X))
    return unit * parts.primal + parts.dual + parts.stationarity


def projected(V):
    U, _, Wt = np.linalg.svd(V, full_matrices=False)
    return U @ Wt


# ------------------------------------------------------------------ fast blocks


@pytest.fixture(params=[(name, seed) for name in CONCAVE for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    name, seed = request.param
    return CONCAVE[name], seed


def penalty(problem, X, z, factor):
    """By the definition: the factor times the largest of three curvatures."""
    pull = problem.f.gradient(X) - problem.g.subgradient(X) + z
    return factor * max(problem.f.lipschitz + np.sum(X * pull) / R, kinks(problem))


def kinks(problem):
    return max(problem.h.lipschitz_constant((N, R)) / np.sqrt(R), 2 * problem.h.weak_convexity / 0.3)


def first_and_last(problem, X, z):
    """By the definition, and whether X is turned: where f depends on the span alone and is steep beside h."""
    last, unit = penalty(problem, X, z, 0.7), kinks(problem)
    if isinstance(problem.f, ExplainedVariance) and last > 3 * unit:
        return 2 * unit, min(last, 60 * unit), True
    return 0.3 * unit, last, False


def nearest_turn(X, W):
    """The orthogonal Q for which XQ is nearest to W."""
    U, _, Vt = np.linalg.svd(X.T @ W)
    return U @ Vt


@pytest.mark.parametrize("explored", [0, 3, 12, 15, 24])
def test_a_block_is_the_papers_iteration_without_smoothing_and_proximal_term(case, explored):
    problem, seed = case
    old = a_state(problem, seed, explored=explored, boost=1.7)
    new = solver().step(problem, old)
    X, y, z = old.now.X, old.y, old.z
    first, last, turns = first_and_last(problem, X, z)
    beta = 1.7 * first ** (1 - explored / 15) * last ** (explored / 15)
    for _ in range(BLOCK):
        W = beta * y - z + problem.g.subgradient(y)  # at y, whose zeros are exact
        at = X @ nearest_turn(X, W) if turns else X
        X = projected(W - problem.f.gradient(at))
        y = problem.h.prox(X + z / beta, 1 / beta)
        z = z + 1.0 * beta * (X - y)
    assert np.allclose(new.now.X, X, atol=1e-9)
    assert np.allclose(new.y, y, atol=1e-9)
    assert np.allclose(new.z, z, atol=1e-9 * beta)
    assert np.allclose(new.now.HX, problem.f.product(new.now.X), atol=1e-11)
    assert new.now.AX is new.now.X
    assert (new.t, new.waited, new.steps) == (10, 0 if explored < 15 else 3, 70 + BLOCK)
    assert (new.paper.t, new.boost) == (0, 1.7)


def test_the_projection_minimises_the_lagrangian_that_lies_above(case):
    problem, seed = case
    old = a_state(problem, seed)
    new = solver(block=1).step(problem, old)
    _, beta, turns = first_and_last(problem, old.now.X, old.z)
    X = old.now.X @ nearest_turn(old.now.X, beta * old.y - old.z + problem.g.subgradient(old.y)) if turns else old.now.X

    def above(V):
        y, z = old.y, old.z
        of_f = problem.f.value(X) + np.sum(problem.f.gradient(X) * (V - X))
        of_g = problem.g.value(y) + np.sum(problem.g.subgradient(y) * (V - y))
        return of_f - of_g + np.sum(z * (V - y)) + beta / 2 * np.sum((V - y) ** 2)

    rng = np.random.default_rng(50 + seed)
    for size in (1e-3, 1e-1, 3.0):
        V = projected(new.now.X + size * rng.standard_normal((N, R)))
        assert above(new.now.X) <= above(V) + 1e-12
        # concave f and convex g: the linearisations lie above
        assert augmented(problem, V, old.y, old.z, beta) - problem.g.value(V) <= above(V) + 1e-12
    if isinstance(problem.g, Zero):  # and touch, so that the Lagrangian falls
        before, after = (augmented(problem, V, old.y, old.z, beta) for V in (X, new.now.X))
        assert after < before


def test_z_is_a_subgradient_of_h_at_y(case):
    problem, seed = case
    new = solver().step(problem, a_state(problem, seed))
    assert problem.h.subgradient_distance(new.y, new.z) < 1e-12


def test_without_exploring_the_penalty_is_the_last_one_from_the_start():
    problem = CONCAVE["l1"]
    eager, patient = (a_state(problem, 0, method=solver(explore=e), explored=e) for e in (0, 15))
    first, second = solver(explore=0).step(problem, eager), solver().step(problem, patient)
    assert np.allclose(first.now.X, second.now.X, atol=1e-12)


def test_where_one_projection_does_for_an_X_step():
    assert all(_one_step(problem) for problem in CONCAVE.values())
    for expression in (
        Quadratic(S) + L1(),
        Quadratic(S @ S) + L1(),
        f + L1() @ Difference(),
        Smooth(lambda X: (np.sum(X**4), 4 * X**3), lipschitz=9.0) + L1(),
    ):
        assert not _one_step(Problem.of(expression, over=M))


# ------------------------------------------------------------------ the guard


def by_the_paper(problem, start, block=BLOCK):
    """What OADMM-EP itself makes of its state."""
    method = named("oadmm-ep").for_problem(problem)
    for _ in range(block):
        start = method.step(problem, start)
    return start, method.certificate(problem, start)


def rejected(problem, **fields):
    """A state whose next block cannot bring Crit down, with the paper's method underway somewhere else."""
    tiny = tuple(1e-12 * (i + 1) for i in range(3 * MEMORY))
    old = a_state(problem, 2, recent=tiny, boost=1.5)
    _, X, _, y, z = random_triple(problem, 5)
    paper = replace(old.paper, t=7, now=problem.at(X), before=problem.at(X), y=y, z=z)
    return replace(old, **{"paper": paper, **fields}), tiny


def all_problems():
    return {**CONCAVE, **{name: ALL[name] for name in OTHERS}}


@pytest.mark.parametrize("name", all_problems())
def test_a_block_that_does_not_bring_crit_down_lets_the_papers_method_go_on_and_the_better_counts(name):
    problem = all_problems()[name]
    old, tiny = rejected(problem)
    fast = solver().step(problem, replace(old, recent=(*tiny[:-1], 1e9)))  # the same block, accepted
    new = solver().step(problem, old)
    paper, certificate = by_the_paper(problem, old.paper)
    assert np.array_equal(new.paper.now.X, paper.now.X)
    assert np.array_equal(new.paper.z, paper.z)
    assert new.paper.t == 7 + BLOCK
    assert (new.t, new.steps, new.waited) == (10, fast.steps + BLOCK, 3)
    assert new.boost == pytest.approx(1.8)
    assert new.recent == tiny[1:]  # so that a fast block may be tried again
    theirs = replace(fast, now=paper.now, y=certificate.y, z=certificate.z)
    better = theirs if crit(problem, theirs) < crit(problem, fast) else fast
    assert np.array_equal(new.now.X, better.now.X)
    assert np.array_equal(new.y, better.y)
    assert np.array_equal(new.z, better.z)
    for inner in (new.newton, new.inner):  # the inner methods go on from there too
        assert inner is None or np.array_equal(inner.now.X, new.now.X)
    if new.newton is not None:
        assert np.array_equal(new.newton.z, new.z)
    if new.inner is not None:
        assert np.array_equal(new.inner.Z, -new.z)
    again = solver().step(problem, replace(new, recent=tiny))
    assert np.array_equal(again.paper.now.X, by_the_paper(problem, new.paper)[0].now.X)  # its penalty goes on growing


def test_either_of_the_two_can_be_the_better_one():
    """At a critical point nothing beats the paper's method that stands there; far from one, the fast block."""
    problem = CONCAVE["l1"]
    old, _ = rejected(problem)
    assert np.array_equal(
        solver().step(problem, old).now.X, solver().step(problem, replace(old, recent=(1e-12, 1e9))).now.X
    )
    end = solve(problem, "manial-1", stop=Critical(1e-9) | Iterations(2000), record=Recorder(every=1000))
    at = problem.at(end.X)
    there = replace(old.paper, t=10**9, now=at, before=at, y=end.y, z=end.z)
    new = solver().step(problem, replace(old, paper=there))
    assert np.array_equal(new.now.X, by_the_paper(problem, there)[0].now.X)


def test_the_papers_method_begins_where_it_is_first_needed():
    problem = CONCAVE["l1"]
    old = a_state(problem, 2, recent=(1e-12,) * MEMORY)
    assert old.paper.t == 0
    begun = replace(old.paper, now=old.now, before=old.now, y=old.y, z=old.z)
    assert np.array_equal(solver().step(problem, old).paper.now.X, by_the_paper(problem, begun)[0].now.X)


def test_the_penalty_is_not_raised_without_end():
    problem = CONCAVE["l1"]
    old = a_state(problem, 2, recent=(1e-12,) * MEMORY, boost=1.9)
    assert solver().step(problem, old).boost == 2.0


@pytest.mark.parametrize("name", all_problems())
def test_a_block_that_brings_crit_down_is_kept(name):
    problem = all_problems()[name]
    old = a_state(problem, 2, recent=(1e-12,) * (3 * MEMORY - 1) + (1e9,))
    new = solver().step(problem, old)
    assert new.paper.t == 0
    assert new.recent[-1] == pytest.approx(crit(problem, new), rel=1e-9)
    memory = MEMORY if _one_step(problem) else 3 * MEMORY
    assert len(new.recent) == memory


def test_crit_has_to_fall_below_the_largest_of_the_last_ones():
    problem = CONCAVE["l1"]
    reached = crit(problem, solver().step(problem, a_state(problem, 2)))
    for largest, kept in ((1.01 * reached, True), (0.99 * reached, False), (1.0005 * reached, False)):
        old = a_state(problem, 2, recent=(1e-12, largest, 1e-12))
        assert (solver().step(problem, old).paper.t == 0) == kept


def test_before_the_memory_is_full_and_while_it_roams_anything_is_kept():
    problem = CONCAVE["l1"]
    young = solver().step(problem, a_state(problem, 2, recent=(1e-12,) * (MEMORY - 1)))
    assert young.paper.t == 0
    assert len(young.recent) == MEMORY
    roaming = solver().step(problem, a_state(problem, 2, recent=(1e-12,) * MEMORY, explored=14))
    assert roaming.paper.t == 0
    assert roaming.recent == (1e-12,) * MEMORY  # what is reached on the way does not count


def test_the_certificate_is_the_state(case):
    problem, seed = case
    state = solver().step(problem, a_state(problem, seed))
    certificate = solver().certificate(problem, state)
    assert certificate.point is state.now
    assert certificate.y is state.y
    assert certificate.z is state.z
    assert solver().point(state) is state.now.X


# ------------------------------------------------------------------ the first state


def test_the_first_state():
    problem = CONCAVE["l1"]
    X = M.random(3)
    state = named("oadmm").init(problem, X)
    assert state.now.X is X
    assert np.array_equal(state.y, X)
    assert not state.z.any()
    assert (state.t, state.steps, state.paper.t, state.explored, state.boost) == (0, 0, 0, 0, 1.0)
    assert state.recent == ()
    assert state.newton is state.inner is None
    assert state.path.finished


def test_which_way_a_problem_is_solved():
    kinds = {"newton": [], "inner": []}
    for name in OTHERS:
        state = named("oadmm").init(ALL[name], M.random(3))
        kinds["newton" if state.newton is not None else "inner"].append(name)
        assert (state.newton is None) != (state.inner is None)
        assert state.explored == named("oadmm").explore  # there is nothing to roam with
    assert "mcp of differences" in kinds["newton"]
    assert "groups of a matrix" in kinds["newton"]
    assert "own function" in kinds["inner"]


def test_when_the_homotopy_is_followed():
    heavy = Problem.of(f - 20.0 * LargestK(8) + 20.0 * L1(), over=M)
    X = M.random(3)
    assert not named("oadmm").init(heavy, X).path.finished
    for settings in ({"homotopy": False}, {"explore": 0}):
        assert named("oadmm", **settings).init(heavy, X).path.finished
    assert named("oadmm").init(Problem.of(f + 20.0 * L1(), over=M), X).path.finished
    for h in (GroupL2(), LInf()):  # no slopes at zero to be followed
        assert named("oadmm").init(Problem.of(f - 20.0 * LargestK(8) + 20.0 * h, over=M), X).path.finished
    assert named("oadmm").init(Problem.of(Quadratic(S) - 20.0 * LargestK(8) + 20.0 * L1(), over=M), X).path.finished
