"""When Newton's method on the active set is attempted, and what of it is believed."""

import numpy as np
import pytest

from orthoprox import Problem
from orthoprox._fields import replace
from orthoprox.models import sparse_pca
from orthoprox.solvers.oadmm.finish import Finish, Outcome
from orthoprox.solvers.oadmm.iterate import measure
from orthoprox.solvers.oadmm.projections import Projections
from orthoprox.solvers.oadmm.tuning import Tuning
from orthoprox.terms import L1, ExplainedVariance
from phases.problems import CONCAVE, K_SPARSE, OTHERS
from steps.cases import B, M, N, R
from steps.checks import factor, walk

L1_PROBLEM = Problem.of(ExplainedVariance(B, 0.3) + 0.7 * L1(), over=M)
T = Tuning(near=2e-4, close=3e-3, fivefold=0.25, patience=20, streak=7)  # not the defaults
FINISH = Finish(tuning=T)


def settled(problem, blocks, seed=3):
    """Where some blocks of projections lead."""
    return walk(problem, Projections(explore=0), M.random(seed), blocks)[-1].at


def fresh(problem, at, **fields):
    return replace(FINISH.begin(problem, at), **{"crit": 1e9, **fields})


def due(at, attempts, problem=L1_PROBLEM, roaming=False):
    return FINISH.due(problem, at, attempts, roaming=roaming)


def test_an_attempt_is_due_when_crit_is_small_and_has_fallen_or_after_a_while():
    at = settled(L1_PROBLEM, 4)
    for roaming, limit in ((False, T.close), (True, T.near)):
        above, near = (replace(at, crit=share * limit * at.scale) for share in (1.1, 0.9))
        assert due(near, fresh(L1_PROBLEM, at), roaming=roaming) and not due(
            above, fresh(L1_PROBLEM, at), roaming=roaming
        )
        little = fresh(L1_PROBLEM, at, crit=0.9 / T.fivefold * near.crit)  # it has hardly fallen since
        assert not due(near, little, roaming=roaming)
    far = replace(at, crit=at.scale)
    assert not due(far, fresh(L1_PROBLEM, at, blocks=T.patience, since=10**6))
    late = {"blocks": T.patience + 1}
    assert due(far, fresh(L1_PROBLEM, at, **late)) and not due(far, fresh(L1_PROBLEM, at, **late), roaming=True)
    assert not due(far, fresh(L1_PROBLEM, at, **late, since=99, cost=100))  # blocks pay for it first
    assert due(far, fresh(L1_PROBLEM, at, outcome=Outcome.OPEN, streak=1))  # one that goes on
    assert not due(near, fresh(L1_PROBLEM, at, outcome=Outcome.OPEN, streak=T.streak))  # so many in a row are enough
    for problem in (CONCAVE["rows"], OTHERS["groups of a matrix"]):
        assert not due(near, fresh(problem, at, blocks=10**9), problem)


def test_k_entries_are_finished_at_once_unless_that_was_refused():
    y = np.eye(N)[:, :R]
    at = measure(K_SPARSE, K_SPARSE.at(M.random(1)), y, 0.0 * y)
    assert due(at, fresh(K_SPARSE, at), K_SPARSE, roaming=True)
    assert not due(at, fresh(K_SPARSE, at, outcome=Outcome.REFUSED), K_SPARSE, roaming=True)
    dense = measure(K_SPARSE, at.point, M.random(4), 0.0 * y)
    assert not due(dense, fresh(K_SPARSE, at), K_SPARSE, roaming=True)
    assert due(dense, fresh(K_SPARSE, at, outcome=Outcome.LEAST), K_SPARSE, roaming=True)


@pytest.mark.parametrize("blocks", [2, 4, 8])
@pytest.mark.parametrize("name", ["l1", "mcp", "l1 minus largest-k", "steep"])
def test_what_is_believed_has_half_the_crit_or_a_lower_F(name, blocks):
    problem, believed = CONCAVE[name], 0
    for seed in range(4):
        at = settled(problem, blocks, seed)
        found, attempts = FINISH.attempt(problem, at, fresh(problem, at))
        if found is None:
            assert attempts.outcome is Outcome.REFUSED
            assert (attempts.since, attempts.patience, attempts.blocks) == (0, 2 * T.patience, 0)
            continue
        believed += 1
        halves = found.crit <= 0.5 * at.crit
        assert halves or found.objective < at.objective
        assert np.array_equal(found.point.X, found.y)
        assert float(M.infeasibility(found.point.X)) < 1e-13
        assert found.crit == pytest.approx(measure(problem, problem.at(found.point.X), found.y, found.z).crit)
        assert attempts.objective == found.objective and attempts.outcome >= Outcome.BELIEVED
        assert attempts.crit == at.crit
    assert believed > 0


