"""The lengths of the columns of every map."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from catalogue_maps import CASES, Case
from orthoprox.maps import Centred, Sparse
from orthoprox.maps._columns import squared_column_norms


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_squared_lengths_of_the_columns(case: Case) -> None:
    if case.map.left and case.map.columns is not None:
        found = squared_column_norms(case.map)
        assert found.shape == (case.matrix.shape[1],)
        assert np.allclose(found, np.sum(case.matrix**2, axis=0), rtol=1e-12, atol=1e-14)
    else:
        with pytest.raises(ValueError, match="known number of columns"):
            squared_column_norms(case.map)


def test_a_constant_sparse_column_has_no_length_and_none_is_negative() -> None:
    B = np.tile(np.random.default_rng(3).random(200), (7, 1))
    found = squared_column_norms(Centred(Sparse(csr_array(B))))
    assert np.all(found >= 0) and np.allclose(found, 0, rtol=0, atol=1e-14)


def test_single_precision_stays_and_is_enough_for_what_the_mean_leaves() -> None:
    B = (1000 + np.random.default_rng(3).standard_normal((50, 4))).astype(np.float32)
    true = np.sum((B - B.mean(axis=0, dtype=float)) ** 2, axis=0)
    plain, centred = (squared_column_norms(A) for A in (Sparse(csr_array(B)), Centred(Sparse(csr_array(B)))))
    assert plain.dtype == centred.dtype == np.float32
    assert np.allclose(centred, true, rtol=1e-3, atol=0)
