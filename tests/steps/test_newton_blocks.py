"""Newton's method for X and its multiplier together: each piece from a random state, then what the blocks accept."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from orthoprox import Critical, Iterations, Problem, Stiefel, solve
from orthoprox._fields import replace
from orthoprox._linalg import symmetric
from orthoprox.maps import Difference
from orthoprox.models import sparse_pca
from orthoprox.solvers import NewtonBlocks, UnsupportedProblem, newton_blocks
from orthoprox.solvers import _joint as joint
from orthoprox.solvers.oadmm.iterate import measure
from orthoprox.terms import L1, MCP, SCAD, ExplainedVariance, GroupL2, Huber, LargestK, Linear, Quadratic

N, R, BETA = 9, 3, 4.0
rng = np.random.default_rng(0)
D = rng.standard_normal((30, N)) * np.linspace(2, 0.5, N)
f = ExplainedVariance(D, 1 / 30)
OVER = Stiefel(N, R)
KINDS = {
    "l1": Problem.of(f + 0.4 * L1(), over=OVER),
    "mcp": Problem.of(f + MCP(0.6, 3.0), over=OVER),
    "scad": Problem.of(f + SCAD(0.4, 3.7), over=OVER),
    "huber": Problem.of(f + 0.6 * Huber(0.2), over=OVER),
    "linear part": Problem.of(f + Linear(0.1 * D[:R].T) + 0.4 * L1(), over=OVER),
}
PAIRS = [(i, j) for i in range(R) for j in range(i, R)]


def matrix_of(problem):
    return problem.f.product(np.eye(problem.M.n))


def random_joint(seed, sparse=0.0):
    """X near the manifold and z, L anywhere."""
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.standard_normal((N, R)))[0] + 0.05 * rng.standard_normal((N, R))
    X = np.where(rng.random((N, R)) < sparse, 0.0, X)
    return joint.Joint(X, 0.5 * rng.standard_normal((N, R)), symmetric(rng.standard_normal((R, R))))


@pytest.mark.parametrize("seed", range(3))
def test_derivatives_of_the_constraints(seed):
    at, dX = random_joint(seed), np.random.default_rng(seed + 9).standard_normal((N, R))
    J = joint.constraint_derivatives(at.X)
    upper = np.array([at.L[i, j] for i, j in PAIRS])
    assert np.allclose((J @ upper).reshape(N, R), at.X @ at.L)
    change = at.X.T @ dX + dX.T @ at.X
    assert np.allclose(J.T @ dX.ravel(), [change[i, j] / (1 + (i == j)) for i, j in PAIRS])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_round_solves_the_linearised_equations(name, seed):
    """On free entries grad f + z + XL = 0, on the others X = prox(u), z tied to X by the prox, and X'X = I."""
    problem, at = KINDS[name], random_joint(seed, sparse=0.5)
    C, h = matrix_of(problem), problem.h
    free = joint.free_entries(problem, at, BETA)
    # There is room for half of the entries: keep as many of the free ones, anywhere.
    rank = np.argsort(np.argsort(np.where(free.on, np.random.default_rng(seed).random((N, R)), 2.0), axis=None))
    free = free._replace(on=free.on & (rank.reshape(N, R) < N * R // 2))
    dX, dL = joint.solve_system(C, free, at.L, problem.f.gradient(free.X))
    assert np.all(dX[~free.on] == 0) and np.array_equal(dL, dL.T)
    z = free.z + free.bend * dX
    left = problem.f.gradient(free.X + dX) + z + free.X @ (at.L + dL) + dX @ at.L
    assert np.max(np.abs(left[free.on])) < 1e-9
    assert np.allclose(free.X.T @ dX + dX.T @ free.X, np.eye(R) - free.X.T @ free.X, atol=1e-8)
    u = at.X + at.z / BETA
    p, slope = h.prox(u, 1 / BETA), h.prox_slope(u, 1 / BETA)
    step, dz = free.X + dX - at.X, z - at.z
    tied = (1 - slope) * step - slope * dz / BETA
    assert np.allclose(tied[free.on], (p - at.X)[free.on])
    rest = ~free.on & ~(slope > 0)
    assert np.allclose(free.X[rest], p[rest])


def test_the_smaller_entry_of_the_only_row_that_two_columns_share_is_zero():
    on = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 0, 1]], dtype=bool)
    X = np.where(on, [[0.1, -0.7, 0], [1, 0, 0], [0, 0.2, 0.9], [0, 0.3, 0.2], [0, 0, 1]], 0.0)
    assert [tuple(place) for place in np.argwhere(joint.meets_alone(on, X))] == [(0, 0)]
    on[1, 2] = True  # now the first and the last column share a row as well, and only that one
    X[1, 2] = -0.5
    assert [tuple(place) for place in np.argwhere(joint.meets_alone(on, X))] == [(0, 0), (1, 2)]


