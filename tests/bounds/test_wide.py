"""Many features: only large entries are looked at, and the bound is that of the whole matrix."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from orthoprox.allowance import Allowance
from orthoprox.bounds import _threshold as threshold
from orthoprox.bounds import certify, variance_bound
from orthoprox.bounds._eigen import largest_block, rough_sum
from orthoprox.bounds._source import Scaled, covariance_of
from orthoprox.bounds._threshold import entries_above, large_entries, shrink, shrink_stored
from orthoprox.covariance import DenseCovariance, SampleCovariance


def samples(rng, m=60, n=400):
    """Counts whose features differ much in variance, as words do."""
    return rng.poisson(3.0 / (1 + np.arange(n)) ** 0.7, size=(m, n)).astype(float)


@pytest.fixture
def as_if_wide(monkeypatch):
    """Let a few hundred features count as many."""
    monkeypatch.setattr(sys.modules["orthoprox.bounds._threshold"], "FEW", 100)
    for name in ("STORED", "_FANTOPE"):
        monkeypatch.setattr(sys.modules["orthoprox.bounds.variance_bound"], name, 100)
    monkeypatch.setattr(sys.modules["orthoprox.bounds._threshold"], "_CHUNK", 7)


@pytest.mark.parametrize("lam", [0.0, 0.01, 0.1, 0.5, 100.0])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_the_entries_above_a_level_are_those_of_the_whole_matrix(rng, lam, make):
    X = samples(rng)
    C = Scaled.of(np.cov(X.T))
    expected = shrink(C.dense(), lam)
    A, rows = entries_above(Scaled.of(covariance_of(make(X))), lam, 10**9)
    found = np.zeros_like(expected)
    found[np.ix_(rows, rows)] = A.toarray()
    np.testing.assert_allclose(found, expected, atol=1e-13)
    assert np.array_equal(found, found.T)
    assert len(rows) == np.count_nonzero(np.any(expected, axis=1)) or lam == 0


def test_too_much_above_the_level_is_refused(rng):
    assert entries_above(Scaled.of(covariance_of(samples(rng))), 0.0, 1000)[0] is None


@pytest.mark.parametrize("effort", ["fast", "balanced"])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_samples_and_matrices_have_the_same_bound(rng, as_if_wide, effort, make):
    X = samples(rng)
    C = np.cov(X.T)
    covariance = covariance_of(make(X))
    wide = variance_bound(covariance, 3, n_nonzero=12, effort=effort)
    stored = variance_bound(C, 3, n_nonzero=12, effort=effort)
    assert wide.value == pytest.approx(stored.value, rel=1e-9)
    # Entries are sums over samples, which products of other shapes may round otherwise.
    assert wide.check(covariance) == pytest.approx(wide.value, rel=0, abs=2 * 12 * covariance.entry_error)
    # the three lines of the documents
    U = np.clip(C, -wide.lam, wide.lam)
    if wide.U is not None:
        U[np.ix_(wide.rows, wide.rows)] = wide.U
    again = np.linalg.eigvalsh(C - U)[-3:].sum() + np.abs(U).max() * 12
    assert wide.value == pytest.approx(again, rel=1e-9)
    assert wide.value >= again * (1 - 1e-14)


def test_the_wide_search_is_as_good_as_the_narrow_one(rng, monkeypatch):
    X = samples(rng)
    narrow = variance_bound(np.cov(X.T), 3, n_nonzero=12, effort="fast").value
    monkeypatch.setattr(sys.modules["orthoprox.bounds._threshold"], "FEW", 399)
    monkeypatch.setattr(sys.modules["orthoprox.bounds.variance_bound"], "STORED", 399)
    assert variance_bound(np.cov(X.T), 3, n_nonzero=12, effort="fast").value == pytest.approx(narrow, rel=5e-3)


def test_constant_and_tiny_features(rng, as_if_wide):
    X = np.ones((10, 200))
    assert 0 <= variance_bound(covariance_of(X), 2, n_nonzero=4).value < 1e-12
    X[:, 3] = 1e-3 * rng.standard_normal(10)
    found = variance_bound(covariance_of(sparse.csr_array(X)), 2, n_nonzero=4)
    assert found.value == pytest.approx(np.var(X[:, 3], ddof=1), rel=2e-3)  # the least lam tried is not zero


def test_thousands_of_features(rng):
    X = sparse.csr_array(np.where(rng.random((200, 2_000)) < 0.01, rng.standard_normal((200, 2_000)), 0.0))
    X = X @ sparse.diags_array(1.0 / (1.0 + np.arange(2_000)) ** 0.5)
    V = np.zeros((2, 2_000))
    V[0, 0] = V[1, 1] = 1.0
    result = certify(V, X=X, n_nonzero=8, effort="fast")
    top = np.sort(covariance_of(X).diagonal)[-2:].sum()
    assert top <= result.bound.value < 2 * top


def test_a_work_limit_keeps_the_bound_valid(rng, as_if_wide):
    """Fewer entries of C are looked at, for a larger lam; nothing else changes."""
    X = samples(rng)
    C = covariance_of(sparse.csr_array(X))
    full = variance_bound(C, 3, n_nonzero=12, effort="fast")
    for work in (1e4, 3e4):
        bound = variance_bound(C, 3, n_nonzero=12, effort="fast", work_limit=work)
        assert bound.lam > full.lam and bound.value > full.value and bound.check(C) == bound.value
        U = np.clip(np.cov(X.T), -bound.lam, bound.lam)
        again = np.linalg.eigvalsh(np.cov(X.T) - U)[-3:].sum() + bound.lam * 12
        assert again * (1 - 1e-14) <= bound.value <= again * (1 + 1e-9)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_of_few_samples_no_more_than_principal_components(rng, as_if_wide, make):
    """Where many nonzeros are allowed the best lam is zero, which the Gram matrix of the samples proves."""
    X = rng.standard_normal((20, 300))
    C = covariance_of(make(X))
    bound = variance_bound(C, 2, n_nonzero=500, effort="fast")
    top = np.linalg.eigvalsh(np.cov(X.T))[-2:].sum()
    assert bound.lam == 0 and top * (1 - 1e-14) <= bound.value <= top * (1 + 1e-9)
    assert bound.check(C) == bound.value


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("centred", [True, False])
def test_every_way_to_the_entries_of_a_covariance_agrees(rng, make, centred):
    X = samples(rng, 12, 30)
    c = X.mean(axis=0) if centred else rng.standard_normal(30)
    C, exact = SampleCovariance(make(X), c, 7.0), (X - c).T @ (X - c) / 7
    rows, columns = np.array([3, 8, 1]), np.array([29, 3])
    np.testing.assert_allclose(C.dense(), exact, atol=C.entry_error)
    np.testing.assert_allclose(C.diagonal, np.diag(exact), atol=C.entry_error)
    np.testing.assert_allclose(C.columns(columns), exact[:, columns], atol=C.entry_error)
    for covariance in (C, DenseCovariance(exact)):
        np.testing.assert_allclose(covariance.cross(rows, columns), exact[np.ix_(rows, columns)], atol=C.entry_error)
        np.testing.assert_allclose(covariance.block(rows), exact[np.ix_(rows, rows)], atol=C.entry_error)
    assert C.dense() is C.dense()  # it is kept
    G, error = C.gram()
    np.testing.assert_allclose(G, (X - c) @ (X - c).T / 7, atol=error)
    assert 0 < C.entry_error < 1e-11 and 0 < error < 1e-11 and DenseCovariance(exact).gram() is None


def test_the_level_of_small_blocks_is_the_least_of_its_grid(rng):
    large = large_entries(Scaled.of(covariance_of(samples(rng))), 1e-3, 10**9)
    assert large.fits(400) and not large.fits(300)
    for block in (300, 100, 40, 7):
        found = threshold._with_small_blocks(large, block)
        assert largest_block(found.clipped()[0]) <= block
        below = found.lam / threshold._CLOSER
        assert below < 1.001e-3 or largest_block(large.above(below).clipped()[0]) > block


def test_entries_above_a_level_are_the_same_from_wherever_they_come(rng):
    C = Scaled.of(np.cov(samples(rng).T))
    (A, rows), (B, there) = entries_above(C, 0.1, 10**9), large_entries(C, 0.01, 10**9).above(0.1).clipped()
    assert np.array_equal(rows, there) and np.array_equal(A.toarray(), B.toarray())


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.5, 2.0])
def test_a_stored_matrix_is_sparse_where_little_is_left(rng, lam):
    C = np.corrcoef(rng.standard_normal((150, 150)))
    A = shrink_stored(C, lam)
    assert sparse.issparse(A) == (lam > 0.1)
    np.testing.assert_array_equal(A.toarray() if sparse.issparse(A) else A, shrink(C, lam))


def test_rows_that_are_alone_have_their_part_in_a_rough_sum(rng):
    A = np.diag(np.arange(1.0, 201.0))
    A[3:150, 3:150] += 0.1 * rng.standard_normal((147, 147))
    A = (A + A.T) / 2
    for r in (2, 60):
        assert rough_sum(sparse.csr_array(A), r) == pytest.approx(np.linalg.eigvalsh(A)[-r:].sum(), rel=1e-3)


def test_blocks_are_those_that_a_walk_over_neighbours_finds(rng):
    A = sparse.random_array((80, 80), density=0.01, rng=rng)
    A = sparse.csr_array(A + A.T)
    reached = np.linalg.matrix_power((A.toarray() != 0) + np.eye(80), 80) > 0
    assert largest_block(A) == reached.sum(axis=1).max()


def test_no_level_above_has_a_bound_below_the_least(rng):
    C, allowance = Scaled.of(np.cov(samples(rng, n=60).T)), Allowance(12, (60,) * 3)
    lams = np.geomspace(1e-3, 1.0, 15)
    values = [rough_sum(shrink(C.dense(), lam), 3) + lam * allowance.total for lam in lams]
    for i, lam in enumerate(lams):
        assert threshold._least_bound(C, lam, allowance) <= min(values[i:]) * (1 + 1e-12)


def test_as_much_as_is_wanted_lies_above_the_quantile(rng):
    X = rng.standard_normal((50, 300))
    C = Scaled.of(covariance_of(X))
    for most in (900, 9000, 45000):
        above = np.count_nonzero(np.abs(C.dense()) > threshold._quantile(C, most))
        assert 0.6 * most <= above <= 1.6 * most
