"""The orthonormal matrices with given zeros: tangents, multipliers, and the way back to X'X = I."""

import numpy as np
import pytest

from active.problems import constraints, is_orthonormal, projected
from orthoprox.manifolds import SparseStiefel, sparse_stiefel

N, R = 12, 4


@pytest.fixture(autouse=True, params=[0, 24], ids=["diagonal", "dense"])
def columns_of_a_dense_inverse(request, monkeypatch):
    """Both preconditioners must give the same."""
    monkeypatch.setattr(sparse_stiefel, "_DENSE", request.param)
    return request.param


def pattern(seed, r=R, share=0.6):
    """Random zeros; any two columns have rows enough in common."""
    return (np.random.default_rng(seed).random((N, r)) < share).astype(float)


def orthonormal(on, seed=0):
    """A matrix with these zeros and X'X = I, by Gauss-Newton steps on the entries that are left."""
    X = np.random.default_rng(100 + seed).standard_normal(on.shape) * on
    X = X / np.linalg.norm(X, axis=0)
    for _ in range(60):
        E = X.T @ X - np.eye(X.shape[1])
        if np.max(np.abs(E)) < 1e-15:
            break
        X[on > 0] -= np.linalg.lstsq(constraints(X, on), E[np.triu_indices(len(E))], rcond=None)[0]
    assert is_orthonormal(X)
    return X


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
    return X, on, np.random.default_rng(7).standard_normal(on.shape) * on, SparseStiefel(on).tangent_space(X)


def left_side(X, on, Lam):
    """sym(X'((X Lam) on S)), which the multiplier makes equal to C."""
    left = X.T @ ((X @ Lam) * on)
    return (left + left.T) / 2


def a_symmetric_matrix(r=R):
    C = np.random.default_rng(9).standard_normal((r, r))
    return C + C.T


def test_the_tangent_part_is_the_orthogonal_projection(case):
    X, on, W, space = case
    D = space.project(W, 1e-14)
    assert np.allclose(D, projected(X, on, W), atol=1e-11) and not D[on == 0].any()
    normal = (X @ a_symmetric_matrix(X.shape[1])) * on
    assert np.linalg.norm(space.project(normal, 1e-14)) < 1e-11 * np.linalg.norm(normal)


def test_the_multiplier_solves_its_equation(case):
    X, on, W, space = case
    C = X.T @ W + W.T @ X
    Lam = space.multiplier(C, 1e-14)
    assert np.allclose(left_side(X, on, Lam), C, atol=1e-11) and np.allclose(Lam, Lam.T, rtol=0, atol=1e-14)
    assert np.allclose(space.apply(W.T @ W), left_side(X, on, W.T @ W), atol=1e-13)
    assert np.allclose(space.normal(W, 1e-14), Lam / 2, atol=1e-11)
    assert not space.multiplier(0.0 * C).any()


def test_the_multiplier_is_as_accurate_as_asked_and_a_dense_inverse_at_once(columns_of_a_dense_inverse):
    on, C = CASES["six in ten"], a_symmetric_matrix()
    X = orthonormal(on)

    def error(tolerance, dense):
        Lam = SparseStiefel(on).tangent_space(X, dense=dense).multiplier(C, tolerance)
        return np.linalg.norm(left_side(X, on, Lam) - C) / np.linalg.norm(C)

    for tolerance in (0.3, 1e-1, 1e-5):
        assert error(tolerance, dense=True) <= tolerance and error(tolerance, dense=False) <= tolerance
    space, products = SparseStiefel(on).tangent_space(X), []
    apply = space.apply
    space.apply = lambda Lam: products.append(1) or apply(Lam)
    space.multiplier(C, 1e-6)
    assert (len(products) == 1) == (columns_of_a_dense_inverse > 0)  # the first guess needs no step
    assert error(0.3, dense=False) > 1e-5  # no more work than was asked for


def test_columns_that_share_no_row_get_no_multiplier():
    for name in ("apart", "two and two"):
        on = CASES[name]
        apart = on.T @ on == 0
        Lam = SparseStiefel(on).tangent_space(orthonormal(on)).multiplier(a_symmetric_matrix())
        assert apart.any() and np.array_equal(Lam == 0, apart) and np.isfinite(Lam).all()


@pytest.mark.parametrize("columns", [0, 1, 3])
def test_a_large_matrix_is_taken_a_few_columns_at_a_time(columns, case, monkeypatch):
    X, on, W, space = case
    monkeypatch.setattr(sparse_stiefel, "_LARGE", columns * X.size)
    assert np.allclose(SparseStiefel(on).tangent_space(X).project(W), space.project(W), atol=1e-13)


@pytest.mark.parametrize("size", [1e-6, 1e-2, 0.1])
def test_the_way_back_ends_on_the_manifold_with_exact_zeros(case, size):
    X, on, W, space = case
    Y = X + size * W / np.linalg.norm(W)
    for near in (None, space):
        back = SparseStiefel(on).restore(Y, near)
        assert is_orthonormal(back) and not back[on == 0].any()
        assert np.linalg.norm(back - Y) <= 2 * size  # X itself is as near as this
    assert np.array_equal(SparseStiefel(on).restore(Y + (1 - on)), SparseStiefel(on).restore(Y))
    assert np.array_equal(SparseStiefel(on).restore(X), X)


def test_the_way_back_is_the_nearest_point_up_to_second_order():
    on = CASES["six in ten"]
    X = orthonormal(on)
    D = projected(X, on, np.random.default_rng(11).standard_normal((N, R)))
    for t in (1e-2, 1e-3):
        step = t * D / np.linalg.norm(D)
        assert np.linalg.norm(SparseStiefel(on).restore(X + step) - X - step) < 10 * t**2


def test_a_linearisation_far_away_does_not_prevent_it():
    on = CASES["nine in ten"]
    X, M = orthonormal(on), SparseStiefel(on)
    back = M.restore(X + 1e-2 * on, M.tangent_space(orthonormal(on, seed=1)))
    assert is_orthonormal(back) and np.linalg.norm(back - X) < 0.2


def test_zeros_that_make_a_corner_or_are_impossible_lose_an_entry_or_have_no_orthonormal_matrix():
    # Columns with one common row are orthogonal only where one of the entries is zero, and many steps pass to see it.
    for small in (0.02, 0.2, 0.5):
        Y = np.array([[0.8, 0.0], [0.6, small], [0.0, 0.8]])
        X = SparseStiefel((Y != 0).astype(float)).restore(Y)
        assert X is None or (is_orthonormal(X) and abs(X[1, 1]) < 1e-13)
    empty, row = np.eye(3, 2) * [1, 0], np.eye(4)[:, [0, 0]]
    for Y, on in ((empty, empty), (np.ones((4, 2)), row), (np.full((3, 2), np.nan), np.ones((3, 2)))):
        assert SparseStiefel(on).restore(Y) is None
    assert SparseStiefel(CASES["all"]).restore(10 * orthonormal(CASES["all"])) is None  # nothing near


def test_single_precision():
    on = CASES["six in ten"].astype(np.float32)
    X, M = orthonormal(on.astype(float)).astype(np.float32), SparseStiefel(on)
    noise = 0.05 * np.random.default_rng(12).standard_normal((N, R)).astype(np.float32) * on
    back, D = M.restore(X + noise), M.tangent_space(X).project(noise, 1e-5)
    assert back.dtype == D.dtype == np.float32
    assert is_orthonormal(back, 1e-5)
    assert np.allclose(D, projected(X.astype(float), on, noise.astype(float)), atol=1e-5)
