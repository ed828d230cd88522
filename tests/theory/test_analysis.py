"""Sections 4 and 5 of the paper as docs/theory.md judges them: the lemmas on any state, the counterexamples on runs."""

import numpy as np
import pytest

from orthoprox import Iterations, Problem, Stiefel, named, solve
from orthoprox.maps import Matrix, Selection
from orthoprox.solvers._schedules import growing_penalty
from orthoprox.terms import L1, MCP, SCAD, Linear, LogSum, NegativePart, Quadratic, envelope, envelope_gradient
from orthoprox.theory import Constants, Lyapunov

norm = np.linalg.norm
rng = np.random.default_rng(11)
S = rng.standard_normal((8, 8))
PLAIN = Problem.of(Quadratic(S + S.T) + 0.5 * L1() @ Matrix(rng.standard_normal((6, 8))), over=Stiefel(8, 2))
WEAK = Problem.of(Quadratic(S + S.T) + 0.5 * MCP(0.4, 2.5), over=Stiefel(8, 2))

TERMS = {
    "l1": lambda w, lam, shape: L1(w),
    "negative part": lambda w, lam, shape: NegativePart(w),
    "mcp": lambda w, lam, shape: MCP(lam, 0.5 + shape, w),
    "scad": lambda w, lam, shape: SCAD(lam, 2.1 + shape, w),
    "log sum": lambda w, lam, shape: LogSum(0.1 + shape, w),
}


def any_step(term, draw):
    """A penalty and two consecutive iterates that satisfy S3 and S4 and are otherwise anything; A(X) stands for X."""
    size = lambda low, high: 10 ** draw.uniform(low, high)
    lam, sigma = size(-1, 1), 1 + draw.choice([0, 0.1, 0.5, 0.9, 0.99, draw.random() * 0.999])
    h = term(size(-1, 1), lam, draw.random() * 3)
    tau = 4 / (2 - sigma) * draw.choice([1, 1, 1.5, 10])
    p, xi, t = draw.choice([0.1, 1 / 3, 0.5, 0.9]), draw.choice([0.01, 0.5, 1]), draw.choice([1, 1, 2, 10, 1000])
    beta0 = 2 * tau * h.weak_convexity * draw.choice([1, 1, 1.3, 10]) or size(-2, 2)
    beta = growing_penalty(beta0, xi, p, t + np.arange(-1.0, 2.0))
    shape = (int(draw.choice([1, 1, 3])), 1)
    C = h.lipschitz_constant(shape)
    y = draw.standard_normal(shape) * size(-3, 1) * lam
    y_new = y + draw.standard_normal(shape) * size(-4, 1) * lam
    last = draw.standard_normal(shape) * C * size(-3, 0.5)  # z^t - z^(t-1)
    # Lemma 4.1(a) gives z, and S4 gives A(X)
    z = envelope_gradient(h, y, tau / beta[0]) + (1 - 1 / sigma) * last
    AX = y + last / (sigma * beta[0])
    AX_new = y_new + (envelope_gradient(h, y_new, tau / beta[1]) - z) / beta[1]
    z_new = z + sigma * beta[1] * (AX_new - y_new)
    return h, C, (sigma, tau, p, beta0), beta, last, (AX, y, z), (AX_new, y_new, z_new)


