"""The tangent subproblem and the semismooth Newton method that solves it."""

import numpy as np
import pytest

from orthoprox._linalg import symmetric_basis
from orthoprox.manifolds import Stiefel
from orthoprox.maps import Identity, Matrix, Selection
from orthoprox.solvers import _newton
from orthoprox.solvers._newton import ByColumns, compress, newton_direction, tangent_step
from orthoprox.terms import L1, LInf
from steps.checks import prox_terms, sym

rng = np.random.default_rng(11)
SHAPES = {"few columns": (12, 4), "one column": (6, 1), "square": (5, 5), "many columns": (40, 16)}
TIGHT = {
    "all rows": Matrix(1.7 * np.linalg.qr(rng.standard_normal((12, 12)))[0]),
    "some rows": Matrix(-0.6 * np.linalg.qr(rng.standard_normal((12, 7)))[0].T),
    "chosen rows": 2.0 * Selection([4, 9, 0, 3, 7], columns=12),
}


KNOWN = [name for name, h in prox_terms(3, 1).items() if h.has_prox_derivative]
CASES = [(where, name) for where in (*SHAPES, *TIGHT) for name in KNOWN]


def draw(where, name):
    """A random subproblem; for A A' = c I in the space of the map."""
    n, r = SHAPES.get(where, (12, 4))
    A = TIGHT.get(where, Identity())
    rng = np.random.default_rng(len(name) + n + 100 * len(where))
    X = Stiefel(n, r).project(rng.standard_normal((n, r)))
    h = prox_terms(A.rows(n), r)[name]
    return rng, A, X, rng.standard_normal((n, r)), h, min(0.4, 0.5 / max(h.weak_convexity * A.norm**2, 1e-9))


def solve_cold(h, X, G, s, A=_newton.IDENTITY, largest=1e-22, share=1.0):
    return tangent_step(h, X, G, s, np.zeros((X.shape[1],) * 2), largest=largest, share=share, A=A)


def tangency(X, V):
    return np.linalg.norm(X.T @ V + V.T @ X)


@pytest.mark.parametrize(("where", "name"), CASES)
def test_V_satisfies_the_conditions_that_make_it_the_best_tangent_step(where, name):
    _, A, X, G, h, s = draw(where, name)
    found = solve_cold(h, X, G, s, A)
    V, c = found.V, A.tightness
    assert 1 / s > h.weak_convexity * A.norm**2  # the subproblem is strongly convex
    assert tangency(X, V) <= 1e-10
    assert found.steps < 40
    assert np.allclose(found.y, A(X + V), atol=1e-13)
    W = X - s * G + 2 * s * X @ found.multiplier
    assert np.array_equal(found.y == 0, h.prox(A(W), c * s) == 0)  # its zeros are those of the prox, not rounded ones
    assert h.subgradient_distance(found.y, (A(W) - found.y) / (c * s)) < 1e-10
    assert np.allclose(A.adjoint(A(W) - found.y) / c, W - X - V, atol=1e-13)


@pytest.mark.parametrize(("where", "name"), CASES)
def test_the_derivative_of_E_and_the_newton_system(where, name):
    rng, A, X, G, h, s = draw(where, name)
    r, c, AX = X.shape[1], A.tightness, A(X)
    Lambda, D = (sym(rng.standard_normal((r, r))) for _ in "LD")
    at = h.prox_derivative(A(X - s * G + 2 * s * X @ Lambda), c * s)
    K = np.eye(r) - AX.T @ AX / c
    J = compress(at, AX).plus(K, c)
    assert np.allclose(compress(at, AX, _newton._column_products(AX)).plus(K, c)(D), J(D), atol=1e-12)

    def E(Lambda):
        W = X - s * G + 2 * s * X @ Lambda
        Z = W + A.adjoint(h.prox(A(W), c * s) - A(W)) / c
        return Z.T @ X + X.T @ Z - 2 * np.eye(r)

    step = 1e-7  # the draws stay clear of kinks
    difference = (E(Lambda + step * D) - E(Lambda - step * D)) / (2 * step)
    assert np.allclose(2 * s * (J(D) + J(D).T), difference, atol=1e-6)
    if r < 10:
        basis = symmetric_basis(np, r, np.dtype(float), "cpu")
        count = basis.shape[2]
        expected = [[np.sum(basis[:, :, k] * J(basis[:, :, j])) for j in range(count)] for k in range(count)]
        assert np.allclose(J.matrix(basis), expected)
    for size in (1e-3, 10.0):  # both ways to solve the Newton system
        E = sym(rng.standard_normal((r, r)))
        E = size / np.linalg.norm(E) * E
        eta = 0.2 * min(size, 0.1) * min(1, 4 * s)
        for dense, allowed in ((True, 1e-9), (False, 1.001e-4)):
            d = newton_direction(J, E, s, dense=dense)
            assert np.allclose(d, d.T)
            assert np.linalg.norm(2 * s * (J(d) + J(d).T) + eta * d + E) <= allowed * size


