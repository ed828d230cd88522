"""The theorems on runs: theta decreases as Lemmas 4.7 and 4.12 say, and Crit decays."""

import numpy as np
import pytest

from orthoprox import Iterations, Problem, named, solve
from orthoprox.maps import Matrix, Selection
from orthoprox.models import compressed_modes
from orthoprox.solvers._augmented import lagrangian
from orthoprox.terms import L1, ExplainedVariance, LeastSquares, LogSum, Nuclear
from orthoprox.theory import Constants, Lyapunov
from steps.cases import PROBLEMS as STEPS
from steps.cases import B, C, M, N, Y

PROBLEMS = STEPS | {
    "heavy weight": Problem.of(ExplainedVariance(B, 1 / 14) + 3.0 * L1(), over=M),
    "compressed modes": compressed_modes(20, n_components=4, weight=0.5),
    "log sum of rows": Problem.of(LeastSquares(B, Y, 0.1) + 0.2 * LogSum(0.5) @ Selection(range(5), N), over=M),
    "nuclear": Problem.of(LeastSquares(B, Y, 0.05) + 0.5 * Nuclear() @ Matrix(C), over=M),
}
SOLVERS = {
    "ep": {"name": "oadmm-ep"},
    "ep, strong extrapolation": {"name": "oadmm-ep", "theta": 2.5, "xi": 0.3, "sigma": 1.5},
    "rr": {"name": "oadmm-rr", "sigma": 1.9, "xi": 1.0},
    "rr, bb": {"name": "oadmm-rr", "length": "bb-long", "rho": 0.5, "sigma": 1.0, "retraction": "qr"},
}


def run(problem, settings, iterations=35):
    """What is watched on a run, and its states."""
    states, watch = [], Lyapunov()
    observers = [lambda now: states.append(now.state), watch]
    solve(problem, named(**settings), stop=Iterations(iterations), observers=observers)
    return watch.history, states


