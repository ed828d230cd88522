"""Choosing, scaling and centring, against what they claim."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from datasets.helpers import tiny
from orthoprox.datasets import DataDamaged, DataUnavailable, _prepare
from orthoprox.datasets._prepare import centre_then_scale, choose, normalise_columns, scale_then_centre


def matrix(m=40, n=30, density=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(1, 9, (m, n)) * (rng.random((m, n)) < density)


def pick(A, m, n, seed=0, **changes):
    return choose(A, tiny(**changes), m, n, np.random.default_rng(seed))


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_what_is_chosen_are_rows_and_columns_of_the_whole(kind):
    A = matrix().astype(np.uint8)
    B, rows, columns = pick(kind(A), 8, 6)
    assert B.shape == (8, 6) and B.dtype == np.float64
    assert len(set(rows)) == 8 and len(set(columns)) == 6
    assert np.array_equal(B.toarray() if kind is csr_array else B, A[np.ix_(rows, columns)])


def test_no_column_is_zero_in_the_chosen_rows():
    # with 8 rows at a tenth most columns are empty for some choice of rows, though none is in all 40
    A = matrix(density=0.1)
    assert A.any(axis=0).all()
    for seed in range(20):
        B, rows, columns = pick(A, 8, None, seed)
        assert B.any(axis=0).all()
        assert set(columns) == set(np.flatnonzero(A[rows].any(axis=0)))
        assert len(columns) < 30
    stored = csr_array((np.array([1.0, 0.0]), (np.array([0, 1]), np.array([0, 1]))), shape=(2, 3))
    assert stored.nnz == 2 and list(pick(stored, None, None)[2]) == [0]  # a stored zero does not keep a column
    assert np.array_equal(pick(A, 4, None, drop_empty=False)[2], np.arange(30))


def test_the_seed_decides_and_all_rows_are_all_rows():
    A = matrix()
    first, other = pick(A, 8, 6), pick(A, 8, 6, seed=1)
    for again in (pick(A, 8, 6), pick(csr_array(A), 8, 6)):  # dense and sparse alike
        assert np.array_equal(again[1], first[1]) and np.array_equal(again[2], first[2])
    assert not np.array_equal(other[1], first[1])
    # whether one asks for all rows or does not ask, the same columns come
    assert np.array_equal(pick(A, 40, 6)[2], pick(A, None, 6)[2])
    assert np.array_equal(pick(A, 40, 6)[1], np.arange(40))
    seen = {row for seed in range(60) for row in pick(A, 8, None, seed)[1]}
    assert seen == set(range(40))  # missed with probability 40 * 0.8^60 < 1e-4


@pytest.mark.parametrize(
    ("m", "n", "changes", "kind", "sentence"),
    [
        (41, 3, {}, ValueError, "tiny has 40 samples; given 41. Ask for at most 40."),
        (3, 31, {"drop_empty": False}, ValueError, "tiny has 30 features; given 31"),
        (3, 30, {}, ValueError, "features that are not all zero; given 30"),
        (41, 3, {"complete": 50}, DataUnavailable, "The original has 50, but only this part"),
        (51, 3, {"complete": 50}, ValueError, "Ask for at most 40"),
        (3, 31, {"complete": 50, "drop_empty": False}, ValueError, "Ask for at most 30"),
    ],
)
def test_more_than_there_is(m, n, changes, kind, sentence):
    with pytest.raises((ValueError, DataUnavailable), match=sentence) as caught:
        pick(matrix(), m, n, **changes)
    assert caught.type is kind


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_numbers_that_are_not_finite_are_refused(kind):
    A = matrix().astype(float)
    A[3, 3] = np.nan
    with pytest.raises(DataDamaged, match="finite"):
        pick(kind(A), None, None)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_the_order_of_scaling_and_centring(kind):
    A = 1.0 + matrix(density=1.0)  # far from centred, so that the order matters
    lengths, C = np.sqrt((A**2).sum(axis=0)), A - A.mean(axis=0)
    paper, genes = scale_then_centre(kind(A)), centre_then_scale(kind(A))
    for X in (paper, genes):
        assert np.allclose(X.mean(axis=0), 0, atol=1e-15)
    assert np.allclose(paper * lengths, C, atol=1e-12)
    assert not np.allclose(np.linalg.norm(paper, axis=0), 1)
    assert np.allclose(np.linalg.norm(genes, axis=0), 1, rtol=1e-14)
    assert np.allclose(np.sum(genes * C, axis=0), np.linalg.norm(C, axis=0))
    zero = normalise_columns(kind(np.array([[3.0, 0.0], [4.0, 0.0]])))
    dense = zero.toarray() if kind is csr_array else zero
    assert np.allclose(dense, [[0.6, 0.0], [0.8, 0.0]], rtol=1e-15, atol=0) and type(zero) is type(kind(A))


def test_large_sparse_data_are_not_made_dense(monkeypatch):
    A = csr_array(matrix().astype(float))
    monkeypatch.setattr(_prepare, "MOST_BYTES", 8 * 40 * 30)
    assert scale_then_centre(A).shape == (40, 30)
    monkeypatch.setattr(_prepare, "MOST_BYTES", 8 * 40 * 30 - 1)
    with pytest.raises(ValueError, match="40 by 30 .* raw=True and orthoprox.maps.Centred"):
        scale_then_centre(A)