def test_the_regularisation_vanishes_with_E_but_not_beside_J():
    nothing = ByColumns(np.zeros((3, 3, 3)))
    for s in (1e-3, 0.1, 1e4):
        for size in (1e3, 1e-3, 1e-20):
            E = size * np.eye(3) / np.sqrt(3)
            eta = max(0.2 * max(min(size, 0.1), 1e-11) * min(1, 4 * s), 64 * s * np.finfo(float).eps)
            for dense in (True, False):
                assert np.allclose(newton_direction(nothing, E, s, dense=dense), -E / eta, rtol=1e-10, atol=0)


def test_a_warm_start_saves_steps_and_a_loose_tolerance_stops_earlier():
    _, _, X, G, h, s = draw("few columns", "l1")
    cold = solve_cold(h, X, G, s)
    assert cold.steps >= 3
    assert tangent_step(h, X, G, s, cold.multiplier, largest=1e-20, share=1.0).steps == 0
    loose = solve_cold(h, X, G, s, largest=1e-2)
    assert loose.steps < cold.steps
    assert 1e-22 < tangency(X, loose.V) ** 2 <= 1e-2
    shared = solve_cold(h, X, G, s, largest=1.0, share=1e-3)
    assert tangency(X, shared.V) ** 2 <= 1e-3 * np.sum(shared.V**2)
    assert tangent_step(h, X, G, s, cold.multiplier, largest=0.0, share=0.0).steps < 20  # rounding is enough


def test_nearly_singular_systems_are_solved_too():
    # With a heavy weight few entries are left, so that the derivative has a large null space.
    Q = Matrix(np.linalg.qr(np.random.default_rng(5).standard_normal((12, 12)))[0])
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = Stiefel(12, 5).project(rng.standard_normal((12, 5)))
        G = rng.standard_normal((12, 5))
        for A in (Identity(), Q):
            found = solve_cold(6.0 * L1(), X, G, 0.5, A, largest=1e-18)
            assert tangency(X, found.V) <= 1e-9
            assert found.steps < 60
        # turning the space turns the solution
        turned = solve_cold(6.0 * L1(), Q(X), Q(G), 0.5, largest=1e-18)
        assert np.allclose(Q(found.V), turned.V, atol=1e-8)


SLOPES = {
    "straight": lambda x: 4.0 * x - 1.0,
    "kink": lambda x: max(4.0 * x - 3.0, 0.0) - 0.5,
    "flat, kink": lambda x: max(4.0 * x - 3.0, 0.0) - 0.001,  # along which a plain false position creeps
    "concave": lambda x: x**0.5 - 0.2,  # the first trials lie beyond the zero
}


@pytest.mark.parametrize("kind", SLOPES)
@pytest.mark.parametrize("size", [4.0, 1e-3])
def test_the_search_finds_the_zero_of_a_slope(kind, size):
    def slope(fraction):
        return size * SLOPES[kind](fraction)

    found = _newton._find_zero(slope, (slope(0), slope(1)))
    assert abs(slope(found)) <= 0.1 * abs(slope(0))
    assert kind != "straight" or found == pytest.approx(0.25)
    assert _newton._find_zero(slope, (-1.0, -0.5)) == 1.0


def test_large_problems_keep_no_products(monkeypatch):
    _, _, X, G, h, s = draw("few columns", "l1")
    kept = solve_cold(h, X, G, s).V
    monkeypatch.setattr(_newton, "_LARGE", 0)
    assert _newton._column_products(X) is None
    assert np.allclose(solve_cold(h, X, G, s).V, kept, atol=1e-11)


def test_a_prox_without_a_known_derivative_is_refused():
    with pytest.raises(TypeError, match="derivative of this prox is not known"):
        compress(LInf().prox_derivative(np.eye(3, 2), 0.1), np.eye(3, 2))
