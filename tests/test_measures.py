"""What is measured at a point, against formulas written out by hand."""

import numpy as np
import pytest

from orthoprox import Problem
from orthoprox.maps import Matrix
from orthoprox.problem import (
    Certificate,
    Criticality,
    Point,
    criticality,
    extrapolate,
    nonzeros,
    relative_criticality,
    sparsity,
)
from orthoprox.terms import L1, ExplainedVariance, GroupL2, LargestK, Linear, Quadratic
from steps.cases import PROBLEMS, B, C, M, R, S, T, random_triple
from steps.checks import check_products


def stationarity(X, G):
    """The norm of the projection of G onto the tangent space, from the definition."""
    return np.linalg.norm(G - X @ (X.T @ G + G.T @ X) / 2)


@pytest.mark.parametrize("seed", range(8))
def test_criticality_with_the_l1_norm(seed):
    w, v = 0.7, 0.4
    problem = Problem(M=M, f=ExplainedVariance(B, 0.3), g=LargestK(5, v), h=L1(w))
    rng, X, _, y, z = random_triple(problem, seed)
    y[rng.random(y.shape) < 0.4] = 0.0
    z = 3 * z
    found = criticality(problem, Certificate(problem.at(X), y, z))

    distance = np.where(y == 0, np.maximum(np.abs(z) - w, 0), np.abs(z - w * np.sign(y)))
    kth = np.sort(np.abs(X), axis=None)[-5]
    gradient = -0.3 * B.T @ B @ X
    G = gradient - v * np.sign(X) * (np.abs(X) >= kth) + z
    wanted = (np.linalg.norm(X - y), np.linalg.norm(distance), stationarity(X, G))
    assert found == pytest.approx(wanted, rel=1e-12)
    assert found.total == pytest.approx(sum(wanted))
    assert (y == 0).any() and (np.abs(z)[y == 0] > w).any()

    check_relative(problem, X, y, z, gradient, v * np.sqrt(5), np.array(wanted))


@pytest.mark.parametrize("seed", range(8))
def test_criticality_with_groups_of_a_matrix(seed):
    w = 0.8
    problem = Problem.of(Quadratic(S) + Linear(T) + w * GroupL2() @ Matrix(C), over=M)
    rng, X, _, y, z = random_triple(problem, seed)
    y[rng.random(len(y)) < 0.5] = 0.0
    z, norm = 4 * z, np.linalg.norm
    at = Certificate(problem.at(X), y, z)
    parts = criticality(problem, at)
    gaps = [norm(d - w * row / norm(row)) if np.any(row) else max(norm(d) - w, 0) for row, d in zip(y, z, strict=True)]
    gradient = S @ X + T
    wanted = (norm(C @ X - y), norm(gaps), stationarity(X, gradient + C.T @ z))
    assert parts == pytest.approx(wanted, rel=1e-12)
    assert all(type(part) is float for part in parts)
    check_relative(problem, X, y, z, gradient, 0.0, np.array(wanted))


def check_relative(problem, X, y, z, gradient, of_g, wanted):
    """Shares of the sizes of A(X), z and the gradients; the same for F times 2^60 and A times 2^-40."""
    norm, a, root = np.linalg.norm, problem.A.norm, np.sqrt(R)
    slope = problem.f.lipschitz * root + norm(gradient) + of_g + a * norm(z)
    sizes = (a * root + norm(y), norm(z) + slope / a, slope)
    for unit, inside in ((1.0, 1.0), (2.0**60, 2.0**-40)):
        large = Problem(
            M=M, f=unit * problem.f, g=unit * problem.g, h=unit / inside * problem.h, A=inside * problem.A
        )  # both kinds of h are positively homogeneous
        at = Certificate(large.at(X), inside * y, unit / inside * z)
        found = relative_criticality(large, at, criticality(large, at))
        assert found == pytest.approx(wanted / sizes, rel=1e-12)


def test_relative_criticality_is_at_most_one_and_nothing_is_no_share():
    at = lambda problem, z: Certificate(problem.at(X), problem.A(X), z)
    X, empty, only_h = M.random(0), Problem(M=M), Problem(M=M, h=L1())
    assert relative_criticality(empty, at(empty, 0 * X), Criticality(0.0, 0.0, 0.0)).total == 0
    parts = criticality(only_h, at(only_h, 0 * X))
    assert relative_criticality(only_h, at(only_h, 0 * X), parts) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_parts_of_criticality_vanish_for_the_right_reasons(name):
    problem = PROBLEMS[name]
    _, X, _, _, z = random_triple(problem, 0)
    point = problem.at(X)
    on = Certificate(point, point.AX, problem.h.subgradient(point.AX))
    found = criticality(problem, on)
    assert found.primal == 0
    assert found.dual < 1e-12
    assert found.stationarity > 1e-3
    moved = criticality(problem, Certificate(point, point.AX + 1, z + 5))
    assert moved.primal == pytest.approx(np.sqrt(np.prod(problem.shape)))
    assert moved.dual > 0.1


def test_nonzeros_and_sparsity_count_up_to_a_tolerance():
    X = np.array([[0.0, 1e-7], [-2e-6, 3.0], [1e-3, -1e-6]])
    assert nonzeros(X) == 3
    assert nonzeros(X, tolerance=0.0) == 5
    assert nonzeros(X, tolerance=1e-2) == 1
    assert sparsity(X) == pytest.approx(3 / 6)
    assert sparsity(X, tolerance=1e-2) == pytest.approx(5 / 6)
    assert (nonzeros(np.zeros((2, 2))), sparsity(np.zeros((2, 2)))) == (0, 1.0)
    assert type(nonzeros(X)) is int
    assert type(sparsity(X)) is float


@pytest.mark.parametrize("name", ["l1 minus largest-k", "groups of a matrix", "own function"])
def test_an_extrapolated_point_has_the_products_of_its_X(name):
    problem = PROBLEMS[name]
    _, X, X_prev, _, _ = random_triple(problem, 1)
    ahead = extrapolate(problem.at(X), problem.at(X_prev), 0.3)
    np.testing.assert_allclose(ahead.X, 1.3 * X - 0.3 * X_prev, atol=1e-14)
    check_products(problem, ahead, atol=1e-12)
    assert (ahead.AX is ahead.X) == (problem.at(X).AX is X)


@pytest.mark.parametrize("name", list(PROBLEMS))
def test_the_objective_is_the_sum_of_its_parts_with_or_without_products(name):
    problem = PROBLEMS[name]
    _, X, *_ = random_triple(problem, 2)
    wanted = problem.offset + problem.f.value(X) - problem.g.value(X) + problem.h.value(problem.A(X))
    assert problem.objective(X) == pytest.approx(wanted, rel=1e-12)
    assert problem.objective(problem.at(X)) == problem.objective(X)
    # products that are given are used, not worked out again
    point = problem.at(X)
    if point.HX is not None:
        assert problem.objective(Point(X, point.HX + 1, point.AX)) != problem.objective(X)
