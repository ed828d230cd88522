"""The path of sparse PCA: variance against sparsity, cross-validation, the choice by one standard error."""

import warnings

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.decomposition import PCA
from sklearn.model_selection import ShuffleSplit

from orthoprox import SparsePCA, sparse_pca_path
from orthoprox.estimators import SparsePCAPath, _search
from orthoprox.supports.points import Points


@pytest.fixture(scope="module")
def X():
    """Two groups of four among ten features."""
    rng = np.random.default_rng(202)
    D = rng.standard_normal((60, 10))
    D[:, :4] += 3 * rng.standard_normal((60, 1))
    D[:, 4:8] += 2 * rng.standard_normal((60, 1))
    return D


@pytest.fixture(scope="module")
def path(X):
    return sparse_pca_path(X, 2, n_nonzero=[8, 0.2, 20, 5, 8], cv=4)


def test_counts_hold_and_variances_rise_by_way_of_the_planted_groups_to_that_of_pca(path, X):
    assert np.array_equal(path.n_nonzero, [4, 5, 8, 20])
    for k, V in zip(path.n_nonzero, path.components, strict=True):
        assert V.shape == (2, 10) and 2 <= np.count_nonzero(V) <= k
        assert np.max(np.abs(V @ V.T - np.eye(2))) <= 1e-12
    assert np.array_equal(path.components[2] != 0, [[True] * 4 + [False] * 6, [False] * 4 + [True] * 4 + [False] * 2])
    D = X - X.mean(axis=0)
    kept = [np.sum((D @ V.T) ** 2) / np.sum(D**2) for V in path.components]
    assert np.allclose(path.variance_ratio, kept) and np.all(np.diff(kept) > 0)
    assert np.allclose(path.relative_variance_ratio, kept / PCA(2).fit(X).explained_variance_ratio_.sum())
    assert path.relative_variance_ratio[-1] == pytest.approx(1.0)


def test_errors_are_those_of_samples_left_out(X):
    split = ShuffleSplit(3, test_size=0.3, random_state=0)
    path = sparse_pca_path(X, 2, n_nonzero=[8], cv=split)
    lost = [1 - SparsePCA(2, n_nonzero=8).fit(X[train]).score(X[test]) for train, test in split.split(X)]
    assert path.error is not None and path.error_se is not None
    assert path.error == pytest.approx(np.mean(lost), rel=1e-6)
    assert path.error_se == pytest.approx(np.std(lost, ddof=1) / np.sqrt(3), rel=1e-6)


def made(error, error_se):
    """A path of two nonzeros, four, and so on, up to all entries."""
    several = len(error)
    return SparsePCAPath(
        n_nonzero=np.arange(2, 2 * several + 1, 2),
        variance_ratio=np.linspace(0.3, 0.5, several),
        relative_variance_ratio=np.linspace(0.84, 1.0, several),
        components=(np.ones((2, several)),) * several,
        error=np.array(error),
        error_se=np.array(error_se),
    )


def test_the_choice(path):
    assert path.best in path.n_nonzero and path.best_one_se == 8  # less misses a group, more is noise
    far = made([0.9, 0.55, 0.52, 0.5, 0.6], [0.9, 0.01, 0.01, 0.03, 0.5])
    assert (far.best, far.best_one_se) == (8, 6)


def test_a_single_fold_has_no_standard_error_and_the_least_error_decides(X):
    one = ShuffleSplit(1, test_size=0.3, random_state=0)
    path = sparse_pca_path(X, 2, n_nonzero=[2, 4, 8], cv=one, effort="fast")
    assert np.all(np.isnan(path.error_se)) and path.best_one_se == path.best > 2
    for said in (path.advice, str(path), path._repr_html_()):
        assert not any(words in said for words in ("standard error", "do as well", "+-", "nan"))
    assert "error" in str(path) and "in the one fold" in made([0.6, 0.5, 0.4], [np.nan] * 3).advice


