"""The method of multipliers with Newton steps in X, alone."""

import numpy as np
import pytest

from orthoprox import Critical, Iterations, Problem, Stiefel, solve, terms
from orthoprox._fields import replace
from orthoprox.maps import Entries, Matrix
from orthoprox.solvers.oadmm.iterate import measure
from orthoprox.solvers.oadmm.multipliers import AugmentedLagrangian, Multipliers, depends_on_span
from orthoprox.solvers.oadmm.tuning import Tuning

N, R, SIGMA = 9, 3, 4.0
M = Stiefel(N, R)
_rng = np.random.default_rng(5)
_C = _rng.standard_normal((2 * N, N))
f = terms.Quadratic(Matrix(_C.T @ _C / N))
B = Matrix(_rng.standard_normal((14, N)))
quartic = terms.Smooth(lambda X: np.sum(X**4), lambda X: 4 * X**3, hessian=lambda X, V: 12 * X**2 * V)
PROBLEMS = {
    "l1": Problem.of(f + 0.3 * terms.L1(), over=M),
    "l1 of a map": Problem.of(f + 0.3 * terms.L1() @ B, over=M),
    "no f": Problem.of(0.3 * terms.L1() @ B, over=M),
    "huber": Problem.of(f + 0.5 * terms.Huber(0.1), over=M),
    "mcp": Problem.of(f + 0.5 * terms.MCP(0.5, 4.0), over=M),
    "log sum": Problem.of(f + 0.2 * terms.LogSum(0.5), over=M),
    "with g": Problem.of(f - 0.2 * terms.LargestK(6) + 0.2 * terms.L1(), over=M),
    "a large g": Problem.of(f - 20.0 * terms.LargestK(20) + 0.2 * terms.L1(), over=M),
    "rows": Problem.of(f + 0.4 * terms.GroupL2("rows"), over=M),
    "rows of a map": Problem.of(0.3 * terms.GroupL2("rows") @ B, over=M),
    "columns of a map": Problem.of(f + 0.8 * terms.GroupL2("columns") @ B, over=M),
    "shifted": Problem.of(f + terms.Shifted(terms.L1(0.3), _rng.standard_normal((N, R))), over=M),
    "two terms": Problem.of(f + 0.3 * terms.L1() @ B + 0.2 * terms.GroupL2(), over=M),
    "own function": Problem.of(f - 2.0 * quartic + 0.3 * terms.L1() @ B, over=M),
    "least squares": Problem.of(terms.LeastSquares(B, _rng.standard_normal((14, R))) + 0.3 * terms.L1(), over=M),
}
T = Tuning(sigma=3.0, sigma_range=80.0, exact=0.04, growth=1.6, caution=1.2, shrink=0.5)  # not the defaults
METHOD = Multipliers(tuning=T)


def a_state(problem, seed, sigma=SIGMA, **fields):
    X = problem.M.random(100 + seed)
    z = 0.1 * np.random.default_rng(200 + seed).standard_normal(problem.shape)
    at = measure(problem, problem.at(X), problem.A(X), z)
    return replace(METHOD.init(problem, X), at=at, sigma=sigma, sigma0=sigma, tolerance=1e-12, **fields)


def merit(problem, X, xi, z, sigma=SIGMA):
    """f(X) - <xi, X> + h(y) + sigma/2 |A(X) + z/sigma - y|^2 with the best y, from its definition."""
    v = problem.A(X) + z / sigma
    y = problem.h.prox(v, 1 / sigma)
    return float(problem.f.value(X) - np.sum(xi * X) + problem.h.value(y) + sigma / 2 * np.sum((v - y) ** 2))


@pytest.fixture(params=[(name, seed) for name in PROBLEMS for seed in range(2)], ids=lambda p: f"{p[0]}-{p[1]}")
def case(request):
    name, seed = request.param
    return PROBLEMS[name], a_state(PROBLEMS[name], seed)


def test_a_step_lowers_the_augmented_lagrangian_and_sets_y_and_z(case):
    problem, old = case
    now, z = old.at.point, old.at.z
    new, y, z_new, after = METHOD.multiplier_step(problem, old, now, z)
    xi, X = problem.g.subgradient(now.X), new.X
    assert merit(problem, X, xi, z) < merit(problem, now.X, xi, z) - 1e-6
    assert np.allclose(y, problem.h.prox(problem.A(X) + z / SIGMA, 1 / SIGMA), atol=1e-14)
    assert np.allclose(z_new, z + SIGMA * (problem.A(X) - y), atol=1e-13)
    assert float(problem.h.subgradient_distance(y, z_new)) < 1e-12
    assert float(problem.M.infeasibility(X)) < 1e-13
    assert after.gap == pytest.approx(float(np.linalg.norm(problem.A(X) - y)), abs=1e-15)
    assert after.products > old.products


