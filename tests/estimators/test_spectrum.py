"""Leading eigenvectors of many samples of many features, which a fit computes once for all that need them."""

import numpy as np
import pytest
from scipy.sparse import csr_array, random_array

from orthoprox import SparsePCA
from orthoprox.estimators import _exact, _spectrum
from orthoprox.estimators._input import about


def sparse_samples(m, n, seed=0):
    rng = np.random.default_rng(seed)
    X = random_array((m, n), density=0.01, rng=rng, format="csr")
    loud = csr_array((rng.random((m, 8)) < 0.3) * rng.uniform(1, 3, (m, 8)) * np.linspace(1, 3, 8))
    X = X.tolil()
    X[:, 5:13] = loud
    return csr_array(X)


@pytest.mark.parametrize(("m", "n"), [(1100, 1300), (1300, 1100)])
def test_pairs_are_those_of_the_centred_samples(m, n):
    X = sparse_samples(m, n)
    data = about(X, np.asarray(X.mean(axis=0)).ravel())
    pairs = _spectrum.leading_pairs(data, 3)
    B = X.toarray() - X.toarray().mean(axis=0)
    values, V = np.linalg.svd(B, full_matrices=False)[1:]
    np.testing.assert_allclose(data.to_data(np.sqrt(pairs.values)), values[:3], rtol=1e-8)
    np.testing.assert_allclose(np.abs(np.sum(pairs.vectors * V[:3].T, axis=0)), 1.0, atol=1e-6)
    assert _spectrum.leading_pairs(data, 3) is pairs
    assert data.to_data(_spectrum.with_norm(data, 3).norm) == pytest.approx(values[0], rel=1e-4)
    assert data.to_data(_spectrum.with_norm(data, 3).norm) > values[0]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(30, 2000), (700, 600)])
def test_few_samples_or_features_are_decomposed_as_a_whole_and_once(monkeypatch, shape, dtype):
    calls, eigvalsh = [], np.linalg.eigvalsh
    monkeypatch.setattr(_spectrum.np.linalg, "eigvalsh", lambda A: calls.append(len(A)) or eigvalsh(A))
    X = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    data = about(X, np.zeros(shape[1], dtype=dtype))
    values = np.linalg.svd(data.X.astype(np.float64), compute_uv=False)
    assert _spectrum.leading_pairs(data, 2) is None
    norm = _spectrum.with_norm(data, 2).norm
    assert values[0] <= norm <= values[0] * (1 + 1e5 * np.finfo(dtype).eps)
    np.testing.assert_allclose(_spectrum.principal_shares(data, 3) * data.total_squares, values[:3] ** 2, rtol=1e-5)
    assert calls == [min(shape)]


def test_a_fit_iterates_once(monkeypatch):
    calls, eigsh = [], _spectrum.eigsh
    monkeypatch.setattr(_spectrum, "eigsh", lambda *args, **kwargs: calls.append(1) or eigsh(*args, **kwargs))
    X = sparse_samples(1050, 1200)
    pca = SparsePCA(2, n_nonzero=6).fit(X)
    assert len(calls) == 1 and np.count_nonzero(pca.components_) <= 6
    loud = set(range(5, 13))
    assert set(np.flatnonzero(np.any(pca.components_ != 0, axis=0))) <= loud


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_variance_of_some_sparse_features_is_that_of_dense_ones(dtype):
    X = sparse_samples(300, 60).astype(dtype)
    mean = np.asarray(X.mean(axis=0)).ravel().astype(dtype)
    features, Y = np.array([5, 7, 11, 40]), np.random.default_rng(1).standard_normal((4, 2)).astype(dtype)
    found, wanted = (_exact._variance_of(about(kind, mean), features) for kind in (X, X.toarray()))
    np.testing.assert_allclose(found.product(Y), wanted.product(Y), rtol=1e3 * np.finfo(dtype).eps)
    assert found.lipschitz == pytest.approx(wanted.lipschitz, rel=1e-3)
    assert found.gram.formed
