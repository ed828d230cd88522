"""The composition: phases only advance, and the best point is returned."""

from itertools import pairwise

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Stiefel, UnsupportedProblem, named, solve
from orthoprox._fields import replace
from orthoprox.models import sparse_pca
from orthoprox.problem import criticality
from orthoprox.solvers.oadmm import Phase
from orthoprox.solvers.oadmm.guard import GuardedState
from orthoprox.solvers.oadmm.homotopy import HomotopyState
from orthoprox.solvers.oadmm.iterate import is_better
from orthoprox.solvers.oadmm.plan import choose_blocks
from orthoprox.solvers.oadmm.projections import ProjectionsState
from orthoprox.terms import L1, LargestK, LInf, Quadratic
from phases.problems import CONCAVE, K_SPARSE, OTHERS, f, random_iterate
from steps.cases import PROBLEMS as ALL
from steps.cases import B, M, N, R, S
from steps.checks import walk

EVERY = {**CONCAVE, **OTHERS, "k-sparse": K_SPARSE}
QUICK = {"explore": 4, "block": 3, "memory": 2}


def states_of(problem, steps, seed=3, **settings):
    method = named("oadmm", **settings).for_problem(problem)
    return method, walk(problem, method, problem.M.random(seed), steps)


@pytest.fixture(scope="module", params=EVERY)
def run(request):
    problem = EVERY[request.param]
    return problem, *states_of(problem, 60 if request.param in CONCAVE else 15, **QUICK)


def now(state):
    return state.inner.now if isinstance(state.inner, GuardedState) else state.inner.at


def test_phases_only_advance_and_each_has_its_state(run):
    _, _, states = run
    kinds = {Phase.HOMOTOPY: HomotopyState, Phase.ROAM: ProjectionsState, Phase.SETTLE: GuardedState}
    for old, new in pairwise(states):
        assert new.phase >= old.phase and new.t == old.t + 1 and new.work >= old.work
        assert isinstance(new.inner, kinds.get(new.phase, object))
    assert states[-1].phase >= Phase.SETTLE
    assert states[-1].work > 20


def test_the_state_knows_its_own_measures(run):
    problem, method, states = run
    for state in states[::7]:
        at = method.certificate(problem, state)
        parts = criticality(problem, replace(at, point=problem.at(at.point.X)))
        objective, measured = method.measured(state)
        assert measured.total == pytest.approx(parts.total, rel=1e-6, abs=1e-11)
        assert objective == pytest.approx(float(problem.objective(at.point.X)), rel=1e-12, abs=1e-12)
        assert method.point(state) is at.point.X


def test_the_answer_is_as_low_as_anything_seen(run):
    problem, method, states = run
    for t in (5, 10, 15):
        best, seen = states[t].best, [now(state) for state in states[: t + 1]]
        assert method.answer(problem, states[t]) is best.at
        assert states[t].lowest <= min(one.objective for one in seen)
        assert best.objective <= states[t].lowest + 1.0001e-6 * best.size
        assert not any(one.objective < best.objective - 1.0001e-6 * best.size for one in seen)


def test_which_of_two_points_is_better():
    problem = CONCAVE["l1"]
    at = random_iterate(problem, 1)

    def point(objective, crit):
        return replace(at, objective=objective, crit=crit, scale=1.0)

    length = np.sqrt(R)
    for one, other, wanted in (
        (point(1.0, 5.0), point(2.0, 1.0), True),  # lower F, whatever Crit
        (point(2.0, 1.0), point(1.0, 5.0), False),
        (point(2.0, 1.0), point(2.0, 5.0), True),  # the same F, smaller Crit
        (point(2.0, 5.0), point(2.0, 1.0), False),
        (point(2.0, 1e-7), point(2.0 - 0.5e-7 * length, 1.0), True),  # as near as Crit can still move it
        (point(2.0, 1e-7), point(2.0 - 2e-7 * length, 1.0), False),
        (point(2.0, 1e-3), point(2.0 - 3e-6 * length, 1.0), False),  # but never farther than 1e-6
        (point(2.0, 0.0), point(2.0 - 1e-15, 1.0), True),  # rounding
    ):
        assert is_better(one, other, 1e-6) == wanted


def test_while_it_explores_where_it_is_is_reported_unless_it_would_pass_for_a_solution():
    problem = CONCAVE["l1"]
    method, states = states_of(problem, 40)
    roaming = [state for state in states if state.phase is Phase.ROAM]
    assert len(roaming) > 5
    for state in roaming:
        reported = method.certificate(problem, state)
        assert reported is (now(state).at if now(state).crit > state.best.crit else state.best.at)
    assert all(method.certificate(problem, s) is s.best.at for s in states if s.phase >= Phase.SETTLE)


