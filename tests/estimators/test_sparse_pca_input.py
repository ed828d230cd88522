"""What people bring to sparse PCA: a covariance, columns of all units, a share of variance, too many components."""

import warnings

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from orthoprox import SparsePCA, Status, solve
from orthoprox.allowance import Allowance, resolve_allowance
from orthoprox.estimators._input import about
from orthoprox.estimators._rank import features_for_rank, with_single_features

NAMES = [f"feature {i}" for i in range(8)]


@pytest.fixture(scope="module")
def X():
    """Two groups of three among eight features, far from the origin; the last is constant."""
    rng = np.random.default_rng(31)
    D = rng.standard_normal((50, 8)) + 7
    D[:, :3] += 3 * rng.standard_normal((50, 1))
    D[:, 3:6] += 2 * rng.standard_normal((50, 1))
    D[:, 7] = 0.1
    return D


def orthonormal(fitted):
    V = fitted.components_
    return bool(np.max(np.abs(V @ V.T - np.eye(len(V)))) <= 1e-12)


# ---------------------------------------------------------------- a covariance


@pytest.mark.parametrize(
    "wish", [{"n_nonzero": 6}, {"weight": 0.3}, {"n_nonzero": 6, "scale": "standard"}, {"n_nonzero": 1.0}], ids=str
)
def test_a_covariance_gives_what_its_samples_give(wish, X):
    C = pandas.DataFrame(X, columns=NAMES).cov()
    one, other = SparsePCA(2, **wish).fit(X), SparsePCA(2, **wish).fit_covariance(C, n_samples=50)
    V = other.components_
    assert orthonormal(other) and np.allclose(V, one.components_, atol=1e-6)
    assert np.array_equal(V != 0, one.components_ != 0) and not np.any(V[:, 7])
    for name in ("explained_variance_", "explained_variance_ratio_", "adjusted_variance_ratio_", "objective_"):
        assert np.allclose(getattr(other, name), getattr(one, name), rtol=1e-9)
    S = C.to_numpy() if "scale" not in wish else C.to_numpy() / np.outer(other.feature_scale_, other.feature_scale_)
    assert np.allclose(other.explained_variance_, np.diag(V @ S @ V.T), rtol=1e-12)
    assert list(other.feature_names_in_) == NAMES and not np.any(other.mean_)
    centred = pandas.DataFrame(X - X.mean(axis=0), columns=NAMES)
    scores = other.set_output(transform="pandas").transform(centred)
    assert np.allclose(scores, one.transform(X), atol=1e-4) and list(scores.columns) == ["sparsepca0", "sparsepca1"]


def test_the_units_of_a_covariance_change_nothing_and_float32_stays(X):
    C = np.cov(X.T)
    one = SparsePCA(2, n_nonzero=6).fit_covariance(C)
    for k in (1000, 301, -1000):
        other = SparsePCA(2, n_nonzero=6).fit_covariance(np.ldexp(C, k))
        assert np.allclose(other.components_, one.components_, atol=1e-9)
        assert np.allclose(np.ldexp(other.explained_variance_, -k), one.explained_variance_)
    single = SparsePCA(2, n_nonzero=6).fit_covariance(C.astype(np.float32))
    assert single.components_.dtype == np.float32 and np.allclose(single.components_, one.components_, atol=1e-3)


def test_features_of_any_unit_keep_their_digits_in_a_covariance(X):
    """Eigenvalues of C itself would lose a feature whose variance is below 1e-16 of the largest."""
    units = np.array([1e-9, 1e4, 1.0, 1e-3, 2.0, 1.0, 1e6, 1.0])
    one = SparsePCA(2, n_nonzero=6, scale="standard").fit(X)
    other = SparsePCA(2, n_nonzero=6, scale="standard").fit_covariance(np.cov(X.T) * np.outer(units, units))
    assert np.allclose(other.components_, one.components_, atol=1e-6)
    assert np.allclose(other.feature_scale_[:7], (X.std(axis=0, ddof=1) * units)[:7], rtol=1e-9)


