"""One step of the Riemannian and of the projected subgradient method, and their lengths."""

import numpy as np
import pytest

from orthoprox import Problem, Stiefel, named
from orthoprox.solvers import SubgradientState
from orthoprox.solvers.rsg import RSG, RSGState
from steps.cases import PROBLEMS, N, R, random_triple
from steps.checks import check_products, factor, smooth_gradient, tangent

T, ETA0, BY = 6, 0.3, ("polar", "qr")
RULES = {
    "sqrt": ({"rule": "sqrt"}, ETA0 / np.sqrt(7)),
    "constant": ({"rule": "constant", "eta0": 1.0}, ETA0),
    "for a budget": ({"rule": "constant", "budget": 24}, ETA0 / 5),
    "geometric": ({"rule": "geometric", "ratio": 0.9}, ETA0 * 0.9**6),
}


def subgradient(problem, X):
    return smooth_gradient(problem, X) + problem.A.adjoint(problem.h.subgradient(problem.A(X)))


METHODS = {(rule, by): (RSG(**settings, retraction=by), eta) for rule, (settings, eta) in RULES.items() for by in BY}
METHODS["projected", "polar"] = (named("subgradient", q=0.7), ETA0 / 7**0.7)


@pytest.mark.parametrize("method", METHODS, ids="-".join)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_step_goes_along_a_subgradient_and_keeps_the_best(name, method):
    problem, (solver, eta) = PROBLEMS[name], METHODS[method]
    for seed in range(3):  # in one of the cases at least the new point is better, in one the old one
        _, X, X_best, _, _ = random_triple(problem, seed)
        lowest = float(problem.objective(X_best))
        parts = {"t": T, "now": problem.at(X), "best": problem.at(X_best), "lowest": lowest, "eta0": ETA0}
        D = subgradient(problem, X)
        if method[0] == "projected":
            new = solver.step(problem, SubgradientState(**parts))
        else:
            D = tangent(X, D)
            new = solver.step(problem, RSGState(**parts, moved=9.0))
            assert new.moved == pytest.approx(eta * np.linalg.norm(D))
        expected = factor(X - eta * D, method[1])
        assert np.allclose(new.now.X, expected, atol=1e-11)
        assert (new.t, new.eta0) == (T + 1, ETA0)
        value = float(problem.objective(expected))
        assert np.allclose(solver.point(new), expected if value < lowest else X_best, atol=1e-11)
        assert new.lowest == pytest.approx(min(value, lowest))
        for point in (new.now, new.best):
            check_products(problem, point)
        certificate = solver.certificate(problem, new)
        assert certificate.point is new.best
        assert np.allclose(certificate.y, problem.A(certificate.point.X))
        assert problem.h.subgradient_distance(certificate.y, certificate.z) < 1e-12


@pytest.mark.parametrize("name", ["rsg", "subgradient"])
def test_the_first_move_is_a_tenth_of_X(name):
    problem = PROBLEMS["groups of a matrix"]
    X, solver = problem.M.random(0), named(name)
    state = solver.init(problem, X)
    D = subgradient(problem, X) if name == "subgradient" else tangent(X, subgradient(problem, X))
    assert state.eta0 * np.linalg.norm(D) == pytest.approx(0.1 * np.sqrt(R))
    assert (state.t, state.now is state.best, state.lowest) == (0, True, problem.objective(X))
    assert named(name, eta0=2.0).init(problem, X).eta0 == 2.0
    assert solver.init(Problem(M=Stiefel(N, R)), X).eta0 == 1.0  # nothing to move along
    if name == "rsg":
        assert state.moved == 0.0
        for rule in (solver, RSG(rule="geometric")):
            assert rule.step(problem, state).moved == pytest.approx(0.1 * np.sqrt(R))
