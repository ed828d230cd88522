"""Lengths of the rows and columns of every map, and its Frobenius norm: from entries or from products."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from catalogue_maps import CASES, Case
from orthoprox.maps import Centred, Identity, LinearMap, Matrix, ScaledRows, Sparse, as_map
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


@pytest.mark.parametrize(
    ("B", "factors", "sentence"),
    [
        (Identity(), np.ones((3, 1)), "known number of columns has rows"),
        (Matrix(np.ones((3, 2))), np.ones((2, 1)), r"shape \(3, 1\); given \(2, 1\)"),
        (Matrix(np.ones((3, 2))), [1.0, 1.0, 1.0], "given list"),
        (Matrix(np.ones((3, 2))), np.array([1.0, np.nan, 1.0]), "must be finite"),
    ],
)
def test_bad_factors_get_a_sentence(B: LinearMap, factors: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ScaledRows(B, factors)


def test_data_are_taken_as_they_come() -> None:
    assert isinstance(ScaledRows(np.eye(2), np.ones(2)).B, LinearMap)
    assert as_map(ScaledRows(np.eye(2), np.ones(2))).columns == 2
