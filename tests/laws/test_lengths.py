"""Lengths of the rows and columns of every map, its Frobenius norm, and whether A A' = c I."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.linalg import aslinearoperator

from catalogue_maps import CASES, Case
from orthoprox.maps import Centred, Difference, Identity, Matrix, Operator, Selection, Sparse
from orthoprox.maps._columns import squared_column_norms
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.maps._rows import squared_row_norms, unit_rows


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_they_are_those_of_the_matrix(case: Case) -> None:
    if not case.map.left or case.map.columns is None:
        for function in (squared_column_norms, squared_row_norms, frobenius_squared):
            with pytest.raises(ValueError, match="known number of columns has (columns|rows|entries)"):
                function(case.map)
        return
    squares = case.matrix**2
    columns, rows = squared_column_norms(case.map), squared_row_norms(case.map)
    assert columns.shape == (squares.shape[1],) and rows.shape == (squares.shape[0], 1)
    assert np.allclose(columns, np.sum(squares, axis=0), rtol=1e-12, atol=1e-14)
    assert np.allclose(rows, np.sum(squares, axis=1, keepdims=True), rtol=1e-12, atol=1e-12)
    assert frobenius_squared(case.map) == pytest.approx(np.sum(squares), rel=1e-10, abs=1e-20)
    if case.name != "centred, one row":
        norms = np.sqrt(np.sum(squares, axis=1, keepdims=True))
        unit = case.matrix / np.where(norms > 1e-12, norms, 1.0) * (norms > 1e-12)
        assert np.allclose(unit_rows(case.map)(np.eye(case.map.columns)), unit, atol=1e-12)


def test_a_constant_sparse_column_has_no_length_and_none_is_negative() -> None:
    B = np.tile(np.random.default_rng(3).random(200), (7, 1))
    squares = squared_column_norms(Centred(Sparse(csr_array(B))))
    assert np.all(squares >= 0) and np.allclose(squares, 0, rtol=0, atol=1e-14)


def test_single_precision_stays_and_is_enough_for_what_the_mean_leaves() -> None:
    B = (1000 + np.random.default_rng(3).standard_normal((50, 4))).astype(np.float32)
    true = np.sum((B - B.mean(axis=0, dtype=float)) ** 2, axis=0)
    plain, centred = (squared_column_norms(A) for A in (Sparse(csr_array(B)), Centred(Sparse(csr_array(B)))))
    assert plain.dtype == centred.dtype == np.float32
    assert np.allclose(centred, true, rtol=1e-3, atol=0)


def tight_factor(B):
    """The c with B B' = c I, from the whole matrix."""
    gram = B @ B.T
    c = gram[0, 0]
    return c if c > 0 and np.allclose(gram, c * np.eye(len(B)), rtol=0, atol=1e-12 * c) else None


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_a_tightness_is_true_and_simple_maps_know_theirs(case: Case) -> None:
    wanted, found = tight_factor(case.matrix), case.map.tightness
    if found is not None or isinstance(case.map, (Identity, Matrix, Sparse, Operator, Selection)):
        assert found == (None if wanted is None else pytest.approx(wanted, rel=1e-13))


@pytest.mark.parametrize("m", [1, 4, 9])
def test_orthogonal_rows_of_one_length_are_recognised(m, monkeypatch) -> None:
    rng = np.random.default_rng(3)
    B = 1.5 * np.linalg.qr(rng.standard_normal((9, 9)))[0][:m]
    A = Matrix(B)
    some = Selection(range(m), columns=9)
    for tight in (A, Sparse(csr_array(B)), Operator(aslinearoperator(B))):
        assert tight.tightness == pytest.approx(2.25, rel=1e-13)
        assert (-2.0 * tight).tightness == pytest.approx(9.0, rel=1e-13)
        assert (0.0 * tight).tightness is None
    assert (3.0 * some).tightness == 9.0 and Identity().tightness == 1.0
    square = Matrix(2.0 * np.linalg.qr(rng.standard_normal((9, 9)))[0])
    assert (A @ square).tightness == pytest.approx(9.0, rel=1e-13)
    assert (Difference(periodic=True) @ square).tightness is None and (
        some @ Difference(periodic=True)
    ).tightness is None
    assert Matrix(B.astype(np.float32)).tightness == pytest.approx(2.25, rel=1e-5)
    assert Matrix(array_api_strict.asarray(B)).tightness == pytest.approx(2.25, rel=1e-13)
    assert Matrix(1e100 * B).tightness == pytest.approx(2.25e200, rel=1e-13)
    assert Matrix(1e200 * B, norm=1.5e200).tightness is None  # its squares are not finite
    calls, original, again = [], Matrix.adjoint, Matrix(B)
    monkeypatch.setattr(Matrix, "adjoint", lambda self, Z: calls.append(1) or original(self, Z))
    assert again.tightness == again.tightness and len(calls) == 1  # computed once


@pytest.mark.parametrize("seed", range(5))
def test_a_small_fault_in_one_row_is_not_overlooked(seed) -> None:
    rng = np.random.default_rng(seed)
    B = np.linalg.qr(rng.standard_normal((200, 120)))[0].T
    assert Matrix(B).tightness == pytest.approx(1.0, rel=1e-13)
    longer, leaning = B.copy(), B.copy()
    longer[7] *= 1 + 1e-9
    leaning[7] += 1e-9 * B[3]
    assert Matrix(longer).tightness is None and Matrix(leaning).tightness is None
    assert Matrix(B.T).tightness is None  # B'B = I is something else


def test_sparse_rows_near_the_mean_keep_their_length():
    rng = np.random.default_rng(0)
    mean = rng.standard_normal((6, 1))
    rows = mean.T + np.array([[1e-7], [1e-3], [1.0]]) * rng.standard_normal((3, 6))
    found = squared_row_norms(Centred(Sparse(csr_array(rows)), mean))
    assert np.allclose(found, np.sum((rows - mean.T) ** 2, axis=1, keepdims=True), rtol=1e-8, atol=0)
