"""How OADMM begins and ends: the homotopy in the weight, and when Newton's method is tried and believed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from orthoprox.solvers._path import Path, next_level, vanishes
from orthoprox.solvers._polish import filled, polish
from orthoprox.solvers._support import restored

from orthoprox import Critical, Iterations, Problem, named, solve
from orthoprox._fields import replace
from orthoprox.models import sparse_pca
from orthoprox.solvers.oadmm import _PATIENCE
from orthoprox.terms import L1, ExplainedVariance
from steps.cases import PROBLEMS as ALL
from steps.cases import B, M, N, R
from steps.test_oadmm import CONCAVE, SETTINGS, a_state, crit, first_and_last, nearest_turn, projected

K_SPARSE = sparse_pca(B, n_components=R, weight=6.0, k=9)
L1_PROBLEM = CONCAVE["l1"]


def settled(problem, blocks=40):
    """A state that many fast blocks lead to, before any attempt to finish."""
    method = named("oadmm", **{**SETTINGS, "explore": 0}, polish=False)
    state = method.init(problem, M.random(3))
    for _ in range(blocks):
        state = method.step(problem, state)
    return state


# ------------------------------------------------------------------ along the path


def follow(level, closing=False, low=0.0, high=math.inf, stage=2):
    return Path(level=level, low=low, high=high, stage=stage, closing=closing, finished=False)


@pytest.mark.parametrize("level", [0.003, 0.1])
def test_a_step_along_the_path_is_three_blocks_without_g_and_with_a_weaker_h(level):
    method = named("oadmm", **SETTINGS, block=2)
    old = a_state(K_SPARSE, 1, method=method, path=follow(level), explored=0)
    new = method.step(K_SPARSE, old)
    easier = Problem.of(K_SPARSE.f + level * 6.0 * L1(), over=M)
    X, y, z = old.now.X, old.y, old.z
    for _ in range(3):
        _, beta, turns = first_and_last(easier, X, z)
        assert turns == (level < 0.01)
        for _ in range(2):
            W = beta * y - z
            X = projected(W - easier.f.gradient(X @ nearest_turn(X, W) if turns else X))
            y = easier.h.prox(X + z / beta, 1 / beta)
            z = z + beta * (X - y)
    assert np.allclose(new.now.X, X, atol=1e-9)
    assert np.allclose(new.y, y, atol=1e-9)
    assert new.path == next_level(old.path, K_SPARSE, y)
    # z grows with the weight, and stays among the slopes of the new h
    w = 6.0 * new.path.level
    assert np.allclose(new.z, np.clip(z * new.path.level / level, -w, w), atol=1e-9)
    assert (new.t, new.steps, new.explored) == (10, 76, 0)


def test_the_path_ends_at_a_k_sparse_point_with_a_multiplier_for_the_whole_problem():
    method = named("oadmm")
    state = method.init(K_SPARSE, M.random(3))
    assert not state.path.finished
    closing = 0
    while not state.path.finished:
        closing += state.path.closing
        before, state = state, method.step(K_SPARSE, state)
        assert state.t < 100
    assert closing >= 1
    assert before.path.closing
    X, y, z = state.now.X, state.y, state.z
    assert vanishes(K_SPARSE, y)
    assert 0 < np.count_nonzero(y) <= 9
    assert np.array_equal(X, y)  # it ends with an exact solution of the problem without g
    assert state.explored == method.explore  # roaming would lose it again
    easier = before.path.level * K_SPARSE.h
    multiplier = z - K_SPARSE.g.subgradient(y)
    assert easier.subgradient_distance(y, multiplier) < 1e-9
    assert np.linalg.norm(M.tangent(X, K_SPARSE.f.gradient(X) + multiplier)) < 1e-9


def test_the_path_ends_where_a_column_has_been_wiped_out():
    """More weight would not bring it back; less than the whole one has to be left to see that."""
    method = named("oadmm", **SETTINGS)
    for level, ends in ((0.02, False), (0.9, True)):
        new = method.step(K_SPARSE, a_state(K_SPARSE, 1, method=method, path=follow(level, closing=True), explored=0))
        assert new.path.finished == ends
        # It goes on from nine entries, no two in a row and some in every column.
        assert bool(np.all(np.count_nonzero(new.now.X, axis=1) <= 1)) == ends
        if ends:
            assert np.array_equal(new.now.X, new.y) and np.count_nonzero(new.y) == 9 and np.any(new.y, axis=0).all()


def test_a_run_along_the_path_keeps_more_variance_than_one_without():
    """What the homotopy is for: at full weight at once, X hardly leaves the first zeros it finds."""
    D = np.random.default_rng(8).standard_normal((60, 30)) * 0.8 ** np.arange(30)
    problem = sparse_pca(D, n_components=4, weight=50.0, k=24)
    kept = {
        homotopy: np.mean(
            [solve(problem, named("oadmm", homotopy=homotopy), seed=s, stop=Iterations(80)).objective for s in range(3)]
        )
        for homotopy in (True, False)
    }
    assert kept[True] < kept[False]


# ------------------------------------------------------------------ when to try


def due(state, problem=L1_PROBLEM, **settings):
    return named("oadmm", **SETTINGS, **settings)._due(problem, state)


def test_newtons_method_is_tried_when_crit_is_small_or_after_a_while():
    rough, fine = settled(L1_PROBLEM, 1), settled(L1_PROBLEM)
    fine = replace(fine, explored=15, waited=3)
    rough = replace(rough, explored=15, waited=3)
    scale = np.linalg.norm(L1_PROBLEM.f.gradient(fine.now.X))
    assert crit(L1_PROBLEM, fine) < 1e-4 * scale < 1e-2 * scale < crit(L1_PROBLEM, rough)
    assert due(fine)
    assert not due(rough)
    assert not due(replace(fine, tried=4 * crit(L1_PROBLEM, fine)))  # not much smaller than the last time
    assert due(replace(fine, tried=6 * crit(L1_PROBLEM, fine)))
    assert not due(replace(fine, waited=0))  # one block at least in between
    roaming = replace(fine, explored=14, waited=0)
    assert due(replace(roaming, crit=0.9e-4 * scale))  # at a critical point, whatever the penalty
    assert not due(replace(roaming, crit=1.1e-4 * scale))
    assert not due(replace(roaming, crit=0.9e-4 * scale, tried=4e-4 * scale))  # not much smaller than the last time
    assert not due(replace(rough, waited=_PATIENCE))
    assert due(replace(rough, waited=_PATIENCE + 1))  # after a while
    for failures in (1, 5):  # twice as long after attempts that failed
        assert not due(replace(rough, waited=2 * _PATIENCE, failures=failures))
        assert due(replace(rough, waited=2 * _PATIENCE + 1, failures=failures))
    assert not due(fine, polish=False)


def test_it_is_not_tried_where_it_cannot_be():
    for problem in (CONCAVE["rows"], ALL["groups of a matrix"], ALL["own function"]):
        state = a_state(problem, 1, waited=10_000, explored=99)
        assert not due(state, problem)


def test_k_entries_are_finished_at_once():
    y = np.zeros((N, R))
    y[:R] = np.eye(R)
    state = replace(a_state(K_SPARSE, 1, explored=0, waited=0), y=y)
    assert due(state, K_SPARSE)
    assert not due(replace(state, y=M.random(4)), K_SPARSE)
    assert not due(state, K_SPARSE, polish=False)


# ------------------------------------------------------------------ what is believed


def attempt(problem, state, rounds=15, **settings):
    """What Newton's method itself makes of the state, on the zeros of y."""
    scale = np.linalg.norm(problem.f.gradient(state.now.X))
    radius = max(state.radius, 0.02 * math.sqrt(R))
    return polish(problem, state.y, state.z, radius=radius, rounds=rounds, tolerance=64 * 2.0**-52 * scale, **settings)


