"""RangeICA: planted sources, beside FastICA, outliers, conventions, warm starts, refusals."""

import numpy as np
import pytest
from sklearn.decomposition import PCA, FastICA

from orthoprox import RangeICA
from orthoprox.models import amari_index, least_range

MIXING = np.array([[1.0, 0.5, 0.2], [0.3, 1.0, 0.4], [0.6, -0.2, 1.0]])


def sources(m, n, seed):
    return np.random.default_rng(seed).uniform(-1, 1, (m, n))


@pytest.fixture(scope="module")
def X():
    return sources(500, 3, 1) @ MIXING.T + [5.0, -2.0, 1.0]


@pytest.fixture(scope="module")
def ica(X):
    return RangeICA(random_state=0).fit(X)


def test_the_parts_fit_together(ica, X):
    S = ica.transform(X)
    assert np.allclose(S, (X - ica.mean_) @ ica.components_.T, atol=1e-12)
    assert np.allclose(S.mean(axis=0), 0, atol=1e-12) and np.allclose(S.std(axis=0), 1)
    assert np.allclose(ica.inverse_transform(S), X) and np.allclose(ica.components_ @ ica.mixing_, np.eye(3))
    assert ica.score(X) == pytest.approx(1.0) and np.allclose(ica.mean_, X.mean(axis=0))
    Z = (X - ica.mean_) @ ica.whitening_.T
    assert np.allclose(Z.T @ Z / 500, np.eye(3), atol=1e-12)
    # from white sources to those of least range
    S = Z @ ica.result_.X
    P = np.abs(np.corrcoef((S @ least_range(S, order=5)).T, ica.transform(X).T)[:3, 3:])
    assert np.allclose(np.sort(P, axis=0)[-1], 1.0, atol=1e-9)
    # ordered by what they contribute, signs by the largest entry of the mixing matrix
    sizes = np.sum(ica.mixing_**2, axis=0)
    assert np.all(np.diff(sizes) <= 0)
    assert np.all(ica.mixing_[np.argmax(np.abs(ica.mixing_), axis=0), range(3)] > 0)
    assert amari_index(ica.components_ @ MIXING) < 0.02


def test_uncorrelated_sources_if_asked_for(X):
    ica = RangeICA(oblique=False, random_state=0).fit(X)
    S = ica.transform(X)
    assert np.allclose(S.T @ S / 500, np.eye(3), atol=1e-10)
    W = ica.components_ @ np.linalg.pinv(ica.whitening_)
    assert np.allclose(W @ W.T, np.eye(3), atol=1e-10)
    assert np.allclose(np.sort(np.abs(W), axis=None), np.sort(np.abs(ica.result_.X), axis=None), atol=1e-10)


@pytest.mark.slow
def test_more_accurate_than_fast_ica_and_the_more_so_the_more_samples():
    ours, theirs = {}, {}
    for m in (300, 2400):
        errors = []
        for seed in range(3):
            X = sources(m, 3, seed) @ MIXING.T
            plain = FastICA(3, whiten="unit-variance", random_state=seed).fit(X)
            clean = RangeICA(order=1, random_state=seed).fit(X)
            errors.append([amari_index(model.components_ @ MIXING) for model in (clean, plain)])
        ours[m], theirs[m] = np.mean(errors, axis=0)
    assert ours[300] < 0.5 * theirs[300] and ours[2400] < 0.3 * theirs[2400]
    # eight times the samples: the error of one falls by eight or so, that of the other by the root of it
    assert ours[300] / ours[2400] > 4 > theirs[300] / theirs[2400]


@pytest.mark.slow
def test_outliers_are_what_the_order_is_for():
    errors = []
    for seed in range(3):
        X = sources(500, 3, seed) @ MIXING.T
        X[:2] += 2 * np.random.default_rng(100 + seed).standard_normal((2, 3))
        models = RangeICA(order=1, random_state=0), RangeICA(order=0.05, random_state=0)
        errors.append([amari_index(model.fit(X).components_ @ MIXING) for model in models])
    plain, robust = np.mean(errors, axis=0)
    assert robust < 0.5 * plain


def test_fewer_sources_within_the_leading_components(X):
    two = RangeICA(2, random_state=0).fit(X)
    pca = PCA(2).fit(X)
    assert two.components_.shape == (2, 3) and two.mixing_.shape == (3, 2)
    assert two.score(X) == pytest.approx(pca.explained_variance_ratio_.sum(), rel=1e-9)
    assert np.allclose(two.inverse_transform(two.transform(X)), pca.inverse_transform(pca.transform(X)))


def test_directions_without_variation_are_left_out(X):
    wide = np.hstack([X, X[:, :1] + X[:, 1:2], np.ones((500, 1))])
    found = RangeICA(random_state=0).fit(wide)
    assert found.components_.shape == (3, 5)
    assert amari_index(found.components_ @ np.vstack([MIXING, MIXING[:1] + MIXING[1:2], np.zeros((1, 3))])) < 0.02


def test_features_of_very_different_sizes():
    X = sources(500, 3, 1) @ MIXING.T
    plain, scaled = (RangeICA(tol=1e-6, random_state=0).fit(X * s) for s in (1.0, [1.0, 1e-4, 1e3]))
    assert amari_index(scaled.components_ @ (MIXING * [[1.0], [1e-4], [1e3]])) < 0.02
    assert scaled.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    Z = (X * [1.0, 1e-4, 1e3] - scaled.mean_) @ scaled.whitening_.T
    assert np.allclose(Z.T @ Z / 500, np.eye(3), atol=1e-6)


@pytest.mark.parametrize(("order", "k"), [(1, 1), (7, 7), (0.1, 50), (0.0001, 1), (None, 5), (0.5, 250)])
def test_the_order_is_a_number_or_a_share(order, k, X):
    fitted = RangeICA(order=order, oblique=False, random_state=0, tol=1e-2).fit(X)
    S = np.sort(fitted.transform(X), axis=0)
    assert fitted.objective_ == pytest.approx(np.sum(S[-k:].mean(axis=0) - S[:k].mean(axis=0)), rel=1e-9)


def test_two_samples_far_from_zero_come_to_an_end():
    X = 1e8 + np.array([[0.25, 1.0, -2.0, 0.5, 4.0], [1.0, 0.5, 3.0, -1.0, 0.0]])
    assert RangeICA(random_state=0).fit(X).score(X) == pytest.approx(1.0)
