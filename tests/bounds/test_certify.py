"""Components of whatever origin, compared with the bound."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import PCA

from orthoprox.bounds import certify, variance_bound
from orthoprox.datasets import pitprops


def test_optimal_components_are_said_to_be_optimal_and_others_are_not():
    C, _ = pitprops()
    V = np.zeros((2, 13))
    V[0, :2] = V[1, 2:4] = 0.5**0.5
    result = certify(V, C, n_nonzero_per_component=2)
    assert result.optimal and 0 <= result.relative_gap < 1e-9
    assert result.variance == pytest.approx(3.836) and "this is proved" in str(result)
    W = np.zeros((2, 13))
    W[0, :2] = W[1, 7:9] = 0.5**0.5
    worse = certify(W, C, n_nonzero_per_component=2)
    assert not worse.optimal and worse.gap == pytest.approx(3.836 - worse.variance) and "proved" not in str(worse)


def test_nonzeros_are_counted_where_none_are_given():
    C, _ = pitprops()
    V = np.eye(13)[:2]
    result = certify(V, C, effort="fast")
    assert result.n_nonzero == 2 and result.bound.n_nonzero == 2
    assert result.bound.value == variance_bound(C, 2, n_nonzero=2, effort="fast").value
    assert "more nonzeros" in str(certify(np.eye(13)[:2], C, n_nonzero=2, effort="fast")) or result.fits


def test_components_with_too_many_nonzeros_are_not_called_optimal():
    C, _ = pitprops()
    V = np.linalg.eigh(C)[1][:, -2:].T
    result = certify(V, C, n_nonzero=8, effort="fast")
    assert result.gap < 0 and not result.fits and not result.optimal and "more nonzeros" in str(result)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_matrix])
def test_samples_in_place_of_a_covariance(rng, make):
    X = rng.poisson(1.0, size=(30, 6)).astype(float)
    V = np.eye(6)[:2]
    one, other = certify(V, X=make(X)), certify(V, np.cov(X.T))
    assert one.variance == pytest.approx(X.var(axis=0, ddof=1)[:2].sum())
    assert one.variance == pytest.approx(other.variance) and one.total_variance == pytest.approx(other.total_variance)
    assert one.bound.value >= other.bound.value * (1 - 1e-12)


def test_rows_that_are_nearly_orthonormal_are_reported_and_others_refused():
    C, _ = pitprops()
    V = np.eye(13)[:2]
    V[0] *= 1.01
    result = certify(V, C)
    assert (
        result.infeasibility == pytest.approx(0.0201)
        and not result.optimal
        and "orthonormal to 0.02 only" in str(result)
    )
    V[0] = V[1]
    with pytest.raises(ValueError, match="orthonormal rows; V V' is off"):
        certify(V, C)


def test_bad_input_gets_a_sentence():
    C, _ = pitprops()
    for wrong, sentence in [
        (lambda: certify(np.eye(13)[:2]), "either the covariance"),
        (lambda: certify(np.eye(13)[:2], C, X=C), "either the covariance"),
        (lambda: certify(np.eye(13)[:, :2], C), "give V.T"),
        (lambda: certify(np.zeros((1, 13)), C), "needs a nonzero; component 0 has none"),
        (lambda: certify(np.full((1, 13), np.nan), C), "must be finite"),
        (lambda: certify(np.eye(13)[:1], C, time_limit=-1), "time_limit must be a number of at least 0; given -1"),
        (lambda: certify(np.eye(13)[:1], C, time_limit=np.nan), "time_limit must be a number of at least 0; given nan"),
        (lambda: variance_bound(C, 1, n_nonzero=2, work_limit=-1), "work_limit must be a number of at least 0"),
        (lambda: certify(np.eye(13)[:1], X=np.ones((1, 13))), "at least two samples"),
        (
            lambda: certify(np.eye(13)[:1], X=1e300 * C),
            r"X has entries up to 1e\+300, and their squares .* Divide it by",
        ),
    ]:
        with pytest.raises(ValueError, match=sentence):
            wrong()
    for wrong, sentence in [
        (lambda: certify(np.eye(13, dtype=complex)[:1], C), "real numbers"),
        (lambda: certify(np.eye(13)[:1], C, time_limit="3"), "time_limit must be a number; given '3'"),
        (lambda: variance_bound(C, 1, n_nonzero=2, incumbent="a"), "incumbent must be a number or components; given"),
        (lambda: certify(PCA(2).fit(C), C), "V must be a matrix of components; given PCA: give its components_"),
        (lambda: certify(np.eye(13)[:1], sparse.csr_array(C)), r"C must be a dense matrix; .*: give C.toarray\(\)"),
    ]:
        with pytest.raises(TypeError, match=sentence):
            wrong()
    assert certify(sparse.csr_array(np.eye(13)[:1]), C).variance == certify(np.eye(13)[:1], C).variance