def test_an_attempt_that_succeeds_is_the_next_state():
    old = replace(settled(L1_PROBLEM, 8), explored=15, waited=3, recent=(5.0, 4.0), tried=7.0)
    old = replace(old, reached=float(L1_PROBLEM.objective(old.now)))
    assert crit(L1_PROBLEM, old) > 1e-6
    new = named("oadmm", **SETTINGS).step(L1_PROBLEM, old)
    found = attempt(L1_PROBLEM, old)
    assert np.array_equal(new.now.X, found.point.X)
    assert np.array_equal(new.y, found.point.X)
    assert np.array_equal(new.z, found.z)
    assert new.recent == (4.0, found.residual)
    assert found.steps < 15
    assert new.tried == pytest.approx(crit(L1_PROBLEM, old))
    assert new.reached == pytest.approx(float(L1_PROBLEM.objective(found.point)))
    assert (new.t, new.steps, new.waited, new.failures) == (old.t + 1, old.steps + found.products, 0, 0)
    assert crit(L1_PROBLEM, new) < 1e-10
    assert (new.now.X == 0).any()
    assert np.linalg.norm(new.now.X.T @ new.now.X - np.eye(R)) < 1e-13


def test_an_attempt_that_was_cut_short_but_got_further_is_followed_by_another_soon():
    """Further than blocks of the same cost since the last one, and than the last one itself."""
    old = replace(settled(L1_PROBLEM, 4), explored=15, waited=1000, failures=1)
    value, found = (
        float(L1_PROBLEM.objective(old.now)),
        polish(L1_PROBLEM, old.y, old.z, radius=old.radius, rounds=1, tolerance=1e-14),
    )
    reached = float(L1_PROBLEM.objective(found.point))
    gain, blocks = value - reached, found.products / (20 * 1000)
    assert gain > 0
    for last, soon in (
        (math.inf, True),  # the first attempt
        (value, True),  # the blocks had brought nothing
        (value + 0.9 * gain / blocks, True),
        (value + 1.1 * gain / blocks, False),  # or more than it did, at the same cost
        (value - 0.8 * gain, True),
        (value - 0.95 * gain, False),  # it has only taken back what they lost
    ):
        new = named("oadmm", **SETTINGS, rounds=1).step(L1_PROBLEM, replace(old, reached=last, crit=2 * found.residual))
        assert np.array_equal(new.now.X, found.point.X)
        assert new.failures == 1
        assert new.waited == (2 * _PATIENCE if soon else 0)
        # Crit may rise for the sake of F alone.
        worse = named("oadmm", **SETTINGS, rounds=1).step(
            L1_PROBLEM, replace(old, reached=last, crit=found.residual / 2)
        )
        assert np.array_equal(worse.now.X, found.point.X) == soon
        assert worse.failures == (1 if soon else 2)


