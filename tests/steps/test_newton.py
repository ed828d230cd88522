"""The tangent subproblem and the semismooth Newton method that solves it."""

from __future__ import annotations

import numpy as np
import pytest

from orthoprox.manifolds import Stiefel
from orthoprox.maps import Matrix, Selection
from orthoprox.solvers import _newton
from orthoprox.solvers._newton import (
    ByColumns,
    ByRows,
    conjugate_gradients,
    derivative,
    knows_derivative,
    newton_direction,
    tangent_step,
)
from orthoprox.terms import L1, MCP, SCAD, GroupL2, Huber, LInf, NegativePart, Nuclear, Shifted, WeightedL1, Zero

rng = np.random.default_rng(11)
SHAPES = {"few columns": (12, 4), "one column": (6, 1), "square": (5, 5), "many columns": (40, 16)}


def terms(n, r):
    return {
        "l1": 0.6 * L1(),
        "weighted": WeightedL1(rng.uniform(0.1, 1.0, (n, r))),
        "huber": 0.7 * Huber(0.2),
        "negative part": 0.8 * NegativePart(),
        "mcp": 0.5 * MCP(0.5, 3.0),
        "scad": 0.5 * SCAD(0.5, 3.7),
        "rows": 0.7 * GroupL2("rows"),
        "columns": 0.9 * GroupL2("columns"),
        "shifted": Shifted(0.5 * GroupL2(), rng.standard_normal((n, r)), 1.4),
        "nothing": Zero(),
    }


CASES = [(shape, name) for shape in SHAPES for name in terms(1, 1)]


def sym(A):
    return (A + A.T) / 2


def drawn(shape, name):
    n, r = SHAPES[shape]
    draw = np.random.default_rng(len(name) + n)
    X = Stiefel(n, r).project(draw.standard_normal((n, r)))
    h = terms(n, r)[name]
    return draw, X, draw.standard_normal((n, r)), h, min(0.4, 0.5 / max(h.weak_convexity, 1e-9))


def solved(h, X, G, s, Lambda=None, largest=1e-22):
    Lambda = np.zeros((X.shape[1],) * 2) if Lambda is None else Lambda
    return tangent_step(h, X, G, s, Lambda, largest=largest, share=1.0)


@pytest.mark.parametrize(("shape", "name"), CASES)
def test_V_is_the_best_tangent_step(shape, name):
    draw, X, G, h, s = drawn(shape, name)
    found = solved(h, X, G, s)
    V, M = found.V, Stiefel(*X.shape)
    assert np.linalg.norm(X.T @ V + V.T @ X) <= 1e-10
    assert found.steps < 40
    assert np.allclose(X + V, h.prox(X - s * G + 2 * s * X @ found.multiplier, s), atol=1e-13)

    def cost(V):
        return np.sum(G * V) + np.sum(V * V) / (2 * s) + h.value(X + V)

    for scale in (1e-4, 1e-3, 1e-2, 0.1, 1.0):
        for _ in range(5):
            assert cost(V) <= cost(M.tangent(X, V + scale * draw.standard_normal(X.shape))) + 1e-10
    assert cost(V) <= cost(0 * V) + 1e-10
    # the subproblem is strongly convex: from its solution the cost grows
    away = M.tangent(X, draw.standard_normal(X.shape))
    assert cost(V + away) > cost(V) + (1 / s - h.weak_convexity) / 2 * np.sum(away**2) - 1e-9


@pytest.mark.parametrize(("shape", "name"), CASES)
def test_the_derivative_against_differences(shape, name):
    draw, X, G, h, s = drawn(shape, name)
    r = X.shape[1]
    Lambda, D = sym(draw.standard_normal((r, r))), sym(draw.standard_normal((r, r)))

    def E(Lambda):
        Z = h.prox(X - s * G + 2 * s * X @ Lambda, s)
        return Z.T @ X + X.T @ Z - 2 * np.eye(r)

    step = 1e-7  # kinks are not met: the draws stay clear of them
    difference = (E(Lambda + step * D) - E(Lambda - step * D)) / (2 * step)
    J = derivative(h, X, X - s * G + 2 * s * X @ Lambda, s)
    assert np.allclose(2 * s * (J(D) + J(D).T), difference, atol=1e-6)
    seen = _newton._products(X)
    assert np.allclose(derivative(h, X, X - s * G + 2 * s * X @ Lambda, s, seen)(D), J(D), atol=1e-12)


