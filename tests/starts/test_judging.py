"""Several starts: the best goes on, whatever the others do, and as long as there is time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from orthoprox import Problem, _deadline
from orthoprox.maps import Matrix
from orthoprox.models import sparse_pca
from orthoprox.starts import Auto, Best, Drawn, Random, Start, auto
from orthoprox.starts._judge import judge
from orthoprox.terms import L1, ExplainedVariance, GroupL2, Quadratic
from starts.test_starts import PROBLEM, D
from steps.checks import count_calls


@dataclass(frozen=True, eq=False)
class Fixed(Start):
    """A point that the test knows."""

    X: Any
    name: str = "fixed"

    def make(self, problem, V, rng):
        return Drawn(self.X, self.name, 7)


RNG = np.random.default_rng(0)
LOW = np.linalg.svd(D - D.mean(axis=0))[2][:4].T
HIGH = np.eye(24)[:, :4]
NAN = np.full((24, 4), np.nan)


def test_the_lowest_goes_on_and_what_is_not_finite_is_passed_over():
    for order in ((LOW, HIGH, NAN), (NAN, HIGH, LOW)):
        found = judge(PROBLEM, [Fixed(X) for X in order], None, RNG, blocks=0)
        assert found.drawn.X is LOW and found.objective == float(PROBLEM.objective(LOW))
        assert found.drawn.work == 3 * (7 + 1)
    only = judge(PROBLEM, [Fixed(NAN)], None, np.random.default_rng(4), blocks=1)
    assert np.array_equal(only.drawn.X, PROBLEM.M.random(4, like=D)) and only.drawn.name == "random"


@pytest.mark.parametrize(("lower", "wins"), [(2e-13, "first"), (1e-9, "second")])
def test_of_starts_that_differ_by_rounding_the_first_goes_on(lower, wins):
    """Sums of numbers of the size of 50 may be off by as much."""
    G = PROBLEM.M.tangent(HIGH, PROBLEM.f.gradient(HIGH) + PROBLEM.h.subgradient(HIGH))
    X = PROBLEM.M.project(HIGH - lower / np.sum(G * G) * G)
    assert 0 < PROBLEM.objective(HIGH) - PROBLEM.objective(X) < 2 * lower
    assert judge(PROBLEM, [Fixed(HIGH, "first"), Fixed(X, "second")], None, RNG, blocks=0).drawn.name == wins


@pytest.mark.parametrize("weight", [0.01, 0.3, 3.0])
def test_blocks_never_lose_the_point_they_began_with(weight):
    problem = sparse_pca(D, n_components=4, weight=weight)
    for seed in range(3):
        X = problem.M.random(seed)
        found = judge(problem, [Fixed(X)], None, RNG, blocks=6)
        assert found.objective <= float(problem.objective(X))
        assert found.objective == pytest.approx(float(problem.objective(found.drawn.X)), rel=1e-12)


def test_judging_looks_beyond_the_start():
    """A start with a higher F that leads lower wins over one with a lower F that is stuck."""
    heavy = sparse_pca(D, n_components=4, weight=1.0)
    stuck, free = HIGH, heavy.M.random(0)
    assert float(heavy.objective(stuck)) < float(heavy.objective(free))
    starts = [Fixed(stuck, "stuck"), Fixed(free, "free")]
    assert judge(heavy, starts, None, RNG, blocks=0).drawn.name == "stuck"
    assert judge(heavy, starts, None, RNG, blocks=8).drawn.name == "free"


def test_without_time_the_first_start_is_taken_and_nothing_else_computed(monkeypatch):
    calls = count_calls(monkeypatch)
    Auto().draw(PROBLEM)
    in_time = len(calls)
    calls.clear()
    _deadline.allow(-1e9)
    try:
        drawn = Auto().draw(PROBLEM)
        first = judge(PROBLEM, [Fixed(HIGH, "first"), Fixed(LOW, "second")], None, RNG)
    finally:
        _deadline.allow(None)
    assert len(calls) < 0.2 * in_time
    assert float(PROBLEM.M.infeasibility(drawn.X)) < 1e-13 and first.drawn.name == "first"


@pytest.mark.parametrize("unit", [1.0, 2.0**-40])
def test_a_heavy_penalty_makes_it_explore_a_random_point(unit):
    light, heavy = (Auto().draw(sparse_pca(unit * D, n_components=4, weight=unit**2 * w), 1) for w in (0.01, 20.0))
    assert light.name == "varimax, the best of 2 starts" and light.near
    assert heavy.name.endswith("the best of 4 starts") and not heavy.near and heavy.work > light.work


def test_the_race_ends_where_two_settled_points_agree(monkeypatch):
    heavy = sparse_pca(D, n_components=4, weight=20.0)
    undecided = Auto().draw(heavy, 1)
    monkeypatch.setattr(auto, "EVEN", np.inf)
    decided = Auto().draw(heavy, 1)
    assert decided.name.endswith("the best of 3 starts") and decided.near
    assert decided.work < undecided.work
    assert float(heavy.objective(undecided.X)) <= float(heavy.objective(decided.X))


@pytest.mark.parametrize("unit", [1.0, 2.0**-40])
def test_points_agree_in_units_of_f_at_the_leading_directions(unit):
    problem = sparse_pca(unit * D, n_components=4, weight=unit**2)
    least = abs(float(problem.f.value(LOW)))
    one, near, far = (auto.Judged(Drawn(LOW, "any"), F * least) for F in (0.0, 0.9 * auto.EVEN, 1.1 * auto.EVEN))
    assert auto._are_even(problem, one, near, LOW) and auto._are_even(problem, near, one, LOW)
    assert not auto._are_even(problem, one, far, LOW) and not auto._are_even(problem, far, one, LOW)


def test_the_default_is_random_where_it_knows_nothing():
    f = PROBLEM.f
    for others in (
        sparse_pca(D, n_components=4, weight=0.1, k=20),
        Problem.of(f + 0.1 * GroupL2(), over=PROBLEM.M),
        Problem.of(f + 0.1 * L1() @ Matrix(D[:9]), over=PROBLEM.M),
        Problem.of(Quadratic(D.T @ D) + 0.1 * L1(), over=PROBLEM.M),
        Problem.of(ExplainedVariance(D), over=PROBLEM.M),
        Problem.of(f + 0.0 * L1(), over=PROBLEM.M),
    ):
        drawn = Auto().draw(others, 6)
        assert np.array_equal(drawn.X, others.M.random(6, like=D))
        assert (drawn.name, drawn.work, drawn.near) == ("random", 0, False)


def test_the_best_of_starts_explores_only_when_asked():
    assert Best((Random(),)).draw(PROBLEM).near and not Best((Random(),), explore=True).draw(PROBLEM).near
    one, two = (Best((Random(),) * k).draw(PROBLEM, 2) for k in (1, 4))
    assert float(PROBLEM.objective(two.X)) <= float(PROBLEM.objective(one.X))
