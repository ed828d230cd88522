"""Runs that must walk together: the same problem turned, or solved by a method it reduces to."""

import itertools

import numpy as np
import pytest

from orthoprox import Problem, Stiefel, iterate, named
from orthoprox.terms import ExplainedVariance, GroupL2

N, R = 12, 3
M = Stiefel(N, R)
B = np.random.default_rng(5).standard_normal((20, N))
X0 = M.random(8)
METHODS = {
    "ep": lambda beta0: named("oadmm-ep", beta0=beta0, theta=1.5),
    "rr": lambda beta0: named("oadmm-rr", beta0=beta0),
    "rr, bb": lambda beta0: named("oadmm-rr", beta0=beta0, length="bb-long"),
}


def walk(problem, solver, steps):
    return itertools.islice(iterate(problem, solver, solver.init(problem, X0)), steps + 1)


@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_rotation_of_the_columns_turns_the_whole_walk(method):
    # Rows' norms, the explained variance and the projection do not see a rotation from the right.
    problem = Problem.of(ExplainedVariance(B, 0.2) + 0.4 * GroupL2(), over=M)
    Q, _ = np.linalg.qr(np.random.default_rng(1).standard_normal((R, R)))
    solver = method(5.0)
    states = [solver.init(problem, X) for X in (X0, X0 @ Q)]
    for _ in range(12):
        states = [solver.step(problem, state) for state in states]
    assert np.allclose(states[0].now.X @ Q, states[1].now.X, atol=1e-8)
    assert not np.allclose(states[0].now.X, X0, atol=1e-2)


def test_without_h_the_projection_variant_is_a_projected_proximal_gradient_method():
    # Then y = X and z = 0: what is left of the augmented Lagrangian is beta/2 |X - X^t|^2.
    problem = Problem.of(ExplainedVariance(B, 0.2), over=M)
    solver = named("oadmm-ep", beta0=2.0, theta=1.5)
    X, before = X0, X0
    for t, state in enumerate(walk(problem, solver, 60)):
        assert np.allclose(state.now.X, X, atol=1e-11)
        beta = 2.0 * (1 + 0.5 * t ** (1 / 3))
        X_c = X + solver.alpha * (X - before)
        G = problem.f.gradient(X_c) + beta * (X_c - X)
        X, before = M.project(X_c - G / (1.5 * (beta + problem.f.lipschitz))), X
    assert np.allclose(state.z, 0)


def test_without_h_the_retraction_variant_is_riemannian_gradient_descent_with_armijo():
    problem = Problem.of(ExplainedVariance(B, 0.2), over=M)
    solver = named("oadmm-rr", beta0=2.0, rho=0.5)
    X = X0
    for t, state in enumerate(walk(problem, solver, 30)):
        assert np.allclose(state.now.X, X, atol=1e-9)
        beta = 2.0 * (1 + 0.5 * t ** (1 / 3))
        D, eta = -M.tangent(X, problem.f.gradient(X)), 1 / beta

        def change(eta, X=X, D=D, beta=beta):
            new = M.retract(X, eta * D)
            return problem.f.value(new) - problem.f.value(X) + beta / 2 * np.sum((new - X) ** 2)

        while change(eta) > -1e-3 * eta * np.sum(D * D):
            eta /= 2
        X = M.retract(X, eta * D)