@pytest.mark.parametrize(("shape", "name"), CASES)
def test_both_ways_to_solve_the_newton_system(shape, name):
    draw, X, G, h, s = drawn(shape, name)
    r = X.shape[1]
    J = derivative(h, X, X - s * G, s)
    for size in (1e-3, 10.0):
        E = sym(draw.standard_normal((r, r)))
        E = size / np.linalg.norm(E) * E
        eta = 0.2 * min(size, 0.1) * min(1, 4 * s)
        d = newton_direction(J, E, s, dense=True)
        assert np.allclose(d, d.T)
        assert np.allclose(2 * s * (J(d) + J(d).T) + eta * d, -E, atol=1e-9 * size)
        by_gradients = newton_direction(J, E, s, dense=False)
        residual = 2 * s * (J(by_gradients) + J(by_gradients).T) + eta * by_gradients + E
        assert np.linalg.norm(residual) <= 1.001e-4 * size


def test_the_regularisation_vanishes_with_E_but_not_beside_J():
    nothing = ByColumns(np.zeros((3, 3, 3)))
    for s in (1e-3, 0.1, 1e4):
        for size in (1e3, 1e-3, 1e-20):
            E = size * np.eye(3) / np.sqrt(3)
            eta = max(0.2 * max(min(size, 0.1), 1e-11) * min(1, 4 * s), 64 * s * np.finfo(float).eps)
            assert np.allclose(newton_direction(nothing, E, s), -E / eta, rtol=1e-10, atol=0)
            assert np.allclose(newton_direction(nothing, E, s, dense=False), -E / eta, rtol=1e-10, atol=0)


def test_few_columns_are_solved_densely_and_many_by_conjugate_gradients(monkeypatch):
    used = []
    original = _newton.conjugate_gradients
    monkeypatch.setattr(_newton, "conjugate_gradients", lambda *a: used.append(a[2:]) or original(*a))
    for r in (14, 15):
        J = ByColumns(np.stack([np.eye(r)] * r))
        E = 0.05 * np.eye(r)
        eta = 0.2 * min(np.linalg.norm(E), 0.1)
        assert np.allclose(newton_direction(J, E, 0.25), -E / (1 + eta))
        assert len(used) == (r == 15)
    assert used == [(1e-4, 225)]
    newton_direction(J, 1e-6 * np.eye(15), 0.25)
    assert used[-1] == (1e-7, 225)
    size = 0.01
    newton_direction(J, size / np.sqrt(15) * np.eye(15), 0.25)
    assert used[-1][0] == pytest.approx(1e-5)


def test_conjugate_gradients(rng):
    A = rng.standard_normal((6, 6))
    A = A @ A.T + np.eye(6)
    b = rng.standard_normal((6, 1))
    assert np.allclose(A @ conjugate_gradients(lambda d: A @ d, b, 1e-12, 50), b, atol=1e-10)
    rough = conjugate_gradients(lambda d: A @ d, b, 0.3, 50)
    assert 1e-6 < np.linalg.norm(A @ rough - b) / np.linalg.norm(b) <= 0.3
    one = conjugate_gradients(lambda d: A @ d, b, 1e-12, 1)
    assert np.allclose(one, np.sum(b * b) / np.sum(b * (A @ b)) * b)
    assert not conjugate_gradients(lambda d: A @ d, 0 * b, 1e-3, 5).any()


def test_the_basis_is_orthonormal_and_symmetric():
    for r in (1, 2, 5):
        basis = _newton._basis(np, r, np.dtype(float), "cpu")
        flat = basis.reshape(r * r, -1)
        assert flat.shape[1] == r * (r + 1) // 2
        assert np.allclose(flat.T @ flat, np.eye(flat.shape[1]))
        assert np.allclose(basis, basis.transpose(1, 0, 2))


@pytest.mark.parametrize("kind", [ByColumns, ByRows])
def test_the_matrix_is_that_of_the_map(kind, rng):
    n, r = 7, 4
    if kind is ByColumns:
        M = rng.standard_normal((r, r, r))
        J = ByColumns(M + M.transpose(0, 2, 1))
    else:
        J = ByRows(sym(rng.standard_normal((r, r))), rng.standard_normal((n, r)), rng.standard_normal((n, r)))
    basis = _newton._basis(np, r, np.dtype(float), "cpu")
    p = basis.shape[2]
    expected = [[np.sum(basis[:, :, k] * J(basis[:, :, j])) for j in range(p)] for k in range(p)]
    assert np.allclose(J.matrix(basis), expected)


def test_a_warm_start_saves_steps_and_a_loose_one_stops_earlier():
    _, X, G, h, s = drawn("few columns", "l1")
    cold = solved(h, X, G, s)
    assert cold.steps >= 3
    assert solved(h, X, G, s, cold.multiplier, largest=1e-20).steps == 0
    loose = solved(h, X, G, s, largest=1e-2)
    assert loose.steps < cold.steps
    E = X.T @ loose.V + loose.V.T @ X
    assert 1e-22 < np.sum(E * E) <= 1e-2
    shared = tangent_step(h, X, G, s, 0 * cold.multiplier, largest=1.0, share=1e-3)
    E = X.T @ shared.V + shared.V.T @ X
    assert np.sum(E * E) <= 1e-3 * np.sum(shared.V**2)
    assert tangent_step(h, X, G, s, cold.multiplier, largest=0.0, share=0.0).steps < 20  # rounding is enough


