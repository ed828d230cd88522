"""The laws of linear maps: linear, with the adjoint that belongs to them, bounded, equal to a matrix."""

import tracemalloc

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csr_array
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import orthoprox.maps as maps
from catalogue_maps import CASES, MAPS, Case, N, R
from catalogue_terms import inner, size
from draws import sparse
from orthoprox._fields import replace
from orthoprox.maps import Centred, Difference, Entries, Gram, Identity, Matrix, Operator, Selection, Stack, as_map
from orthoprox.maps._frobenius import frobenius_squared
from sentences import check_refusal

numbers = st.floats(-10, 10).map(lambda x: x if abs(x) > 1e-150 else 0.0)  # the squares of smaller ones vanish
points = arrays(np.float64, (N, R), elements=numbers)
every_map = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])


def images(case: Case, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-10, 10, case.map.shape(N, R))


def test_every_class_is_in_the_catalogue() -> None:
    classes = {getattr(maps, name) for name in maps.__all__ if name not in ("LinearMap", "as_map")}
    assert {type(A) for A, _ in MAPS} == classes


@every_map
@given(X=points, Y=points, c=numbers, S=arrays(np.float64, (R, R), elements=numbers), seed=st.integers(0, 10**6))
def test_a_map_is_its_matrix_with_the_adjoint_that_belongs_to_it(case: Case, X, Y, c, S, seed) -> None:
    A, Z = case.map, images(case, seed)
    assert np.allclose(A(X), case.expected(X), rtol=1e-12, atol=1e-9)
    assert np.allclose(A(c * X + Y), c * A(X) + A(Y), rtol=1e-12, atol=1e-8)
    assert A.adjoint(Z).shape == X.shape
    assert abs(inner(A(X), Z) - inner(X, A.adjoint(Z))) <= 1e-12 * (1 + A.norm) * (1 + size(X)) * size(Z)
    assert size(A(X)) <= A.norm * size(X) * (1 + 1e-12) + 1e-300
    if A.left:
        assert np.allclose(A(X @ S), A(X) @ S, rtol=1e-11, atol=1e-7)


@every_map
def test_norms_and_shapes(case: Case) -> None:
    A, X = case.map, np.ones((N, R))
    assert isinstance(A.norm, float)
    true = np.linalg.norm(case.matrix, 2)
    assert true <= A.norm * (1 + 1e-12) + 1e-12
    assert A.norm <= true * (1 + 1e-12) + 1e-12 or not isinstance(A, (Matrix, maps.Sparse, Operator, Centred))
    assert A(X).shape == A.shape(N, R) == (A.rows(N), R)
    assert A.columns in (None, N)
    assert isinstance(A.cost(N), int) and A.cost(N) >= 0
    assert A.left == ("entries" not in case.name)
    if A.columns is not None:
        A.check(N)
        with pytest.raises(ValueError, match=f"B acts on matrices with {N} rows; given one with {N + 1}."):
            A.check(N + 1, "B")


def test_data_of_numpy_meet_an_X_of_another_library() -> None:
    X = np.random.default_rng(1).standard_normal((N, R))
    strict = array_api_strict.asarray(X)
    B, mask = csr_array(np.arange(30.0).reshape(5, N)), X > 0
    for A in (Entries(mask), Gram(B, form=True), Gram(Centred(B)), Centred(B, mean=np.ones(N))):
        assert type(A(strict)) is type(strict) and np.allclose(np.asarray(A(strict)), A(X))
    mean = array_api_strict.ones((N, 1), dtype=array_api_strict.float32)
    assert isinstance(Centred(B, mean=mean).mean, np.ndarray) and Centred(B, mean=mean).mean.dtype == float
    single = Centred(B)(X.astype(np.float32))
    assert single.dtype == np.float32 and np.allclose(single, Centred(B)(X), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    ("data", "error", "sentence"),
    [
        (np.ones((3, 2), dtype=int), TypeError, "real floating-point numbers; given dtype int64"),
        (np.ones((3, 2), dtype=complex), TypeError, "given dtype complex128"),
        (np.array([[1.0, np.nan]]), ValueError, "1 entries that are NaN or infinite out of 2"),
        (np.ones((3, 2), dtype=bool), TypeError, "given dtype bool"),
        (np.full((3, 2), "1.0"), TypeError, "given dtype <U3"),
        (np.ones((0, 2)), ValueError, r"is empty: given shape \(0, 2\); both sides must be at least 1"),
        (np.ones((2, 0)), ValueError, "is empty"),
        *((np.ones(shape), ValueError, "two dimensions; given shape") for shape in ((), (3,), (2, 3, 4))),
        (np.array([[None]], dtype=object), TypeError, "given dtype object"),
        *((data, TypeError, f"given {type(data).__name__}") for data in ([[1.0, 2.0]], "data.csv", None, 3)),
        (csr_array(np.ones((3, 2), dtype=int)), TypeError, "given dtype int64"),
        (csr_array(np.array([[1.0, np.inf]])), ValueError, "1 entries that are NaN or infinite out of 2 stored"),
        (csr_array((0, 2)), ValueError, "is empty"),
        (coo_array(np.ones(3)), ValueError, "two dimensions"),
    ],
)
def test_bad_data_are_refused_in_a_sentence(data, error, sentence) -> None:
    assert check_refusal(lambda: as_map(data, name="the data"), sentence, error).startswith("the data")
    check_refusal(lambda: Centred(data), sentence, error)