def test_gradient_and_hessian_are_those_of_the_augmented_lagrangian(case):
    problem, old = case
    X, z = old.at.point.X, old.at.z
    xi = problem.g.subgradient(X)
    lagrangian = AugmentedLagrangian(problem, old.at.point, z, SIGMA, 0.0, 0.0)
    model = lagrangian.model(old.at.point)
    D = M.tangent(X, np.random.default_rng(300).standard_normal((N, R)))
    if depends_on_span(problem):  # no step turns X there
        assert np.allclose(X.T @ model.gradient, 0.0, atol=1e-13)
        assert np.allclose(X.T @ model.hessian(D), 0.0, atol=1e-12)
        D = D - X @ (X.T @ D)
    D = D / np.linalg.norm(D)
    here = merit(problem, X, xi, z)
    ahead, behind = (merit(problem, M.retract(X, t * D), xi, z) for t in (1e-6, -1e-6))
    assert float(np.sum(model.gradient * D)) == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-7)
    # The polar retraction is of second order, so the second derivative along it is that of the Hessian.
    ahead, behind = (merit(problem, M.retract(X, t * D), xi, z) for t in (1e-4, -1e-4))
    bend = (ahead - 2 * here + behind) / 1e-8
    assert float(np.sum(D * model.hessian(D))) == pytest.approx(bend, rel=2e-2, abs=2e-2)
    trial, change = lagrangian.trial(old.at.point, 1e-3 * D)
    assert change == pytest.approx(merit(problem, trial.X, xi, z) - here, abs=1e-12)


def test_there_is_nothing_to_do_where_the_gradient_is_small_beside_the_primal_residual(case):
    problem, old = case
    at = old.at.point
    pull = AugmentedLagrangian(problem, at, old.at.z, SIGMA, 0.0, 0.0).model(at).gradient
    y = problem.h.prox(at.AX + old.at.z / SIGMA, 1 / SIGMA)
    size, gap = np.linalg.norm(pull), np.linalg.norm(at.AX - y)
    share = size / (SIGMA * gap * np.linalg.norm(at.AX) / np.sqrt(R))
    for inexact, tolerance, done in ((1.01 * share, 0.0, True), (0.99 * share, 0.0, False), (0.0, 1.01 * size, True)):
        model = AugmentedLagrangian(problem, at, old.at.z, SIGMA, inexact, tolerance).model(at)
        assert (model is None) == done


def test_the_penalty_grows_where_the_residual_does_not_fall_and_is_bounded():
    problem = PROBLEMS["l1"]
    state, least = a_state(problem, 0, sigma=0.05), np.inf
    for t in range(60):
        _, _, _, new = METHOD.multiplier_step(problem, state, state.at.point, state.at.z)
        assert state.sigma <= new.sigma <= T.sigma_range * 0.05 * (1 + 1e-12)
        assert new.sigma == state.sigma or new.gap > T.shrink * state.gap
        state = replace(METHOD.step(problem, state), gap=new.gap)
        least = min(least, state.at.crit)
        assert state.t == t + 1 and state.tolerance == pytest.approx(T.exact * least)
    assert state.sigma > 0.05
    for name in ("l1", "no f"):  # before Newton's method has ended, the residual tells nothing about the penalty
        for steps, growth in ((1, 1.0), (200, T.growth)):
            method = Multipliers(tuning=replace(T, newton_steps=steps))
            stuck = a_state(PROBLEMS[name], 0, sigma=0.5, gap=1e-9)
            _, _, _, new = method.multiplier_step(PROBLEMS[name], stuck, stuck.at.point, stuck.at.z)
            assert new.sigma == pytest.approx(growth * 0.5)


def test_the_first_penalty_follows_the_units_and_is_higher_without_curvature():
    X = M.random(3)
    sigma = METHOD.init(PROBLEMS["l1"], X).sigma
    assert sigma == pytest.approx(T.sigma * 0.3 * np.sqrt(N * R) / np.sqrt(R))
    assert METHOD.init(Problem.of(5.0 * f + 1.5 * terms.L1(), over=M), X).sigma == pytest.approx(5 * sigma)
    assert METHOD.init(Problem.of(0.3 * terms.L1(), over=M), X).sigma == pytest.approx(2 * sigma)
    weak = Problem.of(f + 4.0 * terms.MCP(0.01, 0.1), over=M)
    assert METHOD.init(weak, X).sigma >= 2 * weak.h.weak_convexity


