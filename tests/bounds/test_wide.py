"""Many features: only large entries are looked at, and the bound is that of the whole matrix."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from orthoprox.bounds import certify, variance_bound
from orthoprox.bounds._source import Scaled, covariance_of
from orthoprox.bounds._threshold import entries_above, shrink


def samples(rng, m=60, n=400):
    """Counts whose features differ much in variance, as words do."""
    return rng.poisson(3.0 / (1 + np.arange(n)) ** 0.7, size=(m, n)).astype(float)


@pytest.fixture
def as_if_wide(monkeypatch):
    """Let a few hundred features count as many."""
    for name in ("orthoprox.bounds._threshold", "orthoprox.bounds.variance_bound"):
        monkeypatch.setattr(sys.modules[name], "FEW", 100)
    monkeypatch.setattr(sys.modules["orthoprox.bounds.variance_bound"], "_FANTOPE", 100)
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
    wide = variance_bound(covariance_of(make(X)), 3, n_nonzero=12, effort=effort)
    stored = variance_bound(C, 3, n_nonzero=12, effort=effort)
    assert wide.value == pytest.approx(stored.value, rel=1e-9)
    assert wide.check(covariance_of(make(X))) == wide.value
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
    for name in ("orthoprox.bounds._threshold", "orthoprox.bounds.variance_bound"):
        monkeypatch.setattr(sys.modules[name], "FEW", 399)
    assert variance_bound(np.cov(X.T), 3, n_nonzero=12, effort="fast").value == pytest.approx(narrow, rel=5e-3)


def test_constant_and_tiny_features(rng, as_if_wide):
    X = np.ones((10, 200))
    assert 0 <= variance_bound(covariance_of(X), 2, n_nonzero=4).value < 1e-12
    X[:, 3] = 1e-3 * rng.standard_normal(10)
    found = variance_bound(covariance_of(sparse.csr_array(X)), 2, n_nonzero=4)
    assert found.value == pytest.approx(np.var(X[:, 3], ddof=1), rel=2e-3)  # the least lam tried is not zero


def test_thousands_of_features(rng):
    X = sparse.random_array((200, 5_000), density=0.01, rng=rng, data_sampler=rng.standard_normal).tocsr()
    X = X @ sparse.diags_array(1.0 / (1.0 + np.arange(5_000)) ** 0.5)
    V = np.zeros((2, 5_000))
    V[0, 0] = V[1, 1] = 1.0
    result = certify(V, X=X, n_nonzero=8, effort="fast")
    top = np.sort(covariance_of(X).diagonal)[-2:].sum()
    assert top <= result.bound.value < 2 * top