@pytest.mark.parametrize("term", TERMS.values(), ids=TERMS)
def test_any_step_in_y_and_z_obeys_lemmas_4_1_and_4_5_as_printed(term):
    draw = np.random.default_rng(5)
    for _ in range(400):
        h, C, (sigma, tau, p, beta0), beta, last, (AX, y, z), (AX_new, y_new, z_new) = any_step(term, draw)
        slow = (sigma - 1) / (2 - sigma)
        sigma_2 = 12 * sigma**2 / (p * (2 - sigma) ** 2) * C**2
        u2, v2, Y2, Z2 = (norm(v) ** 2 for v in (last, z_new - z, y_new - y, AX_new - y_new))
        fall = 1 / beta[1] - 1 / beta[2]
        gradient = 2 * sigma**2 / ((2 - sigma) * tau) ** 2 * beta[1] ** 2 * Y2 + sigma_2 * beta0 * fall
        assert v2 <= slow * (u2 - v2) + gradient * (1 + 1e-9) + 1e-12 * (u2 + v2)  # Lemma 4.1(b)

        def L(AX, y, z, beta, h=h, tau=tau):  # f and g cancel
            return np.sum((AX - y) * (z + beta / 2 * (AX - y))) + envelope(h, y, tau / beta)

        epsilon_beta = 0.01 * tau * C**2
        c = epsilon_beta + tau * C**2 + 2 / sigma * sigma_2
        relaxation = 2 * slow * (v2 / beta[1] - u2 / beta[0])
        left = beta[1] * (Z2 / 4 + (2 - sigma) / 8 * Y2) + epsilon_beta * fall - c * fall + relaxation
        first, x_step, final = L(AX, y, z, beta[1]), L(AX_new, y, z, beta[1]), L(AX_new, y_new, z_new, beta[2])
        rounding = 1e-12 * (abs(first) + abs(x_step) + abs(final) + u2 / beta[0] + v2 / beta[1])
        assert left + final - first <= x_step - first + rounding  # Lemma 4.5


@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr"])
@pytest.mark.parametrize("sigma", [1.0, 1.4, 1.9])
def test_theta_is_bounded_below(sigma, name):  # Lemma 4.4
    for problem in (PLAIN, WEAK):
        states, watch = [], Lyapunov()
        solver = named(name, sigma=sigma).for_problem(problem)
        solve(problem, solver, stop=Iterations(60), observers=[lambda now, s=states: s.append(now.state), watch])
        C, A, root = problem.h.lipschitz_constant(problem.shape), problem.A.norm, np.sqrt(problem.M.r)
        z_bar = sigma * C / (2 - sigma)
        y_bar = A * root + 2 * z_bar / solver.beta0
        assert all(norm(s.z) <= z_bar * (1 + 1e-12) and norm(s.y) <= y_bar for s in states)
        below = solver.tau / solver.beta0 * C**2 + C * (A * root + y_bar) + z_bar**2 / (2 * solver.beta0)
        F = np.array([problem.objective(s.now.X) for s in states[1:]])
        assert (watch.history.theta >= F - below).all()


def test_the_line_search_constant_needs_a_minimum_with_one():  # Lemma 4.10(b)
    # With little curvature the first trial is accepted far from the limit, and gamma-bar is above 1.
    problem = Problem.of(Linear(rng.standard_normal((5, 2))) + L1() @ Matrix(0.01 * np.eye(5)), over=Stiefel(5, 2))
    solver = named("oadmm-rr", beta0=1e3, rho=0.5, delta=0.5)
    state = solver.init(problem, problem.M.random(0))
    new = solver.step(problem, state)
    G = problem.f.gradient(state.now.X)  # z = 0 and A(X) = y at the start
    change = problem.f.value(new.now.X) - problem.f.value(state.now.X) + 1e3 / 2 * norm(new.now.AX - state.y) ** 2
    z_bar = 1.1 * problem.h.lipschitz_constant(problem.shape) / 0.9
    g_bar = norm(G) + problem.A.norm * 4 * z_bar
    gamma_bar = 2 * (1 - 0.5) / (problem.A.norm**2 + g_bar / 1e3)
    promise = 0.5 / 1e3 * norm(problem.M.tangent(state.now.X, G)) ** 2
    assert new.trials == 1 and gamma_bar * solver.gamma > 1
    assert change > -promise * gamma_bar * solver.gamma  # as printed: wrong
    assert change <= -promise * min(1, gamma_bar * solver.gamma)  # repaired