@pytest.mark.parametrize("settings", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_theta_decreases_at_every_step_by_as_much_as_is_proved(problem, settings):
    history, _ = run(problem, settings)
    rounding = 1e-12 * np.max(np.abs(history.theta))
    assert (history.decrease[1:] > 0).all()
    assert (history.decrease[1:] >= history.required[1:] - rounding).all()
    assert (history.required > 0).all()
    assert history.trials.max() <= (20 if "length" in settings else 8)  # remark 4.11


@pytest.mark.parametrize("sigma", [1.0, 1.5, 1.9])
@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr"])
def test_with_a_constant_penalty_nothing_hides_behind_c(name, sigma):
    # At xi = 0 the term c/beta is constant: the rest of theta must fall by what the lemmas require.
    for problem in [PROBLEMS[name] for name in ("heavy weight", "compressed modes", "mcp of differences", "nuclear")]:
        history, _ = run(problem, {"name": name, "sigma": sigma, "xi": 0.0, "strict_theory": False})
        rest = history.lagrangian + history.momentum + history.relaxation
        assert (history.c_over_beta == history.c_over_beta[0]).all() and (history.B == 0).all()
        assert (-np.diff(rest) >= history.required[1:] - 1e-13 * np.abs(rest[1:])).all()


@pytest.mark.parametrize("settings", SOLVERS.values(), ids=SOLVERS)
@pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_x_step_alone_decreases_the_lagrangian(problem, settings):
    # Lemma 4.6: without the large term c/beta to hide behind, L at the new X is below L at the old one plus P.
    solver = named(**settings).for_problem(problem)
    state = solver.init(problem, problem.M.random(3))
    for _ in range(40):
        new = solver.step(problem, state)
        beta = solver.beta0 * (1 + solver.xi * state.t**solver.p)
        old_L, new_L = (lagrangian(problem, x.now, state.y, state.z, beta, solver.tau) for x in (state, new))
        allowed = 0.0
        if solver.name == "oadmm-ep":
            ell = beta * problem.A.norm**2 + new.L
            moved, before = (np.sum((a.X - b.X) ** 2) for a, b in ((new.now, state.now), (state.now, state.before)))
            a, k = solver.alpha, solver.theta - 1
            allowed = ell / 2 * ((k * a + 2 * a**2) * before - k * (1 - a) * moved)
        assert new_L - old_L <= allowed + 1e-12 * abs(old_L)
        state = new


@pytest.mark.parametrize("problem", [PROBLEMS[name] for name in ("l1 minus largest-k", "mcp of differences")])
@pytest.mark.parametrize("name", ["oadmm-ep", "oadmm-rr"])
def test_the_mean_of_crit_falls_at_least_like_the_theorem(problem, name):
    history, _ = run(problem, {"name": name}, iterations=600)
    mean, T = history.mean_criticality, history.iteration
    assert mean[-1] == pytest.approx(np.mean(history.criticality))
    # T^(-1/3) up to a constant is the mean of 1/(1 + xi t^p), which has the paper's penalties from the start on.
    rate = np.cumsum(1 / (1 + 0.5 * T ** (1 / 3))) / T
    ratio = (mean / rate)[T >= 60]
    assert ratio[-1] <= 1.05 * ratio[0]  # bounded: no growth over a decade


def test_parts_add_up_and_agree_with_their_definitions():
    problem, settings = PROBLEMS["l1 minus largest-k"], {"name": "oadmm-ep", "beta0": 9.0, "theta": 2.0, "sigma": 1.3}
    solver, (h, states) = named(**settings), run(problem, settings, 5)
    constants = Constants.of(solver, problem)
    assert h.iteration.tolist() == [1, 2, 3, 4, 5]
    old, new = states[3], states[4]
    beta = [9.0 * (1 + 0.5 * t ** (1 / 3)) for t in range(6)]
    i = 3  # the row of t = 4
    norm = np.linalg.norm
    assert h.B[i] == pytest.approx(np.sqrt((1 / beta[3] - 1 / beta[4]) / beta[3]))
    assert h.X[i] == pytest.approx(norm(new.now.X - old.now.X))
    assert h.Y[i] == pytest.approx(norm(new.y - old.y))
    assert h.Z[i] == pytest.approx(norm(new.now.AX - new.y))
    assert h.e[i] == pytest.approx(h.B[i] + h.X[i] + h.Y[i] + h.Z[i])
    ell = beta[4] + problem.f.lipschitz
    assert h.momentum[i] == pytest.approx(solver.alpha * 3.0 * ell / 2 * h.X[i] ** 2)
    assert h.relaxation[i] == pytest.approx(0.3 / 0.7 * 2 / beta[3] * norm(new.z - old.z) ** 2)
    mu = solver.tau / beta[4]
    v = problem.h.prox(new.y, mu)
    gap = new.now.AX - new.y
    L = problem.f.value(new.now.X) - problem.g.value(new.now.X) + problem.h.value(v) + norm(v - new.y) ** 2 / (2 * mu)
    L += np.sum(new.z * gap) + beta[4] / 2 * norm(gap) ** 2
    assert h.lagrangian[i] == pytest.approx(L)
    assert h.theta[i] == pytest.approx(L + constants.c / beta[4] + h.momentum[i] + h.relaxation[i])
    assert h.c_over_beta[i] == pytest.approx(constants.c / beta[4])
    assert h.decrease[i] == pytest.approx(h.theta[i - 1] - h.theta[i])


def test_the_riemannian_part_of_e_is_the_last_tangent_gradient():
    problem = PROBLEMS["entries"]
    history, states = run(problem, {"name": "oadmm-rr", "beta0": 30.0}, 3)
    old = states[1]
    beta = [30.0 * (1 + 0.5 * t ** (1 / 3)) for t in range(3)]
    X = old.now.X
    G = problem.f.gradient(X) - problem.g.subgradient(X)
    G = G + problem.A.adjoint(old.z + beta[1] * (problem.A(X) - old.y))
    assert history.X[1] == pytest.approx(np.linalg.norm(problem.M.tangent(X, G)) / beta[2])
    assert history.momentum.tolist() == [0, 0, 0]


def test_constants_of_the_analysis():
    problem = PROBLEMS["plain l1, centred"]
    C_h2 = 0.7**2 * 27
    k = Constants.of(named("oadmm-ep", beta0=1.0, sigma=1.0, theta=3.0, alpha=0.1, xi=0.5), problem)
    assert k.epsilon_z == 1 / 4
    assert k.epsilon_x == pytest.approx((2 * 0.9 - 1.5 * 0.1 * 4) / 2)
    assert k.c == pytest.approx(k.epsilon_beta + 4 * C_h2 + 2 * 36 * C_h2)
    for sigma in (1.0, 1.3, 1.9):
        k = Constants.of(named("oadmm-rr", beta0=1.0, sigma=sigma, rho=0.2, delta=0.1), problem)
        assert k.epsilon_y == pytest.approx((2 - sigma) / 8)
        assert k.c == pytest.approx(k.epsilon_beta + (4 / (2 - sigma) + 72 * sigma / (2 - sigma) ** 2) * C_h2)
        assert k.epsilon_x == pytest.approx(0.1 * 0.4**2)
    bb = named("oadmm-rr", beta0=1.0, length="bb-long", b_range=(0.25, 9.0))
    assert Constants.of(bb, problem).epsilon_x == pytest.approx(1e-3 * 0.25)


def test_other_methods_are_refused():
    with pytest.raises(Exception, match="Lyapunov watches runs of oadmm-ep and oadmm-rr; given subgradient"):
        solve(PROBLEMS["plain l1, centred"], "subgradient", stop=Iterations(3), observers=[Lyapunov()])


def test_a_resumed_run_has_no_row_for_the_step_it_did_not_see():
    problem = PROBLEMS["plain l1, centred"]
    first = solve(problem, named("oadmm-ep", beta0=2.0), stop=Iterations(4))
    watch = Lyapunov()
    solve(problem, named("oadmm-ep", beta0=2.0), stop=Iterations(7), observers=[watch], resume=first.state)
    assert watch.history.iteration.tolist() == [5, 6, 7]
    assert np.isnan(watch.history.decrease[0])