def operator(shape, factor=1.0, adjoint=None):
    return Operator(LinearOperator(shape, lambda x: factor * x, rmatvec=adjoint, dtype=float))


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: maps.Sparse(np.ones((2, 2))), TypeError, "given ndarray. For a dense one use Matrix"),
        (lambda: Operator(np.ones((2, 2))), TypeError, "given ndarray"),
        (lambda: operator((0, 2)), ValueError, "is empty"),
        (lambda: operator((2, 2)), TypeError, "no working adjoint"),
        (lambda: Operator(aslinearoperator(1j * np.eye(2))), TypeError, "must be real"),
        (lambda: operator((2, 2), 2.0, lambda x: x), ValueError, "does not belong to it"),
        (lambda: operator((1, 1), np.nan, lambda x: x), ValueError, "gave NaN or infinite"),
        (lambda: Centred(Difference()), ValueError, "has column means"),
        (lambda: Centred(Entries(np.eye(2))), ValueError, "has column means"),
        (lambda: Centred(np.ones((2, 3)), mean=np.ones((2, 1))), ValueError, r"shape \(3, 1\).*given \(2, 1\)"),
        (lambda: Centred(np.ones((2, 3)), mean=[1.0, 2.0, 3.0]), ValueError, "given list"),
        (lambda: Gram(Difference(), form=True), ValueError, "has a Gram matrix"),
        (lambda: Gram(Entries(np.eye(2)), form=True), ValueError, "has a Gram matrix"),
        (lambda: Difference(40), ValueError, r"given 40. A number of rows is Difference\(columns=n\)"),
        (lambda: Difference(columns=1), ValueError, "at least 2 rows; given 1"),
        (lambda: Difference()(np.ones((1, 2))), ValueError, "at least 2 rows; given 1"),
        (lambda: Difference(columns=3)(np.ones((4, 2))), ValueError, "with 3 rows; given one with 4"),
        (lambda: Selection([3], columns=3), ValueError, "from 0 to 2 when X has 3 rows; given 3"),
        (lambda: Selection([-1], columns=3), ValueError, "given -1"),
        (lambda: Selection([], columns=3), ValueError, "at least one row"),
        (lambda: Selection([True, False], columns=2), TypeError, "flatnonzero"),
        (lambda: Selection(np.array([True, False]), columns=2), TypeError, "flatnonzero"),
        (lambda: Selection([0.5], columns=2), TypeError, "given 0.5"),
        (lambda: Selection([0], columns=2)(np.ones((3, 1))), ValueError, "with 2 rows; given one with 3"),
        (lambda: Selection([0], columns=2).adjoint(np.ones((2, 1))), ValueError, "Wanted 1 chosen rows; given 2"),
        (lambda: Entries([[1, 0]]), ValueError, "given list"),
        (lambda: Entries(np.ones(3)), ValueError, r"given shape \(3,\)"),
        (lambda: Entries(np.full((2, 2), 0.5)), ValueError, "zeros and ones"),
        (lambda: Entries(np.full((2, 2), None)), ValueError, "zeros and ones"),
        (lambda: Entries(np.eye(2))(np.ones((2, 1))), ValueError, r"shape \(2, 2\); given X of \(2, 1\)"),
        (lambda: Stack(), ValueError, "at least one map"),
        (lambda: Stack(Identity(), Difference()), ValueError, "columns="),
        (lambda: Stack(np.ones((1, 2)), np.ones((1, 3))), ValueError, r"given maps for \[2, 3\] rows"),
        (lambda: Stack(np.ones((1, 2)), columns=3), ValueError, "with 2 rows; given one with 3"),
        (lambda: Stack(Identity(), columns=3)(np.ones((2, 1))), ValueError, "with 3 rows; given one with 2"),
        (lambda: Stack(Identity(), columns=3).split(np.ones((2, 1))), ValueError, "3 rows of the Stack; given 2"),
        (lambda: Matrix(np.ones((3, 2))) @ Matrix(np.ones((3, 2))), ValueError, "with 2 rows; given one with 3"),
        (lambda: Matrix(np.ones((3, 2))) + Matrix(np.ones((4, 2))), ValueError, "agree in rows"),
        (lambda: np.nan * Identity(), ValueError, "finite"),
        (lambda: maps.ScaledRows(Identity(), np.ones((3, 1))), ValueError, "known number of columns has rows"),
        (lambda: maps.ScaledRows(np.ones((3, 2)), np.ones((2, 1))), ValueError, r"shape \(3, 1\); given \(2, 1\)"),
        (lambda: maps.ScaledRows(np.ones((3, 2)), [1.0, 1.0, 1.0]), ValueError, "given list"),
        (lambda: maps.ScaledRows(np.eye(2), np.array([1.0, np.nan])), ValueError, "must be finite"),
        (lambda: Matrix(np.eye(2), norm=-1.0), ValueError, "not negative; given -1.0"),
        (lambda: Matrix(np.eye(2), norm=np.nan), ValueError, "finite"),
        (lambda: Matrix(np.eye(2), norm="big"), TypeError, "must be a number; given 'big'"),
    ],
)
def test_bad_settings_are_refused_in_a_sentence(make, error, sentence) -> None:
    check_refusal(make, sentence, error)