def test_no_run_has_the_finite_length_of_theorem_5_6():
    watch = Lyapunov()
    solver = named("oadmm-ep", sigma=1.0, alpha=0.0, beta0=20.0)
    solve(PLAIN, solver, stop=Iterations(200), observers=[watch])
    T = watch.history.iteration
    # e >= B >= constant * t^(-5/6), whose sum grows like t^(1/6) whatever the problem
    assert (watch.history.e >= np.sqrt(0.5 / 3 / 1.5**3) / 20 * T ** (-5 / 6)).all()
    beta = growing_penalty(20.0, 0.5, 1 / 3, np.arange(0.0, 64**3 * 2))
    B = np.sqrt((1 / beta[:-1] - 1 / beta[1:]) / beta[:-1])
    sums = np.diff(np.cumsum(B)[[2 * 64, 2 * 64**2, 2 * 64**3 - 2]])
    assert sums[1] > 1.9 * sums[0]  # 64 times as many terms add twice as much


@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr"])
def test_x_converges_no_faster_than_the_smoothing(name):  # against the rates of Theorem 5.9
    # On the circle F has a kink at its minimiser (1, 0), and the multiplier there is 1/2.
    problem = Problem.of(Linear(np.array([[-1.0], [-0.5]])) + L1() @ Selection([1], 2), over=Stiefel(2, 1))
    solver = named(name, sigma=1.0, beta0=30.0, **({"alpha": 0.0} if name == "oadmm-ep" else {}))
    state = solver.init(problem, np.array([[0.8], [0.6]]))
    for t in range(400):
        state = solver.step(problem, state)
        distance, mu = norm(state.now.X - [[1.0], [0.0]]), solver.tau / solver._penalty.at(t)
        assert distance > 0.4 * mu
    assert distance < 0.5 * mu


def parts_of_the_subgradient(problem, solver, state):
    """The four parts of the subgradient of Theta at a state (Lemma D.1), and the gradient in X."""
    beta, X, gap = solver._penalty.at(state.t), state.now.X, state.now.AX - state.y
    G = problem.f.gradient(X) + problem.A.adjoint(state.z + beta * gap)
    s = envelope_gradient(problem.h, state.y, solver.tau / beta)
    c = Constants.of(solver, problem).c
    slope = norm(gap) ** 2 / 2 + solver.tau / 2 * norm(s) ** 2 / beta**2 - c / beta**2
    return norm(problem.M.tangent(X, G)), norm(s - state.z - beta * gap), norm(gap), abs(slope), norm(G)


@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr"])
def test_the_subgradient_of_theta_is_bounded_by_e(name):  # Lemma 5.4, with the constants of the proof on the page
    problem = PLAIN
    solver = named(name, sigma=1.0, beta0=30.0, **({"alpha": 0.0} if name == "oadmm-ep" else {}))
    states, watch = [], Lyapunov()
    solve(problem, solver, stop=Iterations(150), observers=[lambda now: states.append(now.state), watch])
    h, A, L, beta0 = watch.history, problem.A.norm, problem.f.lipschitz, solver.beta0
    parts = np.array([parts_of_the_subgradient(problem, solver, s) for s in states[1:]])
    if name == "oadmm-ep":
        of_x = (solver.theta * (A**2 + L / beta0) + L / beta0 + A**2) * h.X + A * (h.Y + h.Z)
    else:
        moved = 2 * (1 + solver.xi)  # k' max(1, 2 rho) b-bar (1 + xi)
        of_x = (1 + 2 * moved * (L / beta0 + A**2 + parts[:, 4].max() / beta0)) * h.X + 2 * A * (h.Y + h.Z)
    C, c = problem.h.lipschitz_constant(problem.shape), Constants.of(solver, problem).c
    of_y, of_z = h.Z + C * h.B, h.Z / beta0
    of_beta = h.Z * h.Z.max() / (2 * beta0) + (solver.tau * C**2 / 2 + c) * 2 / (solver.xi * beta0) ** 2 * h.B
    beta = growing_penalty(beta0, solver.xi, solver.p, h.iteration)
    for part, bound in zip(parts.T[:4], (of_x, of_y, of_z, of_beta), strict=True):
        assert (part <= beta * bound * (1 + 1e-9) + 1e-12).all()
