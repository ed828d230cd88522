"""The X-step by Newton's method: what it minimises, its derivatives, and what becomes of y, z and the penalty."""

from __future__ import annotations

from typing import Any

import numpy as np
import orthoprox.solvers._lagrangian as lagrangian
import pytest
from orthoprox.solvers._lagrangian import (
    bending,
    depends_on_span,
    first_penalty,
    has_newton_steps,
    multiplied,
    multiplier_step,
)

from orthoprox import Problem, Stiefel
from orthoprox.maps import Entries, Identity, Matrix
from orthoprox.terms import (
    L1,
    MCP,
    SCAD,
    GroupL2,
    Huber,
    LargestK,
    LeastSquares,
    LInf,
    LogSum,
    NegativePart,
    Nonnegative,
    Quadratic,
    Zero,
)

N, R = 9, 3


def spd(seed: int) -> Any:
    B = np.random.default_rng(seed).standard_normal((2 * N, N))
    return B.T @ B / N


def problems() -> dict[str, Problem]:
    rng = np.random.default_rng(5)
    M = Stiefel(N, R)
    f = Quadratic(Matrix(spd(1)))
    B = Matrix(rng.standard_normal((14, N)))
    return {
        "l1": Problem.of(f + 0.3 * L1(), over=M),
        "l1 of a map": Problem.of(f + 0.3 * L1() @ B, over=M),
        "no f": Problem.of(0.3 * L1() @ B, over=M),
        "huber": Problem.of(f + 0.5 * Huber(0.1), over=M),
        "mcp": Problem.of(f + 0.5 * MCP(0.5, 4.0), over=M),
        "log sum": Problem.of(f + 0.2 * LogSum(0.5), over=M),
        "with g": Problem.of(f - 0.2 * LargestK(6) + 0.2 * L1(), over=M),
        "a large g": Problem.of(f - 20.0 * LargestK(20) + 0.2 * L1(), over=M),
        "rows": Problem.of(f + 0.4 * GroupL2("rows"), over=M),
        "rows of a map": Problem.of(0.3 * GroupL2("rows") @ B, over=M),
        "columns of a map": Problem.of(f + 0.8 * GroupL2("columns") @ B, over=M),
        "least squares": Problem.of(LeastSquares(B, rng.standard_normal((14, R))) + 0.3 * L1(), over=M),
    }


def state(problem: Problem, seed: int, sigma: float = 4.0) -> Any:
    X = problem.M.random(100 + seed)
    z = 0.1 * np.random.default_rng(200 + seed).standard_normal(problem.shape)
    return multiplied(problem, problem.at(X), z, sigma)


def merit(problem: Problem, X: Any, xi: Any, z: Any, sigma: float) -> float:
    """f(X) - <xi, X> + h(y) + sigma/2 |A(X) + z/sigma - y|^2 with the best y, from its definition."""
    v = problem.A(X) + z / sigma
    y = problem.h.prox(v, 1 / sigma)
    return float(problem.f.value(X) - np.sum(xi * X) + problem.h.value(y) + sigma / 2 * np.sum((v - y) ** 2))


@pytest.mark.parametrize("name", problems())
@pytest.mark.parametrize("seed", range(3))
def test_a_step_lowers_the_augmented_lagrangian_and_sets_y_and_z(name: str, seed: int) -> None:
    problem = problems()[name]
    before = state(problem, seed)
    after = multiplier_step(problem, before, 1e-12)
    xi = problem.g.subgradient(before.now.X)
    X = after.now.X
    assert merit(problem, X, xi, before.z, 4.0) <= merit(problem, before.now.X, xi, before.z, 4.0) + 1e-12
    assert merit(problem, X, xi, before.z, 4.0) < merit(problem, before.now.X, xi, before.z, 4.0) - 1e-6
    v = problem.A(X) + before.z / 4.0
    np.testing.assert_allclose(after.y, problem.h.prox(v, 1 / 4.0), atol=1e-14)
    np.testing.assert_allclose(after.z, before.z + 4.0 * (problem.A(X) - after.y), atol=1e-13)
    assert float(problem.h.subgradient_distance(after.y, after.z)) < 1e-12
    assert float(problem.M.infeasibility(X)) < 1e-13
    assert after.gap == pytest.approx(float(np.linalg.norm(problem.A(X) - after.y)), abs=1e-15)