def test_an_attempt_that_would_begin_far_off_is_not_made():
    old = replace(settled(L1_PROBLEM, 8), explored=15, waited=1000)
    first = attempt(L1_PROBLEM, old, rounds=0).residual
    for crit_here, made in ((first / 99, True), (first / 101, False)):
        new = named("oadmm", **SETTINGS).step(L1_PROBLEM, replace(old, crit=crit_here))
        assert (new.failures == 0) == made
        assert (attempt(L1_PROBLEM, old, largest=100 * crit_here) is not None) == made


def test_at_a_critical_point_there_is_nowhere_to_roam_to():
    old = replace(settled(L1_PROBLEM), explored=2, waited=0)
    assert crit(L1_PROBLEM, old) < 1e-6
    new = named("oadmm", **SETTINGS).step(L1_PROBLEM, old)
    assert (new.t, new.explored) == (old.t + 1, 2)
    assert np.array_equal(new.now.X, new.y)
    assert (new.now.X == 0).any()
    assert crit(L1_PROBLEM, new) < 1e-12
    again = named("oadmm", **SETTINGS).step(L1_PROBLEM, new)
    assert np.array_equal(again.now.X, new.now.X)
    rough = replace(settled(L1_PROBLEM, 4), explored=2, waited=0)
    assert crit(L1_PROBLEM, rough) > 1e-4 * np.linalg.norm(L1_PROBLEM.f.gradient(rough.now.X))
    after = named("oadmm", **SETTINGS).step(L1_PROBLEM, rough)
    assert (after.steps, after.reached) == (rough.steps + 20, math.inf)  # a block, and no attempt


@pytest.mark.parametrize("name", ["k-sparse", "l1", *ALL])
def test_a_state_knows_its_own_crit(name):
    """Blocks, attempts that are believed and not, blocks of the paper's: all keep it up to date."""
    problem, method = (
        {**ALL, "l1": L1_PROBLEM, "k-sparse": K_SPARSE}[name],
        named("oadmm", explore=4, block=3, memory=2),
    )
    state, seen = method.init(problem, problem.M.random(3)), 0
    for _ in range(60):
        if state.path.finished and state.t > 0:
            assert state.crit == pytest.approx(crit(problem, state), rel=1e-6, abs=1e-12)
            seen += 1
        else:
            assert state.crit == math.inf
        state = method.step(problem, state)
    assert seen > 5