def test_what_becomes_which_map() -> None:
    B = np.ones((3, 2))
    kinds = [B, csr_array(B), aslinearoperator(B), Centred(B)]
    assert [type(as_map(kind)) for kind in kinds] == [Matrix, maps.Sparse, Operator, Centred]
    assert as_map(kinds[-1]) is kinds[-1]
    A = Matrix(B)
    made = [type(C) for C in (A + A, A - A, 2 * A, A * 2, -A, A @ Matrix(B.T))]
    assert made == [maps.Sum, maps.Sum, *3 * [maps.Scaled], maps.Product]
    assert isinstance(np.float64(2.0) * A, maps.Scaled)
    shown = ["Matrix(3 by 2)", "Sparse(3 by 2, 6 nonzeros)", "Operator(3 by 2)", "Centred(Matrix(3 by 2))"]
    assert [repr(as_map(kind)) for kind in kinds] == shown


def test_dense_data_are_not_copied_and_sparse_data_not_changed() -> None:
    X = B = np.ones((3, 2))
    assert Identity()(X) is X and Identity().adjoint(X) is X and Identity() == Identity()
    assert Matrix(B).B is B
    twice = csr_array((np.array([1.0, 2.0]), np.array([1, 1]), np.array([0, 2])), shape=(1, 3))
    A = maps.Sparse(twice)
    assert twice.nnz == 2 and A.B.nnz == A.cost(3) == 1
    assert frobenius_squared(A) == 9.0 and A.norm == pytest.approx(3.0)


def test_a_copy_with_changes_works_its_norm_out_again() -> None:
    assert replace(Matrix(np.eye(2)), B=3 * np.eye(2)).norm == pytest.approx(3.0)
    assert replace(Matrix(np.eye(2), norm=5.0), B=3 * np.eye(2)).norm == 5.0
    assert not replace(Gram(np.eye(2), form=False), B=Matrix(3 * np.eye(2))).formed
    stack = replace(Stack(np.ones((1, 2)), Identity()), maps=(Difference(), np.ones((1, 4))))
    assert stack.columns == 4 and stack.rows(4) == 4