def test_large_problems_keep_no_products(monkeypatch):
    _, X, G, h, s = drawn("few columns", "l1")
    kept = solved(h, X, G, s).V
    monkeypatch.setattr(_newton, "_LARGE", 0)
    assert _newton._products(X) is None
    assert np.allclose(solved(h, X, G, s).V, kept, atol=1e-11)


def test_nearly_singular_systems_are_solved_too():
    # With a heavy weight few entries are left, so that the derivative has a large null space.
    steps = []
    for seed in range(20):
        draw = np.random.default_rng(seed)
        X = Stiefel(12, 5).project(draw.standard_normal((12, 5)))
        found = solved(6.0 * L1(), X, draw.standard_normal((12, 5)), 0.5, largest=1e-18)
        E = X.T @ found.V + found.V.T @ X
        assert np.linalg.norm(E) <= 1e-9
        steps.append(found.steps)
    assert max(steps) < 60


def test_the_search_finds_the_zero_of_a_slope():
    def slope(fraction):
        return 4.0 * (4.0 * fraction - 1.0)

    assert _newton._zero_of_slope(slope, (slope(0), slope(1))) == pytest.approx(0.25)
    assert _newton._zero_of_slope(slope, (-1.0, -0.5)) == 1.0


@pytest.mark.parametrize("x", [0.5, 0.001])  # with the second, a plain false position creeps along a flat slope
def test_the_search_on_a_slope_with_a_kink(x):
    def slope(fraction):
        return 4.0 * (max(4.0 * fraction - 3.0, 0.0) - x)

    found = _newton._zero_of_slope(slope, (slope(0), slope(1)))
    assert abs(slope(found)) <= 0.1 * abs(slope(0))


def test_steps_are_counted_and_limited(monkeypatch):
    _, X, G, h, s = drawn("few columns", "l1")
    monkeypatch.setattr(_newton, "MOST_STEPS", 2)
    made = []
    original = _newton.newton_direction
    monkeypatch.setattr(_newton, "newton_direction", lambda *a: made.append(1) or original(*a))
    assert solved(h, X, G, s).steps == len(made) == 2


def test_columns_have_their_own_matrices(rng):
    M, D = rng.standard_normal((3, 4, 4))[[0, 1, 2, 0]], rng.standard_normal((4, 4))
    expected = np.stack([M[c] @ D[:, c] for c in range(4)], axis=1)
    assert np.allclose(ByColumns(M)(D), expected)


def test_what_has_a_known_derivative():
    assert all(knows_derivative(h) for h in terms(3, 2).values())
    assert not knows_derivative(Nuclear()) and not knows_derivative(LInf())
    assert not knows_derivative(Shifted(LInf(), np.zeros((3, 2))))
    with pytest.raises(TypeError, match="derivative of the prox of LInf is not known"):
        derivative(LInf(), np.eye(3, 2), np.eye(3, 2), 0.1)


# Maps with A A' = c I.

TIGHT = {
    "all rows": Matrix(1.7 * np.linalg.qr(rng.standard_normal((12, 12)))[0]),
    "some rows": Matrix(-0.6 * np.linalg.qr(rng.standard_normal((12, 7)))[0].T),
    "chosen rows": 2.0 * Selection([4, 9, 0, 3, 7], columns=12),
}
TIGHT_CASES = [(map_, name) for map_ in TIGHT for name in terms(1, 1)]


def drawn_beside(map_, name, r=4):
    draw = np.random.default_rng(len(name) + 100 * len(map_))
    A = TIGHT[map_]
    X = Stiefel(12, r).project(draw.standard_normal((12, r)))
    h = terms(A.rows(12), r)[name]
    s = min(0.4, 0.5 / max(h.weak_convexity * A.norm**2, 1e-9))
    return draw, A, X, draw.standard_normal((12, r)), h, s


