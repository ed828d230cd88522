"""Products and norms of all entries, rounding, conjugate gradients, bases of symmetric matrices."""

import math

import array_api_strict
import numpy as np
import pytest

from orthoprox._linalg import (
    conjugate_gradients,
    identity_like,
    inner,
    norm,
    rounding,
    symmetric,
    symmetric_basis,
    triangle,
)
from orthoprox.backends import Backend, backend_of

A = np.random.default_rng(0).standard_normal((5, 4))


@pytest.mark.parametrize("xp", [np, array_api_strict])
@pytest.mark.parametrize(
    ("dtype", "sizes"), [("float64", [1e200, 1e-200, 1e-145, 1.0, 1e300]), ("float32", [1e30, 1e-30, 1e-15, 1.0])]
)
def test_the_norm_neither_overflows_nor_underflows(xp, dtype, sizes):
    for size in sizes:
        a = xp.asarray(A * size, dtype=getattr(xp, dtype))
        found = norm(a)
        assert found.dtype == a.dtype and found.shape == ()
        assert float(found) / size == pytest.approx(np.linalg.norm(A), rel=1e-6 if dtype == "float32" else 1e-14)


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_the_norm_of_what_is_hardly_a_number(xp):
    for shape in ((3, 2), (0, 4), (0,)):
        assert float(norm(xp.zeros(shape))) == 0.0
    assert float(norm(xp.full((2, 2), 1e-320))) == pytest.approx(2e-320, rel=1e-3)
    assert float(norm(xp.asarray([1.0, -math.inf]))) == math.inf
    assert math.isnan(float(norm(xp.asarray([1.0, math.nan]))))
    assert math.isnan(float(norm(xp.asarray([math.inf, math.nan]))))


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_products_symmetric_parts_and_rounding(xp):
    a, b = xp.asarray(A), xp.asarray(np.arange(20.0).reshape(5, 4))
    assert float(inner(a, b)) == pytest.approx(np.sum(A * np.arange(20.0).reshape(5, 4)))
    W = A[:4]
    np.testing.assert_allclose(np.asarray(symmetric(xp.asarray(W))), (W + W.T) / 2)
    assert np.array_equal(np.asarray(identity_like(a)), np.eye(4))
    assert rounding(a, -2.0) == 128 * np.finfo(float).eps
    assert rounding(xp.asarray(a, dtype=xp.float32), 1.0) == 64 * float(np.finfo(np.float32).eps)


def a_system(spectrum, seed=1):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.standard_normal((len(spectrum), len(spectrum))))
    K = (Q * spectrum) @ Q.T
    return K, K @ rng.standard_normal((len(spectrum), 1))


def counted(K):
    calls = []
    return calls, lambda x: calls.append(1) or K @ x


PRECONDITIONERS = {
    "none": lambda K: None,
    "exact": lambda K: lambda R: np.linalg.solve(K, R),
    "diagonal": lambda K: lambda R: R / np.diag(K)[:, None],
}


@pytest.mark.parametrize("precondition", PRECONDITIONERS)
@pytest.mark.parametrize("tolerance", [0.3, 1e-3, 1e-10])
def test_conjugate_gradients_keep_their_tolerance(precondition, tolerance):
    K, b = a_system(np.geomspace(1.0, 1e3, 20))
    K = K + np.diag(np.geomspace(1.0, 1e5, 20))  # which a diagonal sees
    near = PRECONDITIONERS[precondition](K)
    calls, apply = counted(K)
    found = conjugate_gradients(apply, b, tolerance=tolerance, most=2000, precondition=near)
    rest = np.linalg.norm(K @ found.x - b) / np.linalg.norm(b)
    assert rest <= 1.01 * tolerance + 1e-13 and len(calls) == found.products
    if precondition == "exact":
        assert found.products == 1
    elif tolerance > 1e-10:
        assert rest > 1e-3 * tolerance  # no more work than was asked for
    if precondition == "diagonal":
        assert found.products < conjugate_gradients(apply, b, tolerance=tolerance, most=2000).products