def test_everything_is_not_recommended_without_a_word():
    """The sentence for each case: sparse is best, everything is, everything is and nothing else comes near."""
    assert made([0.6, 0.4, 0.5], [0.1] * 3).advice == "Samples left out are reconstructed best with 4 nonzeros."
    near = made([0.6, 0.54, 0.5], [0.05] * 3)
    assert near.best == 6 and near.best_one_se == 4
    assert "all 6 entries: sparsity costs accuracy here, though with 4 nonzeros no more than a stand" in near.advice
    far = made([0.6, 0.54, 0.5], [0.01] * 3)
    assert far.best_one_se == 6 and "no sparser choice" in far.advice
    assert "4 nonzeros keep 92.0% of the variance that principal components keep" in far.advice
    head, *rows, _, advice = str(far).splitlines()
    assert head.split() == ["n_nonzero", "variance", "of", "PCA", "error", "+-"] and advice == far.advice
    assert [row.split()[0] for row in rows] == ["2", "4", "6"] and rows[1].split()[2:4] == ["92.00%", "54.00%"]


def test_a_path_of_standardised_features_for_a_share_of_variance(X):
    units = 16.0 ** np.arange(10)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = sparse_pca_path(X * units, 0.6, n_nonzero=[0.3, 0.6], cv=2, scale="standard")
        other = sparse_pca_path(X, 0.6, n_nonzero=[0.3, 0.6], cv=2, scale="standard")
    r = int(np.searchsorted(np.cumsum(PCA().fit(X / X.std(axis=0)).explained_variance_ratio_), 0.6)) + 1
    assert path.components[0].shape == (r, 10) and "error" in str(path) and "Not cross" not in path.advice
    assert np.array_equal(path.error, other.error)
    with pytest.warns(UserWarning, match="Features differ much in spread") as told:
        bare = sparse_pca_path(X * units, 2, n_nonzero=[8], cv=2)
    assert len(told) == 1 and "error" not in str(sparse_pca_path(X, 2, n_nonzero=[8])) and "error" in str(bare)


@pytest.mark.parametrize("poor", [False, True])
def test_more_nonzeros_never_keep_less(poor, monkeypatch):
    """By construction: also where the search from scratch finds next to nothing at every other number."""
    D = np.random.default_rng(4).standard_normal((30, 9)) @ np.random.default_rng(5).standard_normal((9, 9))
    if poor:

        def search(*given, **rest):
            calls.append(1)
            return worst(*given, **rest) if rest["start"] is None and len(calls) % 2 else found(*given, **rest)

        def worst(C, allowance, *, progress, **rest):
            E = np.eye(C.n)[None, :, -2:]
            progress.offer(Points(E, E != 0, np.zeros(1)))

        calls, found = [], _search.find_components
        monkeypatch.setattr(_search, "find_components", search)
    kept = sparse_pca_path(D, 2, n_nonzero=[2, 3, 4, 6, 7, 9, 13, 16]).variance_ratio
    assert np.all(np.diff(kept) >= -1e-12) and kept[-1] > kept[0]


@pytest.mark.parametrize("kind", [pandas.DataFrame, csr_array])
def test_every_kind_of_input(kind, X, path):
    X = pandas.DataFrame(X, columns=list("abcdefghij")) if kind is pandas.DataFrame else kind(X)
    other = sparse_pca_path(X, 2, n_nonzero=[5, 8], cv=4)
    assert np.allclose(other.variance_ratio, path.variance_ratio[1:3], rtol=1e-6)
    assert np.allclose(other.error, path.error[1:3], rtol=1e-4)


def test_the_default_grid_reaches_from_few_to_all_and_without_cross_validation_there_is_no_choice():
    path = sparse_pca_path(np.random.default_rng(5).standard_normal((20, 15)), 2)
    assert path.n_nonzero[0] == 2 and path.n_nonzero[-1] == 30 and 8 <= len(path.n_nonzero) <= 10
    for name in ("best", "best_one_se"):
        with pytest.raises(AttributeError, match="pass cv to sparse_pca_path"):
            getattr(path, name)