def test_a_stack_in_three_ways_and_its_parts() -> None:
    A, B = Matrix(np.ones((2, 3))), Difference()
    for stack in (Stack(A, B), Stack([A, B]), Stack((A, B)), Stack(A, B, columns=3)):
        assert stack.maps == (A, B) and stack.columns == 3
        top, bottom = stack.split(stack(np.eye(3)))
        assert np.array_equal(top, A(np.eye(3))) and np.array_equal(bottom, B(np.eye(3)))
    assert repr(stack) == "Stack(maps=(Matrix(2 by 3), Difference(periodic=False, columns=None)), columns=3)"


def test_norms_that_are_known() -> None:
    B = Matrix(np.diag([1.0, 2.0]))
    loose = B + (-0.5) * B  # the sum of norms is 3, the norm is 1
    assert Gram(loose, form=True).norm == pytest.approx(1.0) and Gram(loose, form=False).norm == pytest.approx(9.0)
    assert Selection([1, 2], columns=3).norm == 1.0
    assert Selection([1, 2, 1, 1], columns=3).norm == pytest.approx(np.sqrt(3))
    assert Entries(np.zeros((2, 2), dtype=bool)).norm == 0.0 and Entries(np.eye(2)).norm == 1.0


def test_data_with_a_large_mean() -> None:
    noise = np.random.default_rng(0).standard_normal((200, 12))
    B = noise + 1e6
    exact = noise - noise.mean(axis=0)
    for A in (Centred(B), Centred(csr_array(B))):
        assert np.linalg.norm(exact, 2) <= A.norm * (1 + 1e-7) and A.norm <= 1.001 * np.linalg.norm(exact, 2)
        assert np.allclose(A(np.eye(12)), exact, atol=1e-6)
        assert np.allclose(Gram(A, form=True)(np.eye(12)), exact.T @ exact, rtol=1e-5, atol=1e-5)
        assert frobenius_squared(A) == pytest.approx(np.sum(exact**2), rel=1e-8)


def test_a_constant_matrix_has_nothing_left_when_centred() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = Centred(np.repeat(rng.uniform(-3, 3, (1, 7)), 50, axis=0))
        assert A.norm < 1e-12
        for X in rng.standard_normal((20, 7, 2)):
            assert size(A(X)) <= A.norm * size(X)


@pytest.mark.parametrize(("shape", "part"), [((2000, 5000), 8), ((200_000, 150), 2)])
def test_the_centred_matrix_is_never_formed(shape, part) -> None:
    rng = np.random.default_rng(0)
    B = sparse(shape, 2e-3, rng)
    X = rng.standard_normal((shape[1], 4))
    tracemalloc.start()
    A = Centred(B)
    A.adjoint(A(X))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < shape[0] * shape[1] * 8 / part


@pytest.mark.parametrize("n", [400, 700])
def test_a_centred_map_is_asked_for_few_columns_at_a_time(n) -> None:
    B, widths = np.random.default_rng(0).standard_normal((800, n)), []

    def product(M):
        def matmat(X):
            widths.append(X.shape[1])
            return M @ X

        return matmat

    L = LinearOperator(B.shape, lambda x: B @ x, lambda x: B.T @ x, product(B), float, product(B.T))
    A = Gram(Centred(L))
    assert A.formed and max(widths) <= 256
    exact = B - B.mean(axis=0)
    assert np.allclose(A.H, exact.T @ exact, atol=1e-9)


def test_a_gram_matrix_is_formed_when_that_is_cheaper() -> None:
    rng = np.random.default_rng(0)
    for m, n, formed in ((6, 5, True), (5, 5, True), (4, 5, False)):
        A = Gram(rng.standard_normal((m, n)))
        assert A.formed is formed and A.cost(n) == (n * n if formed else 2 * m * n)
        assert A.norm == pytest.approx(A.B.norm**2, rel=1e-12)
        X = rng.standard_normal((n, 2))
        for form in (True, False):
            other = Gram(A.B, form=form)
            assert other.formed is form and np.allclose(other(X), A.B.adjoint(A.B(X)), atol=1e-12)
    few_nonzeros = csr_array(np.eye(40, 20))
    assert not Gram(few_nonzeros).formed and Gram(few_nonzeros.toarray()).formed
