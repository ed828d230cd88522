"""Conjugate gradients and bases of symmetric matrices, which several methods rest on."""

import numpy as np
import pytest

from orthoprox._linalg import conjugate_gradients, symmetric_basis, triangle


@pytest.fixture
def A(rng):
    A = rng.standard_normal((6, 6))
    return A @ A.T + np.eye(6)


def residual(A, found, b):
    return np.linalg.norm(A @ found.x - b) / np.linalg.norm(b)


def test_they_solve_up_to_the_tolerance_or_the_limit(A, rng):
    b = rng.standard_normal((6, 1))
    exact = conjugate_gradients(lambda d: A @ d, b, tolerance=1e-12, most=50)
    assert residual(A, exact, b) < 1e-10 and exact.products < 15
    rough = conjugate_gradients(lambda d: A @ d, b, tolerance=0.3, most=50)
    assert 1e-6 < residual(A, rough, b) <= 0.3
    one = conjugate_gradients(lambda d: A @ d, b, tolerance=1e-12, most=1)
    assert np.allclose(one.x, np.sum(b * b) / np.sum(b * (A @ b)) * b) and one.products == 1
    assert not conjugate_gradients(lambda d: A @ d, 0 * b, tolerance=1e-3, most=5).x.any()
    flat = conjugate_gradients(lambda d: 0 * d, b, tolerance=1e-3, most=5)  # no curvature: it stops
    assert not flat.x.any() and flat.products == 1


def test_a_preconditioner_is_the_first_guess_and_the_metric(A, rng):
    b = rng.standard_normal((6, 1))
    inverse = np.linalg.inv(A)
    found = conjugate_gradients(lambda d: A @ d, b, tolerance=1e-8, most=50, precondition=lambda d: inverse @ d)
    assert residual(A, found, b) < 1e-8 and found.products == 1
    diagonal = 1 / np.diag(A)[:, None]
    found = conjugate_gradients(lambda d: A @ d, b, tolerance=1e-10, most=50, precondition=lambda d: diagonal * d)
    assert residual(A, found, b) < 1e-9


@pytest.mark.parametrize("r", [1, 2, 5])
def test_the_basis_is_orthonormal_and_symmetric(r):
    basis = symmetric_basis(np, r, np.dtype(float), "cpu")
    flat = basis.reshape(r * r, -1)
    assert flat.shape[1] == r * (r + 1) // 2
    assert np.allclose(flat.T @ flat, np.eye(flat.shape[1]))
    assert np.allclose(basis, basis.transpose(1, 0, 2))
    S = np.arange(r * r).reshape(r, r)
    S = S + S.T
    rows, columns, places = triangle(np, r, "cpu")
    assert np.array_equal(S[rows, columns][places].reshape(r, r), S)
