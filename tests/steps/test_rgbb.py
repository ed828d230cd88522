"""The descent that MADMM and ManIAL use: its end and its products; their steps compare its walk with its definition."""

import numpy as np
import pytest

from orthoprox import Problem
from orthoprox.solvers import _rgbb
from orthoprox.solvers._rgbb import PenaltyFunction, rgbb
from orthoprox.terms import ExplainedVariance
from steps.cases import PROBLEMS, B, M, random_triple
from steps.checks import count_calls

NU = 13.0


def test_a_change_too_small_for_the_difference_of_two_values_keeps_its_digits():
    problem = PROBLEMS["plain l1, centred"]
    rng, X, _, y, z = random_triple(problem, 0)
    merit = PenaltyFunction(problem, 0.0 * X, NU, z, y)
    D = 1e-12 * problem.M.tangent(X, rng.standard_normal(X.shape))
    now, new = problem.at(X), problem.at(X + D)
    assert merit.change(now, y, new, y) == pytest.approx(np.sum(D * merit.gradient(now, y)), rel=1e-3)


def test_a_descent_ends_at_its_tolerance_and_does_nothing_at_a_stationary_point():
    problem = Problem.of(ExplainedVariance(B), over=M)
    X = problem.M.random(0)
    merit = PenaltyFunction(problem, 0.0 * X, 1.0, 0.0 * X)
    found = rgbb(merit, problem.at(X), length=1e-3, ell=problem.f.lipschitz, tolerance=1e-8, most=500)
    assert np.linalg.norm(found.G) <= 1e-8
    assert 5 < found.steps < 500
    values = np.linalg.svd(B, compute_uv=False)
    assert problem.objective(found.point) == pytest.approx(-np.sum(values[:3] ** 2) / 2, rel=1e-12)
    again = rgbb(merit, found.point, length=0.3, ell=problem.f.lipschitz, tolerance=1e-8, most=500)
    assert (again.steps, again.point) == (0, found.point)


def test_one_product_with_the_data_per_inner_step(monkeypatch):
    problem, X = PROBLEMS["plain l1, centred"], M.random(0)
    start, merit = problem.at(X), PenaltyFunction(problem, 0.0 * X, NU, 0.0 * X)
    calls = count_calls(monkeypatch)
    for step_size, ell, done, refreshes in ((1e9, 1e-6, 15, 0), (1e-3, 20.0, _rgbb.REFRESH - 20, 1)):
        calls.clear()
        found = rgbb(merit, start, length=step_size, ell=ell, tolerance=0.0, most=30, done=done)
        assert len(calls) == 30 + refreshes
    last = rgbb(merit, start, length=1e-3, ell=20.0, tolerance=0.0, most=1, done=_rgbb.REFRESH - 1)
    assert np.array_equal(last.point.HX, problem.at(last.point.X).HX)
    assert not np.array_equal(found.point.HX, problem.at(found.point.X).HX)
