"""OrthogonalNMF: a factorisation with one component for each sample, and the clustering that it is."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from orthoprox import Status
from orthoprox.estimators import OrthogonalNMF
from orthoprox.models import orthogonal_nmf


def topics(rng, m=120, n=60, r=4):
    """Texts as counts of words, of very different lengths, and the subject of each."""
    subject = rng.integers(r, size=m)
    words = 0.6 * rng.dirichlet(np.full(n, 0.05), size=r) + 0.4 * rng.dirichlet(np.full(n, 0.3))
    lengths = rng.integers(30, 300, size=m)
    counts = [rng.multinomial(length, words[j]) for length, j in zip(lengths, subject, strict=True)]
    return np.array(counts, dtype=float), subject


@pytest.fixture(params=[np.asarray, csr_array], ids=["dense", "sparse"])
def kind(request):
    return request.param


def test_planted_subjects_are_found(rng, kind):
    X, subject = topics(rng)
    model = OrthogonalNMF(n_components=4, random_state=0)
    assert adjusted_rand_score(subject, model.fit_predict(kind(X))) > 0.95
    assert np.array_equal(model.predict(kind(X)), model.labels_)
    assert adjusted_rand_score(subject, OrthogonalNMF(n_components=4, n_init=1).fit(100 * X).labels_) > 0.95


def test_both_factors_are_what_they_claim(rng, kind):
    X, _ = topics(rng)
    model = OrthogonalNMF(n_components=4, tol=1e-9, random_state=0).fit(kind(X))
    W, C = model.W_, model.components_
    assert np.min(W) >= 0 and np.max(np.abs(W.T @ W - np.eye(4))) <= 1e-12
    assert np.min(C) >= 0 and np.allclose(np.linalg.norm(C, axis=1), 1, rtol=0, atol=1e-12)
    assert np.array_equal(np.argmax(W, axis=1), model.labels_)
    for j in range(4):  # the leading singular vectors of the samples of each
        U, _, Vt = np.linalg.svd(X[model.labels_ == j], full_matrices=False)
        assert np.allclose(C[j], np.abs(Vt[0]), rtol=0, atol=1e-6)
        assert np.allclose(W[model.labels_ == j, j], np.abs(U[:, 0]), rtol=0, atol=1e-6)
    kept = np.linalg.norm(W.T @ X, axis=1)
    assert np.all(np.diff(kept) <= 0)
    assert model.result_.status is Status.CONVERGED
    assert model.objective_ == pytest.approx(np.sum((X - W @ W.T @ X) ** 2) / 120, rel=1e-9)
    assert model.reconstruction_err_ == pytest.approx(np.linalg.norm(X - W @ W.T @ X), rel=1e-9)
    problem = orthogonal_nmf(X, n_components=4)
    assert model.objective_ == pytest.approx(float(problem.objective(W)), rel=1e-9)


def test_scores_have_one_entry_and_give_the_data_back(rng, kind):
    X, _ = topics(rng)
    model = OrthogonalNMF(n_components=4, random_state=0).fit(kind(X))
    new, _ = topics(np.random.default_rng(77), m=30)
    T = model.transform(kind(new))
    assert isinstance(T, np.ndarray) and np.all(np.count_nonzero(T, axis=1) == 1)
    assert np.array_equal(np.argmax(T, axis=1), model.predict(kind(new)))
    # no other component, with whatever factor, is nearer
    errors = [np.sum((new - np.outer(new @ c, c)) ** 2, axis=1) for c in model.components_]
    back = model.inverse_transform(T)
    assert np.allclose(np.sum((new - back) ** 2, axis=1), np.min(errors, axis=0))
    assert model.score(kind(new)) == pytest.approx(1 - np.sum((new - back) ** 2) / np.sum(new**2), rel=1e-9)
    assert model.score(kind(X)) == pytest.approx(1 - 120 * model.objective_ / np.sum(X**2), rel=1e-4)


def test_a_sample_of_zeros_belongs_nowhere(kind):
    X = np.array([[1.0, 0, 0, 0], [0, 0, 0, 0], [2.0, 0, 0, 0], [0, 3.0, 0, 0], [0, 0, 0, 0], [0, 1.0, 0, 0]])
    model = OrthogonalNMF(n_components=2, random_state=0).fit(kind(X))
    assert model.labels_.tolist() == [1, -1, 1, 0, -1, 0]
    assert np.array_equal(model.predict(kind(X)), model.labels_)
    assert np.all(model.transform(kind(X))[[1, 4]] == 0) and np.all(model.W_[[1, 4]] == 0)
    assert model.predict([[0.0, 0, 0, 5.0]]).tolist() == [-1]  # nothing in common with a component
    assert model.objective_ == pytest.approx(0, abs=1e-15) and model.score(kind(X)) == pytest.approx(1)
    assert model.reconstruction_err_ <= 1e-6


def test_as_many_components_as_samples_and_more_than_differ_from_zero():
    X = np.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 1.0, 1.0], [5.0, 0.0, 1.0]])
    model = OrthogonalNMF(n_components=4, random_state=0).fit(X)
    assert sorted(model.labels_.tolist()) == [0, 1, 2, 3] and model.score(X) == pytest.approx(1)
    assert OrthogonalNMF(n_components=1).fit([[3.0, 4.0]]).components_.tolist() == [[0.6, 0.8]]
    X = np.array([[1.0, 2.0], [0.0, 0.0], [0.0, 0.0]])
    model = OrthogonalNMF(n_components=3, random_state=0).fit(X)
    assert np.max(np.abs(model.W_.T @ model.W_ - np.eye(3))) <= 1e-12
    assert np.allclose(model.components_, [np.array([1, 2]) / np.sqrt(5), [0, 0], [0, 0]])
    assert model.labels_.tolist() == [0, -1, -1] and np.all(np.isfinite(model.transform(X)))
    nothing = OrthogonalNMF(n_components=2).fit(np.zeros((3, 2)))
    assert nothing.score(np.zeros((3, 2))) == 1.0 and nothing.labels_.tolist() == [-1] * 3


def test_a_warm_start_serves_other_samples_of_the_same_features(rng):
    X, _ = topics(rng)
    model = OrthogonalNMF(n_components=4, n_init=1, warm_start=True, random_state=0).fit(X)
    labels = model.labels_
    model.fit(X[:50])
    assert model.W_.shape == (50, 4) and adjusted_rand_score(labels[:50], model.labels_) == 1


def test_the_error_is_in_the_units_of_the_data_and_measured_in_parts(rng, kind, monkeypatch):
    X, _ = topics(rng)
    model = OrthogonalNMF(n_components=4, n_init=1, random_state=0)
    whole = model.fit(kind(X)).reconstruction_err_
    monkeypatch.setattr("orthoprox.estimators.orthogonal_nmf._ENTRIES", 60 * 7)  # 7 of 120 samples in a part
    assert model.fit(kind(X)).reconstruction_err_ == pytest.approx(whole, rel=1e-12)
    assert model.fit(kind(2.0**-300 * X)).reconstruction_err_ == pytest.approx(2.0**-300 * whole, rel=1e-12)