def test_what_depends_on_the_span_alone():
    some = Entries(np.random.default_rng(2).random((N, R)) < 0.5)
    more = {
        "a map that tells columns apart": Problem.of(terms.GroupL2("rows") @ some, over=M),
        "g": Problem.of(terms.GroupL2("rows") @ B - 0.5 * terms.LargestK(4), over=M),
    }
    X, Q = M.random(1), Stiefel(R, R).random(2)
    for name, problem in {**PROBLEMS, **more}.items():
        same = abs(float(problem.objective(X @ Q)) - float(problem.objective(X))) < 1e-10
        assert depends_on_span(problem) == same, name


def test_which_problems_it_takes():
    assert all(Multipliers.takes(problem) for problem in PROBLEMS.values())
    assert not Multipliers.takes(Problem.of(f + terms.LInf(), over=M))
    assert not Multipliers.takes(Problem.of(f + terms.Nonnegative(), over=M))


@pytest.mark.parametrize("seed", [1, 5])
def test_a_linear_function_and_a_map_are_solved(seed):
    """Where the penalty rose before Newton's steps had settled, they became too short for the rest of the run."""
    rng = np.random.default_rng(seed)
    D, C = rng.standard_normal((12, 10)) * np.linspace(2, 0.2, 10), rng.standard_normal((10, 4))
    problem = Problem.of(terms.Linear(C) - terms.FrobeniusNorm() + 0.5 * terms.L1() @ D, over=(10, 4))
    result = solve(problem, X0=problem.M.random(seed), stop=Iterations(30) | Critical(1e-6, relative=True))
    assert result.converged


def test_newtons_method_becomes_more_exact_where_the_penalty_cannot_grow():
    """Where rows of A differ much in length, steps that end as early as at first go in circles."""
    problem, method = PROBLEMS["l1"], Multipliers(tuning=replace(T, newton_steps=200))
    ended = []
    for first in (SIGMA, SIGMA / 10, SIGMA / 1e4):  # the last one below 1 / T.sigma_range
        state = replace(a_state(problem, 0), sigma0=first, tolerance=0.0)
        end, _, _, _ = method.multiplier_step(problem, state, state.at.point, state.at.z)
        shares = (T.inexact, T.inexact / 100)
        start, z = state.at.point, state.at.z
        ended.append([AugmentedLagrangian(problem, start, z, SIGMA, s, 0.0).model(end) is None for s in shares])
    assert ended == [[True, False], [True, False], [True, True]]


def on_data(dtype, unit=1.0):
    """A function of random data with its gradient alone, and the same with its Hessian."""
    D = np.random.default_rng(8).standard_normal((30, N)).astype(dtype)
    both = lambda X: (unit * np.sum(np.log(np.cosh(D @ X))), unit * D.T @ np.tanh(D @ X))
    second = lambda X, V: unit * D.T @ ((1 - np.tanh(D @ X) ** 2) * (D @ V))
    return terms.Smooth(both), terms.Smooth(lambda X: both(X)[0], lambda X: both(X)[1], hessian=second)


@pytest.mark.parametrize("h", [2.0 * terms.L1(), 2.0 * terms.GroupL2() @ B], ids=["l1", "rows of a map"])
def test_a_block_by_differences_is_the_one_by_the_hessian(h):
    ends = []
    for own in on_data(float):
        problem, method = Problem.of(own + h, over=M), Multipliers()
        assert Multipliers.takes(problem)
        ends.append(method.step(problem, method.init(problem, M.random(3))))
    one, other = ends
    assert np.allclose(one.at.point.X, other.at.point.X, rtol=0, atol=1e-5)
    assert np.allclose(one.at.z, other.at.z, rtol=0, atol=1e-4)
    assert one.products == other.products > 0


@pytest.mark.parametrize("unit", [1.0, 1e-9, 1e7])
def test_runs_by_differences_reach_the_last_digits_in_any_unit(unit):
    problem = Problem.of(on_data(float, unit)[0] + 2.0 * unit * terms.L1(), over=M)
    assert solve(problem, X0=M.random(3), stop=Iterations(6)).criticality <= 1e-10 * unit


def test_runs_by_differences_come_as_close_as_others_in_single_precision():
    X0 = M.random(3).astype(np.float32)
    by_differences, by_hessian = (
        solve(Problem.of(own + 2.0 * terms.L1(), over=M), X0=X0, stop=Iterations(60)) for own in on_data(np.float32)
    )
    assert by_differences.X.dtype == np.float32
    assert by_differences.objective == pytest.approx(by_hessian.objective, rel=1e-6)
    assert by_differences.criticality <= 3e-4 > by_hessian.criticality  # of gradients of size 10
