"""The homotopy in the weight of h: where it begins, how it finds the least weight at which h - g vanishes."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from orthoprox import Problem, Stiefel
from orthoprox._fields import replace
from orthoprox.models import sparse_pca
from orthoprox.solvers._path import _NARROW, _STAGES, Path, first_level, has_path, next_level, raised, vanishes
from orthoprox.terms import L1, ExplainedVariance, GroupL2, LargestK, NegativePart, SmoothConvex, WeightedL1

N, R, K = 8, 2, 5
B = np.random.default_rng(3).standard_normal((20, N))
PROBLEM = sparse_pca(B, n_components=R, weight=7.0, k=K)
SPARSE = np.zeros((N, R))
SPARSE[:2] = [[0.6, -0.8], [0.8, 0.6]]
DENSE = np.random.default_rng(4).standard_normal((N, R))


def walk(threshold, path, most=60):
    """All of the path, where h - g vanishes from a threshold on: the shares that are tried."""
    tried = []
    while not path.closing and not path.finished:
        tried.append(path.level)
        path = next_level(path, PROBLEM, SPARSE if path.level >= threshold else DENSE)
        assert len(tried) < most
    return tried, path


def test_where_h_minus_g_vanishes():
    assert vanishes(PROBLEM, SPARSE)
    assert not vanishes(PROBLEM, DENSE)
    assert not vanishes(PROBLEM, 0 * DENSE)  # where h vanishes, that says nothing
    assert vanishes(PROBLEM, 1e-9 * SPARSE)
    nearly = SPARSE.copy()
    nearly[2:, 0] = 1e-10
    assert not vanishes(PROBLEM, nearly)


def test_it_begins_where_the_slope_of_h_is_small_beside_the_curvature_of_f():
    path = first_level(PROBLEM)
    assert path == Path(1e-3 * PROBLEM.f.lipschitz / 7.0, 0.0, math.inf, 0, False, False)
    weights = np.random.default_rng(5).uniform(1, 2, (N, R))
    weighted = Problem.of(ExplainedVariance(B) - LargestK(3) + WeightedL1(weights), over=Stiefel(N, R))
    assert 0 < first_level(weighted).level < 1


def test_where_there_is_nothing_to_follow_it_is_over():
    light = sparse_pca(B, n_components=R, weight=1e-4 * PROBLEM.f.lipschitz, k=K)
    assert first_level(light) == Path.over()
    nothing = sparse_pca(B, n_components=R, weight=0.0, k=K)
    assert first_level(nothing).finished
    flat = Problem.of(L1() - LargestK(3), over=Stiefel(N, R))
    assert first_level(flat).finished
    assert Path.over().level == 1


def test_which_problems_have_a_path():
    f, over = ExplainedVariance(B), Stiefel(N, R)
    assert has_path(PROBLEM)
    assert has_path(Problem.of(f - SmoothConvex(lambda X: (np.sum(X**2) / 2, X)) + NegativePart(), over=over))
    assert not has_path(Problem.of(f + L1(), over=over))
    assert not has_path(Problem.of(f - LargestK(3) + GroupL2(), over=over))


@pytest.mark.parametrize("threshold", [1.3e-3, 0.02, 0.4, 0.999])
def test_the_share_is_doubled_until_h_minus_g_vanishes_and_then_narrowed(threshold):
    start = first_level(PROBLEM)
    tried, path = walk(threshold, start)
    doubled = [level for level in tried if level <= min((t for t in tried if t >= threshold), default=1.0)]
    first = next(i for i, level in enumerate(tried) if level >= threshold)
    for i in range(first):
        assert tried[i + 1] == min(2 * tried[i], 1.0)
    assert doubled
    assert path.closing
    assert not path.finished
    # The share that is kept is one at which h - g vanished, and the least of those that were tried.
    assert path.level == path.high == min(level for level in tried if level >= threshold)
    assert path.low == max((level for level in tried if level < threshold), default=0.0)
    assert path.low < threshold <= path.level
    if path.stage < _STAGES:
        assert path.high <= _NARROW * path.low
    for level in tried[first + 1 :]:
        assert level < tried[first]


def test_the_interval_is_halved_on_a_logarithmic_scale():
    path = Path(level=0.3, low=0.1, high=0.4, stage=3, closing=False, finished=False)
    up = next_level(path, PROBLEM, DENSE)
    assert (up.low, up.high, up.stage, up.closing) == (0.3, 0.4, 4, False)
    assert up.level == pytest.approx(math.sqrt(0.12))
    down = next_level(path, PROBLEM, SPARSE)
    assert (down.low, down.high, down.level) == (0.1, 0.3, pytest.approx(math.sqrt(0.03)))
    from_zero = next_level(replace(path, low=0.0), PROBLEM, SPARSE)
    assert (from_zero.low, from_zero.level) == (0.0, 0.15)
    # an answer that contradicts an earlier one does not widen it
    assert next_level(replace(path, level=0.5), PROBLEM, SPARSE).high == 0.4
    assert next_level(replace(path, level=0.05), PROBLEM, DENSE).low == 0.1


def test_it_closes_when_the_interval_is_narrow_or_after_many_stages():
    path = Path(level=0.3, low=0.295, high=0.4, stage=3, closing=False, finished=False)
    narrow = next_level(path, PROBLEM, SPARSE)
    assert (narrow.closing, narrow.level, narrow.finished) == (True, 0.3, False)
    late = next_level(replace(path, low=0.1, stage=_STAGES - 1), PROBLEM, SPARSE)
    assert (late.closing, late.level) == (True, 0.3)
    assert not next_level(replace(path, low=0.1, stage=_STAGES - 2), PROBLEM, SPARSE).closing


def test_it_is_over_where_the_whole_weight_does_not_suffice():
    whole = Path(level=1.0, low=0.5, high=math.inf, stage=5, closing=False, finished=False)
    assert next_level(whole, PROBLEM, DENSE) == Path.over()
    almost = next_level(replace(whole, level=0.7), PROBLEM, DENSE)
    assert (almost.level, almost.finished) == (1.0, False)
    tried, path = walk(2.0, first_level(PROBLEM))
    assert path.finished
    assert tried[-1] == 1.0


def test_an_exact_solution_with_too_many_entries_takes_a_little_more_weight():
    path = Path(level=0.5, low=0.4, high=0.5, stage=9, closing=True, finished=False)
    more = raised(path, exact=True)
    assert more.level == pytest.approx(1.03 * 0.5)
    assert (more.closing, more.finished, more.stage, more.high) == (True, False, 10, 0.5)
    assert raised(replace(path, level=0.99), exact=True) == Path.over()


def test_where_no_exact_solution_was_found_the_weight_is_tried_again_a_few_times():
    path = Path(level=0.5, low=0.4, high=0.5, stage=9, closing=True, finished=False)
    levels, path = [], replace(path, level=0.9)
    while not path.finished:
        levels.append(path.level)
        path = raised(path, exact=False)
        assert path.stage == 9 + len(levels) or path.finished
        assert len(levels) < 100  # it ends
    runs = [levels.count(level) for level in dict.fromkeys(levels)]
    assert max(runs) == runs[1] == 4
    assert all(b == pytest.approx(1.03 * a) for a, b in pairwise(dict.fromkeys(levels)))
