"""The Lyapunov function of stochastic OADMM falls in expectation, by what docs/streams.md proves."""

import math

import numpy as np
import pytest

from orthoprox import Problem, named, terms
from orthoprox._linalg import norm
from orthoprox.solvers import StochasticOADMM
from orthoprox.solvers._augmented import lagrangian
from orthoprox.terms import LargestK, Mean
from orthoprox.theory.lyapunov import Constants

B = np.random.default_rng(0).standard_normal((40, 7)) @ np.diag([4, 3, 2, 1, 1, 1, 1])
PROBLEMS = {
    "l1 minus largest-k": terms.Mean.of_rows(B, 10, 1 / 40) - 0.3 * LargestK(5) + 0.3 * terms.L1(),
    "mcp": terms.Mean.of_rows(B, 10, 1 / 40) + 0.1 * terms.MCP(0.6, 3.0),
}


def potential(problem, solver, t, now, c):
    """Theta^t without the part of the average."""
    beta, before = (float(solver._penalty.at(i)) for i in (t, t - 1))
    Z = norm(now.now.AX - now.y)
    relaxation = 2 * before * (solver.sigma - 1) / (2 - solver.sigma) * (solver.sigma * Z) ** 2
    return float(lagrangian(problem, now.now, now.y, now.z, beta, solver.tau)) + c / beta + relaxation


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("growing", [True, False])
def test_the_potential_falls_in_expectation(name, growing):
    """Growing, c/beta falls too and could hide a mistake; with a constant and high penalty it cannot.

    The weights of new gradients are small then, so that there is no noise to hide it either.
    """
    problem = Problem.of(PROBLEMS[name], over=(7, 2))
    f, N = problem.f, len(problem.f.parts)
    assert isinstance(f, Mean)
    solver = StochasticOADMM(theta=3.0).for_problem(problem)
    if not growing:
        least = 8 * f.mean_square_lipschitz / (solver.theta - 1)
        solver = StochasticOADMM(theta=3.0, xi=0.0, beta0=10 * least, c=least, strict_theory=False)
        assert solver.weight_of_new(problem, 1) < 0.01
    twin = named("oadmm-ep", beta0=solver.beta0, xi=solver.xi, theta=3.0, alpha=0.0, strict_theory=growing)
    k, gamma = Constants.of(twin, problem), solver.theta - 1
    state, least = solver.init(problem, problem.M.random(1)), math.inf
    for t in range(120):
        new = solver.step(problem, state)
        if t >= 1:
            ell, a = solver._curvature(problem, t), solver.weight_of_new(problem, t + 1)
            kappa = 4 / (gamma * solver._curvature(problem, t - 1) * solver.weight_of_new(problem, t))
            error = float(norm(new.average - f.gradient(state.now.X))) ** 2
            nexts = [solver.advance(problem, new, f.part(i)).average for i in range(N)]
            whole = f.gradient(new.now.X)
            expected = np.mean([float(norm(d - whole)) ** 2 for d in nexts])
            noise = np.mean([float(norm(f.part(i).gradient(new.now.X) - whole)) ** 2 for i in range(N)])
            fall = potential(problem, solver, t, state, k.c) + kappa * error
            fall -= potential(problem, solver, t + 1, new, k.c) + 4 / (gamma * ell * a) * expected
            beta = float(solver._penalty.at(t))
            after = float(solver._penalty.at(t + 1))
            due = beta * k.epsilon_y * float(norm(new.y - state.y)) ** 2
            due += beta * k.epsilon_z * float(norm(new.now.AX - new.y)) ** 2
            due += k.epsilon_beta * (1 / beta - 1 / after)
            due += gamma * ell / 8 * float(norm(new.now.X - state.now.X)) ** 2 + error / (gamma * ell)
            least = min(least, fall + 8 * a * noise / (gamma * ell) - due)
        state = new
    assert least >= -1e-10
    assert float(norm(state.now.AX - state.y)) < 0.1  # it falls to a bound, and not for ever
