"""The homotopy in the weight of h, alone: one step, how it narrows, where it ends."""

from itertools import pairwise

import numpy as np
import pytest

from orthoprox import Problem
from orthoprox._fields import replace
from orthoprox.models import sparse_pca
from orthoprox.solvers.oadmm.finish import is_sparse_enough, vanishes
from orthoprox.solvers.oadmm.homotopy import Homotopy, has_empty_column
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.solvers.oadmm.tuning import Tuning
from orthoprox.terms import L1, LargestK, NegativePart, SmoothConvex, WeightedL1
from phases.problems import CONCAVE, K_SPARSE, f, random_iterate
from phases.test_projections import nearest_turn
from steps.cases import B, M, N, R
from steps.checks import factor

T = Tuning(blocks=4, stages=9, narrow=1.05, tries=3, first_weight=2e-3)  # not the defaults
METHOD = Homotopy(projections=Projections(explore=0, block=2, roam=0.3, settle=0.7, tuning=T))


def a_state(problem, seed=1, **fields):
    at = random_iterate(problem, seed)
    given = {"at": at, "level": 0.1, "closing": False, "finished": False}
    return replace(METHOD.init(problem, at.point.X), **{**given, **fields})


def test_where_h_minus_g_vanishes():
    sparse = np.eye(N)[:, :R]
    dense = np.random.default_rng(4).standard_normal((N, R))
    assert vanishes(K_SPARSE, sparse) and vanishes(K_SPARSE, 1e-9 * sparse)
    assert not vanishes(K_SPARSE, dense) and not vanishes(K_SPARSE, 0 * dense)
    assert not vanishes(K_SPARSE, sparse + 1e-10 * dense)
    assert is_sparse_enough(K_SPARSE, sparse) and not is_sparse_enough(K_SPARSE, dense)
    uneven = Problem.of(f - 0.4 * LargestK(40) + 0.5 * L1(), over=M)
    assert not vanishes(uneven, sparse)
    assert not is_sparse_enough(CONCAVE["l1"], sparse)


@pytest.mark.parametrize("level", [0.003, 0.1])
def test_a_step_is_some_blocks_without_g_and_with_a_weaker_h(level):
    old = a_state(K_SPARSE, level=level)
    new = METHOD.step(K_SPARSE, old)
    easier = Problem.of(K_SPARSE.f + level * 6.0 * L1(), over=M)
    X, y, z = old.at.point.X, old.at.y, old.at.z
    for _ in range(T.blocks):
        _, beta, turns = METHOD.projections.penalties(easier, easier.at(X), z)
        assert turns == (level < 0.01)
        for _ in range(2):
            W = beta * y - z
            X = factor(W - easier.f.gradient(X @ nearest_turn(X, W) if turns else X))
            y = easier.h.prox(X + z / beta, 1 / beta)
            z = z + beta * (X - y)
    assert np.allclose(new.at.point.X, X, atol=1e-9) and np.allclose(new.at.y, y, atol=1e-9)
    # z grows with the weight, and stays among the slopes of the new h
    w = 6.0 * new.level
    assert np.allclose(new.at.z, np.clip(z * new.level / level, -w, w), atol=1e-9)
    assert (new.t, METHOD.work(new)) == (old.t + 1, 2 * T.blocks)


@pytest.mark.parametrize("threshold", [5e-4, 1.3e-3, 0.02, 0.4, 0.999])
def test_the_share_doubles_until_h_minus_g_vanishes_and_then_narrows(threshold, monkeypatch):
    """With the blocks left out: h - g vanishes from a threshold on."""
    sparse, dense = np.eye(N)[:, :R], M.random(2)
    now = K_SPARSE.at(dense)
    state = replace(a_state(K_SPARSE), level=1e-3)
    tried = []

    def block(self, problem, point, y, z, beta, turns):
        return now, (sparse if state.level >= threshold else dense), 0.0 * dense

    monkeypatch.setattr(Projections, "iterate_block", block)
    while not state.closing and not state.finished:
        tried.append(state.level)
        state = METHOD.step(K_SPARSE, state)
        assert len(tried) < 40
    first = next(i for i, level in enumerate(tried) if level >= threshold)
    assert all(b == min(2 * a, 1.0) for a, b in pairwise(tried[: first + 1]))
    # The share that is kept is the least that was tried at which h - g vanished.
    assert state.closing and state.level == state.high == min(level for level in tried if level >= threshold)
    assert state.low == max((level for level in tried if level < threshold), default=0.0)
    assert state.stage >= T.stages or state.high <= T.narrow * state.low
    assert all(level < tried[first] for level in tried[first + 1 :])