@pytest.mark.parametrize("seed", range(8))
def test_a_maximum_is_left_for_the_lower_points_that_were_seen(seed):
    """Projections alone end at 1, where LInf on a circle is largest; the least value is the root of a half."""
    result = solve(Problem.of(LInf(), over=Stiefel(2, 1)), seed=seed, stop=Iterations(200) | Critical(1e-8))
    assert result.converged and result.objective == pytest.approx(np.sqrt(0.5), abs=1e-7)
    assert result.state.returns > 0


def test_a_critical_point_above_the_best_one_ends_roaming_but_not_the_run():
    problem = CONCAVE["l1"]
    method, states = states_of(problem, 150)
    end, young = states[-1], next(state for state in states if state.phase is Phase.ROAM)
    lower = replace(young.best, objective=now(end).objective - 1.0)
    inner = replace(young.inner, at=now(end))
    new = method.step(problem, replace(young, inner=inner, best=lower, lowest=lower.objective))
    assert (new.phase, new.returns) == (Phase.SETTLE, 1)
    assert now(new).objective == lower.objective and method.answer(problem, new) is lower.at
    done = method.step(problem, replace(young, inner=inner, best=now(end), lowest=now(end).objective))
    assert done.phase is Phase.DONE


def test_what_has_been_reached_is_not_lost_again():
    for problem in (CONCAVE["l1"], K_SPARSE, CONCAVE["mcp"]):
        method, states = states_of(problem, 150)
        assert states[-1].phase is Phase.DONE and now(states[-1]).is_exact()
        later = method.step(problem, states[-1])
        assert later.inner is states[-1].inner and later.t == states[-1].t + 1
        assert (later.best.point.X == 0).any()


def test_which_method_makes_the_blocks_is_chosen_once_and_shown():
    for problem in CONCAVE.values():
        assert choose_blocks(problem) == "projections"
    kinds = {name: choose_blocks(problem) for name, problem in OTHERS.items()}
    assert kinds["mcp of differences"] == kinds["groups of a matrix"] == kinds["stacked"] == "multipliers"
    assert kinds["own function"] == "multipliers"
    no_slope = Problem.of(Quadratic(S) + 0.5 * LInf(), over=M)
    result = solve(no_slope, stop=Iterations(2))
    assert result.solver.fast == "gradient" and "  steps          gradient steps, those of manial-1" in repr(result)
    forced = solve(CONCAVE["l1"], named("oadmm", fast="gradient"), stop=Iterations(200) | Critical(1e-6))
    assert forced.converged and forced.solver.fast == "gradient"
    for fast, problem in (("projections", OTHERS["groups of a matrix"]), ("multipliers", no_slope)):
        with pytest.raises(UnsupportedProblem, match="Leave fast out"):
            solve(problem, named("oadmm", fast=fast))
    for fast in ("multipliers", "gradient"):  # the path is made of projections: others do without it
        method, states = states_of(K_SPARSE, 3, fast=fast)
        assert states[0].phase is Phase.SETTLE and states[-1].work > 0 and method.fast == fast


def test_when_the_homotopy_goes_first():
    heavy = Problem.of(f - 20.0 * LargestK(8) + 20.0 * L1(), over=M)
    X = M.random(3)
    assert named("oadmm").init(heavy, X).phase is Phase.HOMOTOPY
    assert named("oadmm", explore=1).init(heavy, X).phase is Phase.HOMOTOPY
    for settings in ({"homotopy": False}, {"explore": 0}):
        assert named("oadmm", **settings).init(heavy, X).phase > Phase.HOMOTOPY
    for problem in (CONCAVE["l1"], ALL["scad minus largest-k"], CONCAVE["rows minus largest-k"]):
        assert named("oadmm").init(problem, X).phase > Phase.HOMOTOPY


def test_a_warm_method_stays_near_its_start():
    problem = CONCAVE["l1"]
    warm = named("oadmm").warm()
    assert warm == named("oadmm", explore=0) and named("oadmm-ep").warm() == named("oadmm-ep")
    for seed in range(3):
        end = solve(problem, seed=seed, stop=Iterations(200) | Critical(1e-10))
        D = M.tangent(end.X, np.random.default_rng(90 + seed).standard_normal((N, R)))
        found = solve(
            problem, warm, M.retract(end.X, 0.02 * D / np.linalg.norm(D)), stop=Iterations(200) | Critical(1e-10)
        )
        assert found.converged and np.linalg.norm(found.X - end.X) < 1e-6


def test_single_precision_stays_and_has_exact_zeros():
    for k in (None, 9):
        problem = sparse_pca(B.astype(np.float32), n_components=R, weight=0.3 if k is None else 6.0, k=k)
        result = solve(problem, "oadmm", stop=Iterations(100))
        assert {a.dtype for a in (result.X, result.y, result.z)} == {np.dtype("float32")}
        assert 0 < np.count_nonzero(result.X) <= (k or N * R - 1)
        assert result.infeasibility < 1e-5
        assert result.criticality < 1e-4 * np.linalg.norm(problem.f.gradient(result.X))
