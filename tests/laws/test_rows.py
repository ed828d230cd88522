"""Lengths of the rows of maps, from entries or from products."""

from __future__ import annotations

import numpy as np
import pytest

from catalogue_maps import CASES, Case
from orthoprox.maps import Identity, LinearMap, Matrix, ScaledRows, as_map
from orthoprox.maps._rows import squared_row_norms, unit_rows

LEFT = [case for case in CASES if case.map.left and case.map.columns is not None]


@pytest.mark.parametrize("case", LEFT, ids=lambda case: case.name)
def test_they_are_those_of_the_matrix(case: Case) -> None:
    expected = np.sum(case.matrix**2, axis=1, keepdims=True)
    assert np.allclose(squared_row_norms(case.map), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", [case for case in LEFT if case.name != "centred, one row"], ids=lambda case: case.name)
def test_unit_rows_have_length_one_or_stay_zero(case: Case) -> None:
    n = case.map.columns
    norms = np.linalg.norm(case.matrix, axis=1, keepdims=True)
    expected = case.matrix / np.where(norms > 1e-12, norms, 1.0) * (norms > 1e-12)
    assert np.allclose(unit_rows(case.map)(np.eye(n)), expected, atol=1e-12)


def test_a_map_of_any_size_has_no_rows() -> None:
    with pytest.raises(ValueError, match="known number of columns has rows"):
        squared_row_norms(Identity())
    with pytest.raises(ValueError, match="known number of columns has rows"):
        ScaledRows(Identity(), np.ones((3, 1)))


@pytest.mark.parametrize(
    ("factors", "sentence"),
    [
        (np.ones((2, 1)), r"shape \(3, 1\); given \(2, 1\)"),
        ([1.0, 1.0, 1.0], "given list"),
        (np.array([1.0, np.nan, 1.0]), "must be finite"),
    ],
)
def test_bad_factors_get_a_sentence(factors: object, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        ScaledRows(Matrix(np.ones((3, 2))), factors)


def test_data_are_taken_as_they_come() -> None:
    assert isinstance(ScaledRows(np.eye(2), np.ones(2)).B, LinearMap)
    assert as_map(ScaledRows(np.eye(2), np.ones(2))).columns == 2
