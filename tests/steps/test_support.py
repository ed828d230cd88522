"""The orthonormal matrices with given zeros: tangents, multipliers, and the way back to X'X = I."""

from __future__ import annotations

import numpy as np
import pytest
from orthoprox.solvers._support import Support, restored

from orthoprox.solvers import _support

N, R = 12, 4


@pytest.fixture(autouse=True, params=[0, 24], ids=["diagonal", "dense"])
def columns_of_a_dense_inverse(request, monkeypatch):
    """Both preconditioners must give the same."""
    monkeypatch.setattr(_support, "_DENSE", request.param)
    return request.param


def pattern(seed, n=N, r=R, share=0.6):
    """Random zeros; any two columns have rows enough in common."""
    return (np.random.default_rng(seed).random((n, r)) < share).astype(float)


def orthonormal(on, seed=0):
    """A matrix with these zeros and X'X = I, by Gauss-Newton steps on the entries that are left."""
    X = np.random.default_rng(100 + seed).standard_normal(on.shape) * on
    X = X / np.linalg.norm(X, axis=0)
    where = np.nonzero(on.ravel())[0]
    for _ in range(60):
        E = X.T @ X - np.eye(X.shape[1])
        J = constraints(X, on)
        step = np.zeros(on.size)
        step[where] = np.linalg.lstsq(J, E[np.triu_indices(X.shape[1])], rcond=None)[0]
        X = X - step.reshape(on.shape)
    assert np.linalg.norm(X.T @ X - np.eye(X.shape[1])) < 1e-13
    return X


def constraints(X, on):
    """The derivative of the upper triangle of X'X in the entries on S, a row for each entry of the triangle."""
    rows = []
    for entry in zip(*np.nonzero(on), strict=True):
        E = np.zeros_like(X)
        E[entry] = 1.0
        rows.append((X.T @ E + E.T @ X)[np.triu_indices(X.shape[1])])
    return np.array(rows).T


def projected(X, on, W):
    """W without its part in the row space of the constraints: the definition of the tangent part."""
    where = on > 0
    J = constraints(X, on)
    w = W[where]
    D = np.zeros_like(X)
    D[where] = w - np.linalg.pinv(J) @ (J @ w)
    return D


CASES = {
    "six in ten": pattern(3),
    "nine in ten": pattern(4, share=0.9),
    "all": np.ones((N, R)),
    "one column": pattern(5, r=1),
    "as many columns as rows": np.kron(np.eye(2), np.ones((2, 2))),
    "apart": np.kron(np.eye(4), np.ones((3, 1))),  # no two columns share a row
    "two and two": np.kron(np.eye(2), np.ones((6, 2))),  # only some do
}


@pytest.fixture(params=CASES)
def case(request):
    on = CASES[request.param]
    X = orthonormal(on)
    W = np.random.default_rng(7).standard_normal(on.shape) * on
    return X, on, W, Support(X, on)


def test_the_tangent_part_is_the_orthogonal_projection(case):
    X, on, W, support = case
    D = support.tangent(W, 1e-14)
    assert np.allclose(D, projected(X, on, W), atol=1e-11)
    assert (D[on == 0] == 0).all()
    assert np.linalg.norm(X.T @ D + D.T @ X) < 1e-11


def test_a_tangent_stays_and_a_normal_goes(case):
    X, on, W, support = case
    D = projected(X, on, W)
    assert np.allclose(support.tangent(D), D, atol=1e-11)
    Lam = np.random.default_rng(8).standard_normal((X.shape[1],) * 2)
    normal = (X @ (Lam + Lam.T)) * on
    assert np.linalg.norm(support.tangent(normal, 1e-14)) < 1e-11 * np.linalg.norm(normal)


def test_the_multiplier_solves_its_equation(case):
    X, on, W, support = case
    C = X.T @ W + W.T @ X
    Lam = support.multiplier(C, 1e-14)
    left = X.T @ ((X @ Lam) * on)
    assert np.allclose((left + left.T) / 2, C, atol=1e-11)
    assert np.array_equal(Lam, Lam.T)
    assert np.allclose(support.normal(W, 1e-14), Lam / 2, atol=1e-11)


def test_a_dense_inverse_is_one():
    """Up to its ridge: its first guess needs no step."""
    for name in ("six in ten", "nine in ten", "all", "one column"):
        on = CASES[name]
        X = orthonormal(on)
        support, C = Support(X, on), np.random.default_rng(8).standard_normal((on.shape[1],) * 2)
        if support._whole is not None:
            np.testing.assert_allclose(support.apply(support._near(C + C.T)), C + C.T, rtol=0, atol=1e-5)
        assert Support(X, on, dense=False)._whole is None


