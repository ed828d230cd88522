"""RobustSubspace and DualPCP: planted subspaces, their centre, and who is an outlier."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import check_outliers_fit_predict, check_outliers_train

from draws import contaminated, sine, sparse
from orthoprox.estimators import DualPCP, RobustSubspace
from orthoprox.models import Reweighting
from orthoprox.solvers import OADMM


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5, 0.7])
@pytest.mark.parametrize("d", [3, 17])
def test_the_subspace_is_found_among_outliers(share, d):
    X, U, _ = contaminated(1, d=d, inliers=int(400 * (1 - share)), outliers=int(400 * share), even=True)
    primal = RobustSubspace(n_components=d, center=None).fit(X)
    dual = DualPCP(n_components=20 - d, center=None).fit(X)
    assert sine(U, primal.components_) < 1e-6
    assert np.linalg.norm(dual.components_ @ U.T, 2) < 1e-6
    assert sine(U, dual.subspace_) < 1e-6 and dual.subspace_.shape == (d, 20)
    assert sine(U, PCA(d).fit(X).components_) > 1e-2


def test_outliers_in_a_subspace_of_their_own_are_found_out_while_they_weigh_less():
    # 30 % of the samples in three directions: PCA takes them for the subspace, the sum of distances does not.
    rng = np.random.default_rng(7)
    U, W = (np.linalg.qr(rng.standard_normal((30, k)))[0].T for k in (5, 3))
    X = np.vstack([rng.standard_normal((210, 5)) @ U, 4 * rng.standard_normal((90, 3)) @ W])
    assert sine(U, PCA(5).fit(X).components_) > 0.9
    assert sine(U, RobustSubspace(n_components=5, center=None).fit(X).components_) < 1e-6


def test_components_are_the_axes_of_the_inliers():
    X, U, _ = contaminated(2, inliers=4000, outliers=1000, noise=0.01)
    model = RobustSubspace(n_components=3).fit(X)
    assert np.max(np.abs(np.abs(model.components_ @ U.T) - np.eye(3))) < 0.1
    assert np.allclose(model.explained_variance_, [9, 4, 1], rtol=0.1)
    assert np.all(np.diff(model.explained_variance_) < 0)
    assert 0.99 < model.explained_variance_ratio_.sum() < 1


@pytest.mark.parametrize("model", [RobustSubspace(n_components=3), DualPCP(n_components=3)], ids=repr)
def test_the_largest_loading_of_each_component_is_positive(model):
    for seed in range(4):
        V = model.fit(np.random.default_rng(seed).standard_normal((30, 5))).components_
        assert np.all(np.take_along_axis(V, np.argmax(np.abs(V), axis=1)[:, None], axis=1) > 0)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_outliers_are_told_apart(noise, offset):
    X, U, p = contaminated(3, noise=noise, offset=offset)
    truth = np.arange(100) >= 60
    for model in (RobustSubspace(n_components=3), DualPCP(n_components=17)):
        model.fit(X)
        assert np.all(model.outliers_[60:]) and model.outliers_[:60].sum() <= (2 if noise else 0)
        assert np.array_equal(model.predict(X), np.where(model.outliers_, -1, 1))
        assert np.allclose(model.distances(X), model.distances_)
        exact = np.linalg.norm((X - p) - (X - p) @ U.T @ U, axis=1)
        assert np.allclose(model.distances_, exact, atol=1e-6 if noise == 0 else 0.2)
    assert np.array_equal(RobustSubspace(n_components=3, contamination=0.4).fit(X).outliers_, truth)


def test_outliers_are_told_apart_when_there_are_nearly_as_many():
    # The first median and deviation are those of a mixture; taken again without those found, they find the rest.
    X, *_ = contaminated(8, n=12, inliers=220, outliers=180, noise=0.3)
    model = RobustSubspace(n_components=3, center=None).fit(X)
    assert model.outliers_[220:].mean() > 0.99 and model.outliers_[:220].mean() < 0.05


def test_rounding_makes_no_outliers():
    # All samples lie in the subspace; rounding takes the long ones a thousand times farther away from it.
    X, *_ = contaminated(9, outliers=0)
    X[::6] *= 1e3
    for model in (RobustSubspace(n_components=3, center=None), DualPCP(n_components=17, center=None)):
        assert not np.any(model.fit(X).outliers_)


def test_distance_is_what_the_reconstruction_misses(rng):
    X = rng.standard_normal((40, 6)) + 3.0
    model = RobustSubspace(n_components=2).fit(X)
    rest = X - model.inverse_transform(model.transform(X))
    assert np.allclose(np.linalg.norm(rest, axis=1), model.distances(X))
    dual = DualPCP(n_components=2, center="median").fit(X)
    assert np.allclose(np.linalg.norm(dual.transform(X), axis=1), dual.distances(X))
    assert dual.score(X) == pytest.approx(-np.mean(dual.distances_))


def test_the_centre_is_what_was_asked_for(rng):
    X = rng.standard_normal((40, 4)) + 3.0
    X[0] = 1e3
    given = np.arange(4.0)
    found = {c: RobustSubspace(n_components=1, center=c).fit(X) for c in ("affine", "median", "mean", None)}
    assert np.allclose(found["mean"].location_, X.mean(axis=0)) and np.all(found[None].location_ == 0)
    assert np.linalg.norm(found["median"].location_ - 3.0) < 0.5 and np.linalg.norm(found["affine"].location_ - 3.0) < 1
    assert np.all(RobustSubspace(n_components=1, center=given).fit(X).location_ == given)
    for model in found.values():
        assert np.array_equal(model.mean_, model.location_)
        assert np.allclose(model.transform(model.location_[None, :]), 0, atol=1e-9)


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize(
    ("model", "normals"), [(RobustSubspace(3), False), (DualPCP(17), True)], ids=["primal", "dual"]
)
def test_far_from_the_origin(model, normals, kind):
    X, U, _ = contaminated(5, offset=10.0)
    V = model.fit(kind(X)).components_
    assert np.linalg.norm(V @ U.T, 2) < 1e-6 if normals else sine(U, V) < 1e-6
    with pytest.warns(UserWarning, match="times farther from the origin than from their mean"):
        lost = clone(model).set_params(center=None).fit(kind(X)).components_
    assert np.linalg.norm(lost @ U.T, 2) > 0.5 if normals else sine(U, lost) > 0.5


def test_normals_come_with_the_least_violated_first(rng):
    X = rng.standard_normal((60, 6)) * np.arange(1, 7)
    model = DualPCP(n_components=3).fit(X)
    T = model.transform(X[~model.outliers_])
    second = T.T @ T
    assert np.allclose(second, np.diag(np.diag(second)), atol=1e-9 * second.max())
    assert np.all(np.diff(np.diag(second)) > 0)


@pytest.mark.parametrize("normalize", [True, False])
def test_the_first_start_is_spectral(rng, normalize):
    X = rng.standard_normal((60, 6)) * np.arange(1, 7)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    axes = np.linalg.svd(unit)[2]
    Y = unit if normalize else X
    expected = np.mean(np.linalg.norm(Y @ axes[2:].T, axis=1))
    for model in (RobustSubspace(n_components=2, center=None), DualPCP(n_components=4, center=None)):
        model.set_params(normalize=normalize).fit(X)
        unit = 1.0 if normalize else model.scale_
        assert unit * model.result_.history.objective[0] == pytest.approx(expected, rel=1e-6)


def test_many_sparse_features():
    S = sparse((80, 700), 0.05, np.random.default_rng(3))
    dense = S.toarray()
    for model in (RobustSubspace(n_components=2), RobustSubspace(n_components=2, center=None, normalize=False)):
        one, two = model.fit(S).components_.copy(), model.fit(dense).components_
        assert np.max(np.abs(one @ one.T - np.eye(2))) < 1e-12
        assert model.score(S) == pytest.approx(model.score(dense)) and np.all(np.isfinite(one))
        assert sine(one, two) < 1e-3


def test_the_solver_is_what_was_asked_for():
    X, U, _ = contaminated(6, n=8, inliers=60, outliers=20)
    default, other = DualPCP(n_components=5).fit(X), DualPCP(n_components=5, solver="oadmm").fit(X)
    assert isinstance(default.result_.solver, Reweighting) and isinstance(other.result_.solver, OADMM)
    assert other.objective_ == pytest.approx(default.objective_, rel=1e-5)
    assert np.linalg.norm(other.components_ @ U.T, 2) < 1e-5
    wide = DualPCP(n_components=1, center=None, tol=1e6)
    with pytest.warns(UserWarning, match="^DualPCP: A subspace of 599 dimensions contains any 30 samples"):
        wide.fit(np.random.default_rng(1).standard_normal((30, 600)))
    assert isinstance(wide.result_.solver, OADMM)


@pytest.mark.parametrize("center", ["affine", "mean", None])
def test_samples_that_any_subspace_contains_are_told(center, rng):
    X = rng.standard_normal((9, 8))
    few = 4 if center is None else 5  # that many samples always lie in a subspace of four dimensions
    for model in (RobustSubspace(4, center=center), DualPCP(4, center=center)):
        with pytest.warns(UserWarning, match=f"A subspace of 4 dimensions contains any {few} samples"):
            assert not np.any(model.fit(X[:few]).outliers_)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X[: few + 1])


NOTHING = [np.zeros((5, 4)), np.ones((6, 4)), np.arange(4.0)[None, :], np.eye(4)]
NOTHING.append(1e-150 * np.outer(np.arange(1.0, 8.0), [1.0, -2.0, 0.5, 3.0]))


@pytest.mark.filterwarnings("ignore:.* A subspace of 2 dimensions contains any")
@pytest.mark.parametrize("X", NOTHING)
@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_samples_with_nothing_to_find_give_no_nan(X, kind):
    for model in (RobustSubspace(n_components=2), DualPCP(n_components=2), DualPCP(n_components=2, center="mean")):
        model.fit(kind(X))
        assert np.all(np.isfinite(model.components_)) and np.all(np.isfinite(model.distances_))
        assert np.max(np.abs(model.components_ @ model.components_.T - np.eye(2))) < 1e-12


@pytest.mark.parametrize("model", [RobustSubspace(n_components=2), DualPCP(n_components=2)], ids=repr)
@pytest.mark.parametrize("contamination", ["auto", 0.2])
def test_scores_and_decisions_are_those_of_scikit_learn(model, contamination):
    # Eleven samples and a share of 0.2: the threshold is the distance of a sample, which must not become an outlier.
    for seed in range(6):
        X = np.random.default_rng(seed).standard_normal((11, 4))
        fitted = clone(model).set_params(contamination=contamination)
        labels = fitted.fit_predict(X)
        assert np.array_equal(labels, np.where(fitted.outliers_, -1, 1)) and np.array_equal(labels, fitted.predict(X))
        assert np.array_equal(fitted.score_samples(X), -fitted.distances(X))
        assert np.array_equal(fitted.decision_function(X), fitted.score_samples(X) - fitted.offset_)
        assert np.array_equal(fitted.decision_function(X) < 0, fitted.outliers_)
        if contamination != "auto":
            assert np.count_nonzero(labels == -1) == 2
    new = np.vstack([fitted.location_, fitted.location_ + 100.0 * np.eye(4)[:1]])
    inside, outside = fitted.decision_function(new)
    assert inside == pytest.approx(fitted.threshold_) and inside > outside


@pytest.mark.parametrize("kind", [RobustSubspace, DualPCP])
def test_scikit_learns_checks_of_outlier_detectors(kind):
    # They ask for outliers among samples that have none, so a share is given; their samples have two features.
    for check in (check_outliers_train, check_outliers_fit_predict):
        check(kind.__name__, kind(n_components=1, contamination=0.1))