def test_entries_that_meet_alone_are_set_to_zero_and_do_not_move():
    problem, at = KINDS["l1"], random_joint(0)
    X = np.zeros((N, R))
    X[:4, 0], X[3:7, 1], X[7:, 2] = 0.5, 0.4, 0.6  # the first two share a row
    free = joint.free_entries(problem, at._replace(X=X, z=0.4 * np.sign(X)), BETA)
    assert free.X[3, 1] == 0 and not free.on[3, 1] and free.X[3, 0] == 0.5 and free.on.sum() == 9


@pytest.mark.parametrize("seed", range(6))
def test_the_shortest_subgradient(seed):
    """Beside a solver for least squares with bounds, with columns that share few rows or none."""
    rng = np.random.default_rng(seed)
    problem, places = KINDS["l1"], rng.permutation(N).reshape(R, -1)
    X = np.zeros((N, R))
    for column, rows in enumerate(places):
        X[rows, column] = rng.standard_normal(len(rows))
    X /= np.linalg.norm(X, axis=0)
    point, w = problem.at(X), 0.4
    z = joint.shortest_subgradient(problem, point, joint.Joint(X, rng.standard_normal((N, R)), np.eye(R)))
    assert np.all(np.abs(z) <= w) and np.allclose(z[X != 0], w * np.sign(X[X != 0]))
    G, J, off = problem.f.gradient(X), joint.constraint_derivatives(X), (X == 0).ravel()
    A = np.concatenate([np.eye(N * R)[:, off], J], axis=1)
    bound = np.concatenate([np.full(off.sum(), w), np.full(J.shape[1], np.inf)])
    best = lsq_linear(A, -(G.ravel() + np.where(off, 0, w * np.sign(X).ravel())), (-bound, bound), tol=1e-14)
    left = problem.M.tangent(X, G + z)
    assert np.linalg.norm(left) == pytest.approx(np.sqrt(2 * best.cost), abs=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_rounds_begin_with_the_multiplier_that_leaves_least(seed):
    """Columns that share one row give it up; then their multiplier is the one at which what asks to enter balances."""
    rng = np.random.default_rng(seed)
    problem, w = KINDS["l1"], 0.4
    X = np.zeros((N, R))
    for column, rows in enumerate(rng.permutation(N).reshape(R, -1)):
        X[rows, column] = rng.choice([-1, 1], len(rows)) * rng.uniform(0.3, 0.6, len(rows))
    shared = int(np.flatnonzero(X[:, 0])[0])
    X[shared, 1] = 0.01
    z = np.where(X == 0, 0.5 * w * rng.uniform(-1, 1, X.shape), w * np.sign(X))
    C = matrix_of(problem)
    at = joint.balanced(problem, C, X, z, BETA)
    on = (X != 0) & ~np.isclose(X, 0.01)
    assert np.array_equal(at.X, np.where(on, X, 0)) and np.array_equal(at.z[on], z[on])
    left = problem.f.gradient(at.X) + at.X @ at.L
    assert np.allclose(at.z[~on], -left[~on])
    # No other L leaves less: the slope of the square of what is left vanishes.
    rest = np.where(on, left + w * np.sign(X), left - np.clip(left, -w, w))
    assert np.allclose(joint.constraint_derivatives(at.X).T @ rest.ravel(), 0, atol=1e-9)
    asks = np.abs(at.z) > w + 1e-9
    rows = {(0, 1): (X[:, 0] != 0) & (np.arange(N) != shared) | (X[:, 1] != 0)}
    for (i, j), among in rows.items():
        assert (asks[:, [i, j]] & among[:, None]).sum() != 1  # two or more rows enter together, or none


@pytest.mark.parametrize("name", [name for name in KINDS if name != "huber"])  # whose solutions have no zeros
def test_near_a_solution_a_few_rounds_reach_it(name):
    problem = KINDS[name]
    solution = solve(problem, stop=Iterations(300) | Critical(1e-11))
    assert solution.converged
    X = problem.M.project(solution.X + 1e-3 * rng.standard_normal((N, R)))
    point, y, z = joint.newton(problem, X, solution.z, BETA, 5)
    there = measure(problem, point, y, z)
    assert there.crit < 1e-10 and there.objective == pytest.approx(solution.objective, abs=1e-9)
    assert np.array_equal(y == 0, np.abs(solution.X) < 1e-12)


def test_steps_that_fail_are_nan():
    problem = KINDS["l1"]
    with np.errstate(all="ignore"):
        dense = joint.newton(problem, problem.M.random(0), np.full((N, R), 9.0), BETA, 1)  # everything is free
        far = joint.newton(problem, problem.M.random(1), 1e200 * problem.M.random(2), BETA, 3)
    for point, _, _ in (dense, far):
        assert np.isnan(point.X).all()


# ---------------------------------------------------------------------- the blocks

METHOD = NewtonBlocks(block=5, rounds=3)


def state_at(problem, seed=0):
    state = METHOD.init(problem, problem.M.random(seed))
    return METHOD.step(problem, METHOD.step(problem, state))


@pytest.mark.parametrize("name", KINDS)
def test_a_step_is_a_block_and_then_newton_where_that_is_better(name, monkeypatch):
    problem = KINDS[name]
    monkeypatch.setattr(joint, "newton", lambda problem, X, z, beta, rounds: (problem.at(np.nan * X), X, z))
    state = state_at(problem)
    alone = METHOD._projections.step(problem, state.inner)
    new = METHOD.step(problem, state)
    assert new.t == 3 and np.array_equal(new.inner.at.point.X, alone.at.point.X)
    assert (new.lowest, new.least) == (state.lowest, state.least)


@pytest.mark.parametrize(
    ("change", "crit", "lowest", "least", "accepted"),
    [
        (-1.0, 5.0, 0.0, 1.0, True),  # F is lower than here and than ever
        (-1.0, 5.0, -1.0, 1.0, False),  # it was as low before: blocks that left the point are not led back
        (0.0, 0.4, -1.0, 1.0, True),  # Crit is much less
        (0.0, 0.6, -1.0, 1.0, False),  # not that much
        (0.0, 0.4, -1.0, 0.7, False),  # than here, but not than ever
        (1e-9, 0.1, -1.0, 1.0, False),  # but F is higher
        (-1.0, np.nan, 0.0, 1.0, False),
        (-1.0, np.inf, 0.0, 1.0, False),
    ],
)
def test_what_is_accepted(monkeypatch, change, crit, lowest, least, accepted):
    problem = KINDS["l1"]
    state = state_at(problem)
    here = METHOD._projections.step(problem, state.inner).at
    there = replace(here, objective=here.objective + change, crit=crit * here.crit)
    monkeypatch.setattr(NewtonBlocks, "_newton", lambda *_: there)
    state = replace(state, lowest=here.objective + lowest, least=least * here.crit)
    new = METHOD.step(problem, state)
    assert (new.inner.at is there) == accepted
    found = (min(there.objective, state.lowest), min(there.crit, state.least))
    assert (new.lowest, new.least) == (found if accepted else (state.lowest, state.least))


def test_many_small_problems_reach_critical_points():
    rng, blocks = np.random.default_rng(4), []
    for seed in range(12):
        loadings = rng.standard_normal((3, 20)) * (rng.random((3, 20)) < 0.3)
        data = rng.standard_normal((50, 3)) @ loadings + rng.standard_normal((50, 20))
        problem = sparse_pca(data / data.std(axis=0), n_components=3, weight=(0.05, 0.2, 0.5)[seed % 3])
        result = solve(problem, NewtonBlocks(), stop=Iterations(60) | Critical(1e-9))
        assert result.converged and result.infeasibility < 1e-13
        alone = solve(problem, NewtonBlocks()._projections, stop=Iterations(60) | Critical(1e-9))
        blocks.append((result.iterations, alone.iterations))
    mine, alone = np.array(blocks).T
    assert mine.sum() < 0.5 * alone.sum()


@pytest.mark.parametrize(
    "expression",
    [
        f - 0.1 * LargestK(4) + 0.4 * L1(),
        f + 0.4 * GroupL2(),
        f + 0.4 * L1() @ Difference(),
        Quadratic(D.T @ D) + L1(),
    ],
    ids=["g", "rows", "map", "convex f"],
)
def test_other_problems_are_refused(expression):
    with pytest.raises(UnsupportedProblem, match="needs"):
        solve(Problem.of(expression, over=OVER), NewtonBlocks())


@pytest.mark.parametrize("setting", ["block", "rounds"])
def test_settings_are_checked(setting):
    with pytest.raises(ValueError, match=f"{setting} must be at least 1; given 0"):
        NewtonBlocks(**{setting: 0})


def test_constants_have_one_place():
    assert (NewtonBlocks().block, NewtonBlocks().rounds) == (newton_blocks.BLOCK, newton_blocks.ROUNDS)