def test_an_attempt_on_wrong_zeros_is_not_believed():
    good, believed, refused = settled(L1_PROBLEM, 8), 0, 0
    for entry in np.argwhere(good.y != 0):
        y = good.y.copy()
        y[tuple(entry)] = 0.0  # which should not be zero
        old = replace(good, y=y, explored=15, waited=1000, tried=1e-3)
        old = replace(old, crit=crit(L1_PROBLEM, old))
        found = polish(L1_PROBLEM, y, old.z, radius=old.radius, rounds=1, tolerance=1e-14)
        new = named("oadmm", **SETTINGS, rounds=1).step(L1_PROBLEM, old)
        rises = found is None or float(L1_PROBLEM.objective(found.point)) > float(L1_PROBLEM.objective(old.now))
        if rises and (found is None or found.residual > 0.5 * crit(L1_PROBLEM, old)):
            refused += 1
            fast = named("oadmm", **SETTINGS, polish=False).step(L1_PROBLEM, old)
            assert np.array_equal(new.now.X, fast.now.X)  # a block instead
            assert (new.waited, new.failures, new.tried) == (1, 1, 1e-3)
        else:
            believed += 1
            assert np.array_equal(new.now.X, found.point.X)
            assert new.failures == 0
    assert believed > 0
    assert refused > 0


def test_where_there_is_no_orthonormal_matrix_with_these_zeros_a_block_is_taken():
    old = settled(L1_PROBLEM)
    y = old.y.copy()
    y[:, 1] = 0.0
    old = replace(old, y=y, explored=15, waited=1000)
    new = named("oadmm", **SETTINGS).step(L1_PROBLEM, old)
    assert np.array_equal(new.now.X, named("oadmm", **SETTINGS, polish=False).step(L1_PROBLEM, old).now.X)
    assert new.failures == 1


def test_where_f_is_least_on_the_k_entries_attempts_go_on_for_crit_alone():
    """A radius of zero says so. Freeing these entries again would undo what Crit has gained, unless F falls."""
    method = named("oadmm", rounds=2)
    state = solve(K_SPARSE, method, M.random(3), stop=Iterations(60) | Critical(1e-11)).state
    assert crit(K_SPARSE, state) < 1e-11 and np.array_equal(state.now.X, state.y)
    least = replace(state, radius=0.0, crit=1.0)
    assert method.step(K_SPARSE, least).radius == 0  # Crit is less than half, F as it was
    assert method.step(K_SPARSE, replace(least, crit=0.0)).radius > 0  # no further by this way
    on = (state.y != 0).astype(float)
    X = restored(state.y + 0.05 * np.random.default_rng(6).standard_normal((N, R)) * on, on)
    away = replace(least, now=K_SPARSE.at(X), y=X, crit=1e3)
    new = method.step(K_SPARSE, away)
    assert float(K_SPARSE.objective(new.now)) < float(K_SPARSE.objective(away.now)) and new.radius > 0


def test_the_inner_methods_go_on_from_where_an_attempt_ended():
    problem = Problem.of(ExplainedVariance(-B, -0.3) + 0.5 * L1(), over=M)  # convex f
    method = named("oadmm")
    state = method.init(problem, M.random(3))
    assert state.newton is not None
    for _ in range(40):
        state = method.step(problem, state)
        assert np.array_equal(state.newton.now.X, state.now.X)
        assert np.array_equal(state.newton.z, state.z)
        assert np.array_equal(state.newton.y, state.y)
    assert state.waited == 0  # the last was an attempt, and there was nothing left to do after it
    assert crit(problem, state) < 1e-12


def test_on_k_entries_the_attempt_is_that_with_all_of_them_free():
    y = np.zeros((N, R))
    y[:R] = projected(np.random.default_rng(5).standard_normal((R, R)))
    y[2, 0] = 0.0
    y = projected(y) * (y != 0)
    problem = sparse_pca(B, n_components=R, weight=6.0, k=12)
    old = replace(a_state(problem, 1, explored=0, waited=0), now=problem.at(projected(y)), y=y)
    new = named("oadmm").step(problem, old)
    found = attempt(problem, old, on=filled(problem, old.now, y), free=True)
    assert np.array_equal(new.now.X, found.point.X)
    assert found.steps < 15
    assert new.radius == 0  # f has been minimised on these entries: from now on others may enter
    assert due(new, problem)
    again = named("oadmm").step(problem, new)
    assert np.array_equal(again.now.X, attempt(problem, new).point.X)
    assert again.radius > 0
    assert np.count_nonzero(new.now.X) <= 12
    assert float(problem.objective(new.now.X)) < float(problem.objective(old.now.X))
    assert np.linalg.norm(new.now.X.T @ new.now.X - np.eye(R)) < 1e-13
