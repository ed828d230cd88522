"""One step of the Riemannian subgradient method, its lengths, and how near it is to the projected one."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Recorder, Stiefel, solve
from orthoprox.solvers.rsg import RSG, RSGState
from orthoprox.terms import L1
from steps.cases import PROBLEMS, N, R, random_triple
from steps.checks import check_products, factor, smooth_gradient, tangent

T, ETA0 = 6, 0.3
RULES = {
    "sqrt": ({"rule": "sqrt"}, ETA0 / np.sqrt(7)),
    "constant": ({"rule": "constant", "eta0": 1.0}, ETA0),
    "for a budget": ({"rule": "constant", "budget": 24}, ETA0 / 5),
    "geometric": ({"rule": "geometric", "ratio": 0.9}, ETA0 * 0.9**6),
}


def subgradient(problem, X):
    return smooth_gradient(problem, X) + problem.A.adjoint(problem.h.subgradient(problem.A(X)))


@pytest.mark.parametrize("by", ["polar", "qr"])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_retracts_along_the_tangent_part_and_keeps_the_best(name, rule, by):
    problem, (settings, eta) = PROBLEMS[name], RULES[rule]
    solver = RSG(**settings, retraction=by)
    for seed in range(2):  # in one of the cases at least the new point is better, in one the old one
        _, X, X_best, _, _ = random_triple(problem, seed)
        lowest = float(problem.objective(X_best))
        best = problem.at(X_best)
        old = RSGState(t=T, now=problem.at(X), best=best, lowest=lowest, eta0=ETA0, moved=9.0)
        new = solver.step(problem, old)
        D = tangent(X, subgradient(problem, X))
        expected = factor(X - eta * D, by)
        assert np.allclose(new.now.X, expected, atol=1e-11)
        assert (new.t, new.eta0) == (T + 1, ETA0)
        assert new.moved == pytest.approx(eta * np.linalg.norm(D))
        value = float(problem.objective(expected))
        assert np.allclose(solver.point(new), expected if value < lowest else X_best, atol=1e-11)
        assert new.lowest == pytest.approx(min(value, lowest))
        for point in (new.now, new.best):
            check_products(problem, point)
        certificate = solver.certificate(problem, new)
        assert certificate.point is new.best
        assert np.allclose(certificate.y, problem.A(certificate.point.X))
        assert problem.h.subgradient_distance(certificate.y, certificate.z) < 1e-12


def test_the_first_move_is_a_tenth_of_X():
    problem = PROBLEMS["groups of a matrix"]
    X = problem.M.random(0)
    solver = RSG()
    state = solver.init(problem, X)
    D = tangent(X, subgradient(problem, X))
    assert state.eta0 * np.linalg.norm(D) == pytest.approx(0.1 * np.sqrt(R))
    assert solver.step(problem, state).moved == pytest.approx(0.1 * np.sqrt(R))
    assert RSG(rule="geometric").step(problem, state).moved == pytest.approx(0.1 * np.sqrt(R))
    assert (state.t, state.now is state.best, state.moved) == (0, True, 0.0)
    assert state.lowest == problem.objective(X)
    assert RSG(eta0=2.0).init(problem, X).eta0 == 2.0
    assert RSG().init(Problem(M=Stiefel(N, R)), X).eta0 == 1.0  # nothing to move along


def test_a_sharp_minimum_is_reached_geometrically():
    # |x|_1 on the sphere has its minima, of value 1, at coordinate vectors, and grows linearly away from them.
    problem = Problem(M=Stiefel(8, 1), h=L1())
    start = np.eye(8)[:, :1] + 0.2 * np.random.default_rng(0).standard_normal((8, 1))
    result = solve(problem, RSG(rule="geometric", ratio=0.9), start, stop=Iterations(250), record=Recorder(every=250))
    assert result.objective == pytest.approx(1.0, abs=1e-9)