@pytest.mark.parametrize(("map_", "name"), TIGHT_CASES)
def test_V_is_the_best_tangent_step_for_a_tight_map(map_, name):
    draw, A, X, G, h, s = drawn_beside(map_, name)
    found = tangent_step(h, X, G, s, np.zeros((4, 4)), largest=1e-22, share=1.0, A=A)
    V, M, c = found.V, Stiefel(12, 4), A.tightness
    assert np.linalg.norm(X.T @ V + V.T @ X) <= 1e-10
    assert found.steps < 40
    assert np.allclose(found.y, A(X + V), atol=1e-13)
    W = X - s * G + 2 * s * X @ found.multiplier
    assert np.array_equal(found.y == 0, h.prox(A(W), c * s) == 0)  # its zeros are those of the prox, not rounded ones
    assert h.subgradient_distance(found.y, (A(W) - found.y) / (c * s)) < 1e-10
    assert np.allclose(A.adjoint(A(W) - found.y) / c, W - X - V, atol=1e-13)

    def cost(V):
        return np.sum(G * V) + np.sum(V * V) / (2 * s) + h.value(A(X + V))

    for scale in (1e-4, 1e-3, 1e-2, 0.1, 1.0):
        for _ in range(5):
            assert cost(V) <= cost(M.tangent(X, V + scale * draw.standard_normal(X.shape))) + 1e-10
    away = M.tangent(X, draw.standard_normal(X.shape))
    convexity = 1 / s - h.weak_convexity * A.norm**2
    assert cost(V + away) > cost(V) + convexity / 2 * np.sum(away**2) - 1e-9


@pytest.mark.parametrize(("map_", "name"), TIGHT_CASES)
def test_the_derivative_within_a_tight_map_against_differences(map_, name):
    draw, A, X, G, h, s = drawn_beside(map_, name)
    c, AX = A.tightness, A(X)
    Lambda, D = (sym(draw.standard_normal((4, 4))) for _ in "ab")

    def E(Lambda):
        W = X - s * G + 2 * s * X @ Lambda
        Z = W + A.adjoint(h.prox(A(W), c * s) - A(W)) / c
        return Z.T @ X + X.T @ Z - 2 * np.eye(4)

    step = 1e-7
    difference = (E(Lambda + step * D) - E(Lambda - step * D)) / (2 * step)
    J = derivative(h, AX, A(X - s * G + 2 * s * X @ Lambda), c * s).within(np.eye(4) - AX.T @ AX / c, c)
    assert np.allclose(2 * s * (J(D) + J(D).T), difference, atol=1e-6)
    basis = _newton._basis(np, 4, np.dtype(float), "cpu")
    expected = [[np.sum(basis[:, :, k] * J(basis[:, :, j])) for j in range(10)] for k in range(10)]
    assert np.allclose(J.matrix(basis), expected)


@pytest.mark.parametrize("map_", TIGHT)
def test_the_slope_along_a_direction_is_that_of_E(map_):
    draw, A, X, G, h, s = drawn_beside(map_, "l1")
    c, AX = A.tightness, A(X)
    Lambda, d = (sym(draw.standard_normal((4, 4))) for _ in "ab")
    K = np.eye(4) - AX.T @ AX / c

    def V(Lambda):
        W = X - s * G + 2 * s * X @ Lambda
        return W + A.adjoint(h.prox(A(W), c * s) - A(W)) / c - X

    W = A(X - s * G + 2 * s * X @ Lambda)
    slope = _newton._slope(h, AX, W, h.prox(W, c * s), d, s, c, K, np.sum(V(Lambda) * (X @ d)))
    for fraction in (0.0, 0.3, 1.0):
        assert slope(fraction) == pytest.approx(np.sum(V(Lambda + fraction * d) * (X @ d)), abs=1e-12)


def test_nearly_singular_systems_within_a_tight_map_are_solved_too():
    Q = Matrix(np.linalg.qr(np.random.default_rng(5).standard_normal((12, 12)))[0])
    for seed in range(20):
        draw = np.random.default_rng(seed)
        X = Stiefel(12, 5).project(draw.standard_normal((12, 5)))
        G = draw.standard_normal((12, 5))
        found = tangent_step(6.0 * L1(), X, G, 0.5, np.zeros((5, 5)), largest=1e-18, share=1.0, A=Q)
        assert np.linalg.norm(X.T @ found.V + found.V.T @ X) <= 1e-9
        # turning the space turns the solution
        turned = tangent_step(6.0 * L1(), Q(X), Q(G), 0.5, np.zeros((5, 5)), largest=1e-18, share=1.0)
        assert np.allclose(Q(found.V), turned.V, atol=1e-8)
        assert found.steps < 60


@pytest.mark.parametrize("map_", TIGHT)
@pytest.mark.parametrize("factor", [0.1, 10.0])
def test_a_share_of_what_the_map_sees_is_at_most_a_share_of_V(map_, factor):
    draw, A, X, _, h, s = drawn_beside(map_, "l1")
    A = factor * A
    for _ in range(10):
        G = draw.standard_normal((12, 4))
        found = tangent_step(h, X, G, s, np.zeros((4, 4)), largest=np.inf, share=1e-3, A=A)
        E = X.T @ found.V + found.V.T @ X
        assert np.sum(E * E) <= max(1e-3 * np.sum(A(found.V) ** 2) / A.tightness, 1e-26)
        assert np.sum(A(found.V) ** 2) / A.tightness <= np.sum(found.V**2) * (1 + 1e-12)