def test_near_a_solution_one_attempt_finishes():
    at = settled(L1_PROBLEM, 12)
    assert 1e-12 < at.crit < 1e-2
    found, attempts = FINISH.attempt(L1_PROBLEM, at, fresh(L1_PROBLEM, at))
    assert found.is_exact() and (found.point.X == 0).any() and attempts.outcome is Outcome.BELIEVED


def test_wrong_zeros_are_refused():
    at = settled(L1_PROBLEM, 12)
    refused = 0
    for entry in np.argwhere(at.y != 0):
        y = at.y.copy()
        y[tuple(entry)] = 0.0
        wrong = measure(L1_PROBLEM, at.point, y, at.z)
        found, _ = replace(FINISH, rounds=1).attempt(L1_PROBLEM, replace(wrong, crit=at.crit), fresh(L1_PROBLEM, at))
        refused += found is None
    assert refused > 0
    y = at.y.copy()
    y[:, 1] = 0.0  # no orthonormal matrix has these
    wrong = measure(L1_PROBLEM, at.point, y, at.z)
    found, attempts = FINISH.attempt(L1_PROBLEM, wrong, fresh(L1_PROBLEM, at, blocks=7, since=99, streak=2))
    assert found is None and attempts.outcome is Outcome.REFUSED and attempts.streak == 3
    assert (attempts.since, attempts.blocks, attempts.patience, attempts.crit) == (0, 0, 2 * T.patience, wrong.crit)
    later = FINISH.after_block(FINISH.after_block(attempts, 20), 30)
    assert (later.blocks, later.since, later.streak) == (2, 50, 0)
    rough = settled(L1_PROBLEM, 2)
    assert FINISH.attempt(L1_PROBLEM, rough, fresh(L1_PROBLEM, rough))[0] is not None
    far = replace(rough, crit=1e-9)  # the zeros of y have a subgradient more than a hundred times longer
    assert FINISH.attempt(L1_PROBLEM, far, fresh(L1_PROBLEM, at))[0] is None


def test_an_attempt_cut_short_goes_on_where_it_gains_more_than_blocks_of_the_same_cost():
    at = settled(L1_PROBLEM, 3)
    hasty = replace(FINISH, rounds=1)
    plain, _ = hasty.attempt(L1_PROBLEM, at, fresh(L1_PROBLEM, at))
    gain = at.objective - plain.objective
    assert gain > 0
    for last, since, goes_on in (
        (None, 0, True),  # the first attempt
        (at.objective, 500, True),  # the blocks had brought nothing
        (at.objective + 1e6, 1, False),  # or more than it did, at the same cost
        (at.objective - 0.95 * gain, 500, False),  # it has only taken back what they lost
    ):
        known = fresh(L1_PROBLEM, at, objective=last, since=since)
        found, attempts = hasty.attempt(L1_PROBLEM, replace(at, crit=2 * plain.crit), known)
        assert np.array_equal(found.point.X, plain.point.X)
        assert (attempts.outcome is Outcome.OPEN) == goes_on and attempts.streak == 1
        # Crit may rise for the sake of F alone.
        worse, _ = hasty.attempt(L1_PROBLEM, replace(at, crit=0.9 * plain.crit), known)
        assert (worse is not None) == goes_on


def test_on_k_entries_f_is_minimised_with_all_of_them_free_and_others_may_enter_afterwards():
    y = np.zeros((N, R))
    y[:R] = factor(np.random.default_rng(5).standard_normal((R, R)))
    y[2, 0] = 0.0
    y = factor(y) * (y != 0)
    problem = sparse_pca(B, n_components=R, weight=6.0, k=12)
    at = measure(problem, problem.at(factor(y)), y, 0.0 * y)
    found, attempts = FINISH.attempt(problem, at, fresh(problem, at))
    assert found.objective < at.objective and np.count_nonzero(found.point.X) <= 12
    assert np.all(found.point.X[y == 0][np.abs(found.point.X[y == 0]) > 0] != 0)
    assert attempts.outcome is Outcome.LEAST
    again, after = FINISH.attempt(problem, replace(found, crit=1.0), attempts)
    assert again.objective <= found.objective + 1e-12
    assert (after.outcome is Outcome.LEAST) == (not again.objective < found.objective - 1e-12)