def test_without_a_number_of_samples_the_weight_is_in_units_of_the_covariance(X):
    C = np.cov(X.T)
    half = SparsePCA(2, weight=0.25).fit_covariance(C / 2)
    whole = SparsePCA(2, weight=0.5).fit_covariance(C)
    V = whole.components_
    assert np.allclose(half.components_, V, atol=1e-6)
    value = (np.trace(C) - np.trace(V @ C @ V.T)) / 2 + 0.5 * np.sum(np.abs(V))
    assert whole.objective_ == pytest.approx(value, rel=1e-9)


def test_rounding_is_no_negative_eigenvalue(X):
    C = np.cov(X[:4].T)
    C[0, 1] *= 1 + 1e-12
    assert orthonormal(SparsePCA(2, n_nonzero=4).fit_covariance(C))


# ---------------------------------------------------------------- units


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_standardised_features_have_no_units(kind, X, monkeypatch):
    X = np.where(np.random.default_rng(5).random(X.shape) < 0.3, 0.0, X - 7)
    X[:, 7] = 0.1
    units = np.array([1e-100, 1e3, 1.0, 1e150, 2.0, 1e-3, 1e6, 1.0])
    Z = StandardScaler().fit_transform(X) * np.sqrt(49 / 50)
    Z[:, 7] = 0.0
    plain = SparsePCA(2, n_nonzero=6).fit(Z)
    filled = csr_array.toarray

    def toarray(A, *args, **kwargs):
        assert len(X) not in A.shape, "samples are never filled in"
        return filled(A, *args, **kwargs)

    monkeypatch.setattr(csr_array, "toarray", toarray)
    fitted = SparsePCA(2, n_nonzero=6, scale="standard").fit(kind(X * units))
    assert orthonormal(fitted) and np.allclose(fitted.components_, plain.components_, atol=1e-6)
    assert np.allclose(fitted.feature_scale_[:7], (X.std(axis=0, ddof=1) * units)[:7]) and fitted.feature_scale_[7] == 1
    assert np.allclose(fitted.explained_variance_, plain.explained_variance_)
    scores = fitted.transform(kind(X * units))
    assert np.allclose(scores, plain.transform(Z), atol=1e-4)
    assert fitted.score(kind(X * units)) == pytest.approx(plain.score(Z))
    back = (fitted.inverse_transform(scores) - fitted.mean_) / fitted.feature_scale_
    assert np.allclose(back, scores @ fitted.components_)
    assert not fitted.notes_


def test_wine_warns_of_units_and_digits_only_note_them():
    wine = load_wine(as_frame=True).data
    with pytest.warns(UserWarning, match='deviation of proline is 315, that of .* pass scale="standard"') as told:
        fitted = SparsePCA(2).fit(wine)
    assert len(told) == 1 and told[0].filename == __file__ and "proline" in str(fitted.summary())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not SparsePCA(2, scale="standard").fit(wine).notes_
        fitted = SparsePCA(2).fit(load_digits().data)  # pixels at the margin spread little, in the units of all others
    assert len(fitted.notes_) == 1 and "Features differ much in spread" in fitted.notes_[0]


# ---------------------------------------------------------------- how many components


@pytest.mark.parametrize("share", [0.3, 0.75, 0.9, 0.999, np.float32(0.5)], ids=str)
def test_a_share_of_variance_takes_as_many_components_as_pca(share, X):
    for D in (X, X[:6], csr_array(X)):
        fitted = SparsePCA(share, n_nonzero=0.4).fit(D)
        ratios = np.cumsum(PCA().fit(D if D is not csr_array else X).explained_variance_ratio_)
        r = int(np.searchsorted(ratios, share)) + 1
        assert fitted.n_components_ == r == len(fitted.components_) and fitted.n_components is share
        assert fitted.pca_variance_ratio_ == pytest.approx(ratios[r - 1])
        assert fitted.explained_variance_ratio_.sum() <= fitted.pca_variance_ratio_ + 1e-12