def test_each_product_makes_the_error_least_on_one_more_direction():
    """Conjugacy: n products solve a system in n unknowns, and fewer minimise over a Krylov space."""
    K, b = a_system(np.linspace(1.0, 9.0, 6))
    assert conjugate_gradients(lambda x: K @ x, b, tolerance=1e-10, most=99).products <= 6
    for most in range(4):
        found = conjugate_gradients(lambda x: K @ x, b, tolerance=0.0, most=most)
        krylov = np.hstack([np.linalg.matrix_power(K, k) @ b for k in range(most)] or [0 * b])
        best = krylov @ np.linalg.lstsq(krylov.T @ K @ krylov, krylov.T @ b, rcond=None)[0]
        assert found.products == most
        np.testing.assert_allclose(found.x, best, atol=1e-9)


def test_a_singular_system_with_a_solution_is_solved_and_nothing_asks_for_nothing():
    K, b = a_system(np.r_[np.zeros(4), np.linspace(1.0, 5.0, 6)])
    found = conjugate_gradients(lambda x: K @ x, b, tolerance=1e-10, most=50)
    assert np.linalg.norm(K @ found.x - b) <= 1e-9 * np.linalg.norm(b)
    nothing = conjugate_gradients(lambda x: K @ x, 0 * b, tolerance=1e-10, most=50)
    assert not nothing.x.any() and nothing.products == 0
    lost = conjugate_gradients(lambda x: 0 * x, b, tolerance=1e-10, most=50)  # no curvature: no step
    assert not lost.x.any() and lost.products == 1


@pytest.mark.parametrize("r", [1, 2, 5])
def test_the_triangle_and_the_basis_of_symmetric_matrices(r):
    rows, columns, places = triangle(np, r, "cpu")
    assert [rows.tolist(), columns.tolist()] == [index.tolist() for index in np.triu_indices(r)]
    C = symmetric(np.random.default_rng(2).standard_normal((r, r)))
    assert np.array_equal(C[rows, columns][places].reshape(r, r), C)
    basis = symmetric_basis(np, r, np.float64, "cpu")
    flat = basis.reshape(r * r, -1)
    assert basis.shape == (r, r, r * (r + 1) // 2) and np.array_equal(basis, basis.transpose(1, 0, 2))
    np.testing.assert_allclose(flat.T @ flat, np.eye(flat.shape[1]), atol=1e-15)
    assert symmetric_basis(np, r, np.float32, "cpu").dtype == np.float32


def test_conjugate_gradients_end_where_products_underflow():
    """The product of residual and preconditioned residual is zero there, although their curvature is not."""
    b = np.array([[3e-161]])
    found = conjugate_gradients(lambda x: 1e10 * x, b, tolerance=1e-3, most=9, precondition=lambda r: 1e-8 * r)
    assert np.all(np.isfinite(found.x)) and found.products < 9


@pytest.mark.parametrize("backend", [Backend(), backend_of(np.zeros(1))], ids=["standard", "numpy"])
def test_shorter_ways_give_what_the_standard_gives(backend, rng):
    a, b = rng.standard_normal((2, 7, 3))
    assert float(backend.dot(a, b)) == pytest.approx(np.sum(a * b), rel=1e-14)
    assert float(backend.dot(a.T, b.T)) == pytest.approx(np.sum(a * b), rel=1e-14)  # rows that are not contiguous
    values, vectors = backend.eigh(a.T @ a)
    assert np.allclose(vectors * values @ vectors.T, a.T @ a) and np.all(np.diff(values) > 0)
    for entry, finite in ((1.0, True), (np.nan, False), (np.inf, False), (-np.inf, False)):
        a[2, 1] = entry
        assert bool(backend.all_finite(a)) == finite
    for test in (True, np.True_, np.bool_(False)):
        assert backend.cond(test, lambda x: x, lambda x: -x, 3) == (3 if test else -3)