@pytest.mark.parametrize("name", problems())
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_and_the_hessian_are_those_of_the_merit(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Along a retraction the merit has this slope, and the tangent part of its gradient this derivative."""
    problem = problems()[name]
    before = state(problem, seed)
    seen: list[Any] = []

    def watched(apply: Any, g: Any, *rest: Any) -> Any:
        seen.append((apply, g))
        return truncated(apply, g, *rest)

    truncated = lagrangian.truncated
    monkeypatch.setattr(lagrangian, "truncated", watched)
    multiplier_step(problem, before, 1e-12)
    apply, g = seen[0]  # at the point of the state
    M, X, z, sigma = problem.M, before.now.X, before.z, before.sigma
    xi = problem.g.subgradient(X)
    D = M.tangent(X, np.random.default_rng(300 + seed).standard_normal((N, R)))
    if depends_on_span(problem):  # no step turns X there
        np.testing.assert_allclose(X.T @ g, 0.0, atol=1e-13)
        np.testing.assert_allclose(X.T @ apply(D), 0.0, atol=1e-12)
        D = D - X @ (X.T @ D)
    D = D / np.linalg.norm(D)
    t = 1e-6
    forth, back = M.retract(X, t * D), M.retract(X, -t * D)
    slope = (merit(problem, forth, xi, z, sigma) - merit(problem, back, xi, z, sigma)) / (2 * t)
    assert float(np.sum(g * D)) == pytest.approx(slope, rel=1e-5, abs=1e-7)
    t = 1e-4  # second differences lose more digits
    forth, back = M.retract(X, t * D), M.retract(X, -t * D)
    here = merit(problem, X, xi, z, sigma)
    bend = (merit(problem, forth, xi, z, sigma) - 2 * here + merit(problem, back, xi, z, sigma)) / t**2
    # The polar retraction is of second order, so the second derivative along it is that of the Hessian.
    assert float(np.sum(D * apply(D))) == pytest.approx(bend, rel=2e-2, abs=2e-2)


def test_near_a_smooth_minimum_one_step_squares_the_gradient() -> None:
    problem = problems()["huber"]
    now = state(problem, 0)
    for _ in range(30):
        now = multiplier_step(problem, now, 1e-13)
    z, sigma = now.z, now.sigma
    X = problem.M.retract(
        now.now.X, 1e-4 * problem.M.tangent(now.now.X, np.random.default_rng(1).standard_normal((N, R)))
    )
    again = multiplied(problem, problem.at(X), z, sigma)

    def size(X: Any) -> float:
        y = problem.h.prox(X + z / sigma, 1 / sigma)
        G = problem.f.gradient(X) + sigma * (X + z / sigma - y)
        return float(np.linalg.norm(problem.M.tangent(X, G)))

    first = size(X)
    after = multiplier_step(problem, again, 1e-13)
    assert 1e-6 < first < 1e-2
    assert size(after.now.X) < 1e-9


@pytest.mark.parametrize("name", ["l1", "l1 of a map", "huber", "mcp", "rows", "rows of a map", "least squares"])
def test_the_method_of_multipliers_converges(name: str) -> None:
    problem = problems()[name]
    now = state(problem, 1)
    for _ in range(200):
        now = multiplier_step(problem, now, 1e-10)
    G = problem.f.gradient(now.now.X) + problem.A.adjoint(now.z)
    assert np.linalg.norm(problem.M.tangent(now.now.X, G)) + now.gap < 1e-6


@pytest.mark.parametrize("name", ["l1", "l1 of a map", "mcp", "rows", "rows of a map"])
def test_what_has_converged_stays(name: str) -> None:
    problem = problems()[name]
    for seed in range(3):
        now, reached = state(problem, seed), False
        for _ in range(150):
            now = multiplier_step(problem, now, 1e-10)
            G = problem.f.gradient(now.now.X) + problem.A.adjoint(now.z)
            crit = float(np.linalg.norm(problem.M.tangent(now.now.X, G))) + now.gap
            assert not reached or crit < 1e-8
            reached = reached or crit < 1e-10
        assert reached


def test_the_penalty_grows_where_the_gap_does_not_shrink_and_is_bounded() -> None:
    problem = problems()["l1"]
    now = state(problem, 0, sigma=0.05)
    largest = 0.0
    for _ in range(60):
        new = multiplier_step(problem, now, 1e-10)
        assert new.sigma >= now.sigma
        if new.gap <= 0.6 * now.gap:
            assert new.sigma == now.sigma
        largest, now = max(largest, new.sigma), new
    assert 0.05 < largest <= 100 * 0.05 * (1 + 1e-12)


def test_where_steps_do_not_settle_the_penalty_grows_more_carefully(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lagrangian, "_NEWTON_STEPS", 1)
    for name, growth in (("l1", 1.1), ("no f", 1.5)):  # without f the penalty is all the curvature there is
        problem = problems()[name]
        now = state(problem, 0, sigma=0.5)
        new = multiplier_step(problem, lagrangian.replace(now, gap=1e-9), 1e-12)
        assert new.sigma == pytest.approx(growth * 0.5)
        assert multiplier_step(problem, now, 1e-12).sigma == 0.5  # a first gap has nothing to be compared with
    monkeypatch.setattr(lagrangian, "_NEWTON_STEPS", 50)
    assert multiplier_step(problems()["l1"], state(problems()["l1"], 0), 1e-12).sigma == 4.0
    settled = lagrangian.replace(state(problems()["l1"], 0), gap=1e-9)
    assert multiplier_step(problems()["l1"], settled, 1e-12).sigma == pytest.approx(6.0)


@pytest.mark.parametrize(
    "h", [L1(0.7), MCP(0.5, 4.0), SCAD(0.4), NegativePart(0.6), GroupL2("rows", 0.8), GroupL2("columns", 1.5)]
)
def test_the_bending_is_the_derivative_of_what_the_prox_takes_off(h: Any) -> None:
    rng = np.random.default_rng(9)
    gone = 0
    for _ in range(5):
        u, D, mu, t = 2 * rng.standard_normal((7, 4)), rng.standard_normal((7, 4)), 0.9, 1e-7
        u[:2] *= 0.1
        u[:, 0] *= 0.05
        ahead, behind = u + t * D, u - t * D
        slope = ((ahead - h.prox(ahead, mu)) - (behind - h.prox(behind, mu))) / (2 * t)
        np.testing.assert_allclose(bending(h, u, mu)(D), slope, atol=1e-6)
        gone += np.count_nonzero(h.prox(u, mu) == 0)
    assert gone > 0  # of what the prox takes off whole, all moves


def test_what_depends_on_the_span_alone() -> None:
    M, B = Stiefel(N, R), Matrix(np.random.default_rng(5).standard_normal((14, N)))
    some = Entries(np.random.default_rng(2).random((N, R)) < 0.5)
    tells_columns_apart = Problem.of(GroupL2("rows") @ some, over=M)
    with_g = Problem.of(GroupL2("rows") @ B - 0.5 * LargestK(4), over=M)
    X, Q = M.random(1), Stiefel(R, R).random(2)
    found = set()
    for name, problem in {**problems(), "a map that tells columns apart": tells_columns_apart, "g": with_g}.items():
        turned, there = float(problem.objective(problem.at(X @ Q))), float(problem.objective(problem.at(X)))
        assert depends_on_span(problem) == (abs(turned - there) < 1e-10), name
        found |= {name} if depends_on_span(problem) else set()
    assert found == {"rows", "rows of a map"}


def test_the_first_penalty_follows_the_units_and_is_higher_without_f() -> None:
    M, f = Stiefel(N, R), Quadratic(Matrix(spd(1)))
    now = Problem.of(f + L1(), over=M).at(M.random(3))
    with_f = first_penalty(Problem.of(f + L1(), over=M), now)
    assert first_penalty(Problem.of(5.0 * f + 5.0 * L1(), over=M), now) == pytest.approx(5 * with_f)
    assert first_penalty(Problem(M=M, f=Zero(), h=L1(), A=Identity()), now) == pytest.approx(2 * with_f)
    assert with_f == pytest.approx(4 * np.sqrt(N * R) / np.sqrt(R))  # four times that at which entries are moved


def test_what_has_newton_steps() -> None:
    M = Stiefel(N, R)
    f = Quadratic(Matrix(spd(1)))
    assert has_newton_steps(Problem.of(f + L1() @ Matrix(np.ones((2, N))), over=M))
    assert has_newton_steps(Problem(M=M, f=Zero(), h=L1(), A=Identity()))
    assert has_newton_steps(Problem.of(f + GroupL2(), over=M))
    assert not has_newton_steps(Problem.of(f + LInf(), over=M))
    assert not has_newton_steps(Problem.of(f + Nonnegative(), over=M))