def test_the_share_of_pca_is_right_where_its_gram_matrix_is_not_formed(monkeypatch):
    rng = np.random.default_rng(3)
    S = csr_array(np.where(rng.random((60, 90)) < 0.2, rng.random((60, 90)), 0.0))
    ratio = PCA(3).fit(S.toarray()).explained_variance_ratio_.sum()
    monkeypatch.setattr("orthoprox.estimators._spectrum._FORMED", 0)
    for D in (S, S.T.tocsr()[:, :60], S.astype(np.float32)):
        fitted = SparsePCA(3, n_nonzero=9).fit(D)
        expected = ratio if D.shape == S.shape else PCA(3).fit(D.toarray()).explained_variance_ratio_.sum()
        assert fitted.pca_variance_ratio_ == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(
    ("wish", "n"),
    [({}, 90), ({"n_nonzero": 45}, 50), ({"n_nonzero_per_component": 3}, 70), ({"n_nonzero": 0.1}, 41)],
    ids=str,
)
def test_more_components_than_the_rank_are_single_features_and_cost_nothing(wish, n, monkeypatch):
    X, sizes = np.random.default_rng(2).standard_normal((20, n)) * np.linspace(1, 2, n), []

    def watched(problem, *given, **rest):
        sizes.append((problem.M.n, problem.M.r))
        return solve(problem, *given, **rest)

    monkeypatch.setattr("orthoprox.estimators._search.solve", watched)
    with pytest.warns(UserWarning, match="n_components = 40 is more than the rank of the data, 19") as told:
        fitted = SparsePCA(40, **wish).fit(X)
    assert set(sizes) == {(n - 21, 19)}
    allowance = resolve_allowance(wish.get("n_nonzero"), wish.get("n_nonzero_per_component"), n, 40)
    counts = np.count_nonzero(fitted.components_, axis=1)
    assert orthonormal(fitted) and fitted.components_.shape == (40, n) and len(told) == 1 == len(fitted.notes_)
    assert np.sum(counts) <= allowance.total and np.all(counts <= allowance.caps) and np.all(counts >= 1)
    assert np.all(np.diff(fitted.explained_variance_) <= 1e-12)
    # Further components keep more than the fitted ones alone, and the objective is that of all.
    assert fitted.explained_variance_ratio_.sum() > SparsePCA(19, **wish).fit(X).explained_variance_ratio_.sum()
    kept = np.sum(fitted.explained_variance_) * 19 / 20
    assert fitted.objective_ == pytest.approx((np.sum(X.var(axis=0)) - kept) / 2)
    assert fitted.result_.X.shape == (n, 40) and fitted.result_.status is Status.CONVERGED


def test_the_single_features_are_those_of_largest_variance_without_a_loading():
    data = about(np.diag([3.0, 9.0, 1.0, 7.0, 5.0]), np.zeros(5))
    inside = features_for_rank(data, 2)
    assert np.array_equal(inside, [1, 3, 4])
    V = with_single_features(data, np.array([[0.6], [0.8], [0.0]]), inside, 2)
    assert np.array_equal(V.T, [[0, 0.6, 0, 0.8, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0]])


def test_a_rank_of_one_and_a_penalty_and_pca_itself():
    X = np.outer(np.arange(10.0), [1.0, 2.0, 3.0, 4.0, 5.0])
    for wish in ({"n_nonzero": 8}, {"weight": 0.1}, {"n_nonzero": 1.0}, {"n_nonzero_per_component": [1, 2, 2, 1]}):
        with pytest.warns(UserWarning, match="more than the rank of the data, 1: .* Only 1 is fitted"):
            fitted = SparsePCA(4, **wish).fit(X)
        assert orthonormal(fitted) and fitted.explained_variance_ratio_.sum() == pytest.approx(1.0)
    assert SparsePCA(1, n_nonzero=1.0).fit(X).notes_ == ()
    assert SparsePCA(3, n_nonzero=4).fit_covariance(np.diag([3.0, 2.0, 1.0])).notes_ == ()  # no mean takes a direction


# ---------------------------------------------------------------- both counts


def test_an_allowance_has_both_counts():
    assert resolve_allowance(None, None, 10, 3) == Allowance(6, (10, 10, 10))
    assert resolve_allowance(0.5, [1, 2, 4], 10, 3) == Allowance(7, (1, 2, 4))
    assert resolve_allowance(5, 4, 10, 3) == Allowance(5, (4, 4, 4))
    with pytest.raises(ValueError, match="n_nonzero = 2 is too few"):
        resolve_allowance(2, 4, 10, 3)
    for caps, total in (((4, 4, 4), 5), ((1, 9, 2), 6), ((3, 3), 2), ((2, 2), 9)):
        level = Allowance(total, caps).level()
        assert sum(level) == min(total, sum(caps)) and all(1 <= a <= b for a, b in zip(level, caps, strict=True))