def test_where_h_minus_g_never_vanishes_it_ends_at_the_whole_weight(monkeypatch):
    dense = M.random(2)
    monkeypatch.setattr(Projections, "iterate_block", lambda *_: (K_SPARSE.at(dense), dense, 0.0 * dense))
    state = replace(a_state(K_SPARSE), level=0.9)
    for _ in range(2):
        state = METHOD.step(K_SPARSE, state)
    assert state.finished and vanishes(K_SPARSE, state.at.y)  # at columns set apart, which are lower


def test_it_ends_at_a_k_sparse_point_with_a_multiplier_for_the_whole_problem():
    method = replace(METHOD, projections=Projections(explore=0))
    state = method.init(K_SPARSE, M.random(3))
    while not state.finished:
        before, state = state, method.step(K_SPARSE, state)
        assert state.t < 100
    X, y, z = state.at.point.X, state.at.y, state.at.z
    assert before.closing and is_sparse_enough(K_SPARSE, y)
    assert np.array_equal(X, y)  # an exact solution of the problem without g
    multiplier = z - K_SPARSE.g.subgradient(y)
    assert (before.level * K_SPARSE.h).subgradient_distance(y, multiplier) < 1e-9
    assert np.linalg.norm(M.tangent(X, K_SPARSE.f.gradient(X) + multiplier)) < 1e-9
    assert method.work(state) > state.t * 60 - 1


def test_it_ends_where_a_column_has_been_wiped_out():
    """More weight would not bring it back. It goes on from columns set apart, nine entries in all."""
    for level, ends in ((0.02, False), (0.9, True)):
        new = METHOD.step(K_SPARSE, a_state(K_SPARSE, level=level, closing=True))
        assert new.finished == ends
        if ends:
            assert np.array_equal(new.at.point.X, new.at.y) and np.count_nonzero(new.at.y) == 9
            assert not has_empty_column(new.at.y) and np.all(np.count_nonzero(new.at.y, axis=1) <= 1)


@pytest.mark.parametrize("exact", [True, False])
def test_a_weight_that_does_not_lead_to_an_end_rises_a_little_or_is_tried_again(exact, monkeypatch):
    """With the blocks and Newton's method left out: at once after an exact solution, else at every third try."""
    dense = M.random(2)
    point = K_SPARSE.at(dense)
    monkeypatch.setattr(Projections, "iterate_block", lambda *_: (point, dense, 0.0 * dense))
    monkeypatch.setattr(Homotopy, "_solve", lambda self, easier, now, y, z: (now, y, z, 5, exact))
    state = a_state(K_SPARSE, level=0.9, closing=True, stage=0)
    levels = []
    while not state.finished:
        state = METHOD.step(K_SPARSE, state)
        levels.append(state.level)
        assert len(levels) < 40
    rises = [0.9 * T.narrow**k for k in range(4)]
    wanted = rises[1:] if exact else [rises[t // T.tries] for t in range(1, 3 * T.tries + 1)]
    assert levels == pytest.approx(wanted) and levels[-1] >= 1 > levels[-2]


def test_it_begins_where_h_is_weak_beside_f_and_is_over_where_there_is_nothing_to_follow():
    state = METHOD.init(K_SPARSE, M.random(1))
    assert state.level == pytest.approx(T.first_weight * K_SPARSE.f.lipschitz / 6.0) and not state.finished
    assert not state.at.z.any()
    light = sparse_pca(B, n_components=R, weight=1e-4 * K_SPARSE.f.lipschitz, k=9)
    flat = Problem.of(L1() - LargestK(3), over=M)
    for problem in (light, flat, sparse_pca(B, n_components=R, weight=0.0, k=9)):
        assert METHOD.init(problem, M.random(1)).finished


def test_it_takes_every_entrywise_h_with_a_g():  # when it goes first, and what it refuses: test_oadmm.py
    weights = np.random.default_rng(5).uniform(1, 2, (N, R))
    own = SmoothConvex(lambda X: (np.sum(X**2) / 2, X))
    for expression in (f - LargestK(3) + WeightedL1(weights), f - own + NegativePart(), f - LargestK(8) + L1()):
        assert Homotopy.takes(Problem.of(expression, over=M))