def test_the_multiplier_is_as_accurate_as_asked(columns_of_a_dense_inverse):
    on = CASES["six in ten"]
    X = orthonormal(on)
    support, C = Support(X, on), np.random.default_rng(9).standard_normal((R, R))
    C = C + C.T
    errors = []
    for tolerance in (1e-1, 1e-5):
        Lam = support.multiplier(C, tolerance)
        left = X.T @ ((X @ Lam) * on)
        errors.append(np.linalg.norm((left + left.T) / 2 - C) / np.linalg.norm(C))
        assert errors[-1] <= tolerance
    if columns_of_a_dense_inverse == 0:
        assert errors[0] > 1e-5  # no more work than was asked for


def test_columns_that_share_no_row_get_no_multiplier():
    for name in ("apart", "two and two"):
        on = CASES[name]
        X = orthonormal(on)
        apart = on.T @ on == 0
        assert apart.any()
        C = np.random.default_rng(10).standard_normal((4, 4))
        Lam = Support(X, on).multiplier(C + C.T)
        assert (Lam[apart] == 0).all()
        assert (Lam[~apart] != 0).all()
        assert np.isfinite(Lam).all()


def test_nothing_to_multiply_is_nothing():
    on = CASES["six in ten"]
    support = Support(orthonormal(on), on)
    assert not support.multiplier(np.zeros((R, R))).any()
    assert not support.tangent(np.zeros((N, R))).any()


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_a_large_matrix_is_taken_a_few_columns_at_a_time(columns, case, monkeypatch):
    X, on, W, support = case
    monkeypatch.setattr(_support, "_AT_ONCE", columns * X.size)
    parts = Support(X, on)
    assert np.allclose(parts.tangent(W), support.tangent(W), atol=1e-13)
    C = X.T @ W + W.T @ X
    assert np.allclose(parts.multiplier(C), support.multiplier(C), atol=1e-10)


@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.1])
def test_the_way_back_ends_on_the_manifold_with_exact_zeros(case, size):
    X, on, W, support = case
    Y = X + size * W / np.linalg.norm(W)
    for near in (None, support):
        back = restored(Y, on, near)
        assert np.max(np.abs(back.T @ back - np.eye(X.shape[1]))) < 1e-13
        assert (back[on == 0] == 0).all()
        assert np.linalg.norm(back - Y) <= 2 * size  # X itself is as near as this
    off = Y + (1 - on)
    assert np.array_equal(restored(off, on), restored(Y, on))  # what is off S does not count


def test_the_way_back_is_the_nearest_point_up_to_second_order():
    on = CASES["six in ten"]
    X = orthonormal(on)
    D = projected(X, on, np.random.default_rng(11).standard_normal((N, R)) * on)
    D = D / np.linalg.norm(D)
    for t in (1e-2, 1e-3):
        assert np.linalg.norm(restored(X + t * D, on) - X - t * D) < 10 * t**2


def test_an_orthonormal_matrix_stays_as_it_is(case):
    X, on, _, _ = case
    assert np.array_equal(restored(X, on), X)


def test_a_linearisation_far_away_does_not_prevent_it():
    on = CASES["nine in ten"]
    X, other = orthonormal(on), orthonormal(on, seed=1)
    back = restored(X + 1e-2 * on, on, Support(other, on))
    assert np.max(np.abs(back.T @ back - np.eye(R))) < 1e-13
    assert np.linalg.norm(back - X) < 0.2


def test_two_columns_with_one_common_row_lose_the_smaller_entry_there_or_have_no_orthonormal_matrix():
    # They are orthogonal only where one of the two entries is zero, and that takes many steps to see.
    for small in (0.02, 0.2, 0.5):
        Y = np.array([[0.8, 0.0], [0.6, small], [0.0, 0.8]])
        X = restored(Y, (Y != 0).astype(float))
        if X is not None:
            assert np.max(np.abs(X.T @ X - np.eye(2))) < 1e-13
            assert abs(X[1, 1]) < 1e-13


def test_impossible_zeros_have_no_orthonormal_matrix():
    empty = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert restored(empty, (empty != 0).astype(float)) is None  # a column without entries
    assert restored(np.ones((4, 2)), np.kron(np.ones((1, 2)), np.array([[1.0], [0], [0], [0]]))) is None
    far = 10 * orthonormal(CASES["six in ten"])
    assert restored(far, CASES["six in ten"]) is None  # nothing near
    assert restored(np.full((3, 2), np.nan), np.ones((3, 2))) is None


def test_single_precision():
    on = CASES["six in ten"]
    X = orthonormal(on).astype(np.float32)
    noise = 0.05 * np.random.default_rng(12).standard_normal((N, R)).astype(np.float32)
    back = restored(X + noise, on.astype(np.float32))
    assert back.dtype == np.float32
    assert np.max(np.abs(back.T @ back - np.eye(R))) < 1e-5
    D = Support(X, on.astype(np.float32)).tangent(noise * on.astype(np.float32), 1e-5)
    assert D.dtype == np.float32
    assert np.allclose(D, projected(X.astype(float), on, noise * on), atol=1e-5)
