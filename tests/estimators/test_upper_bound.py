"""The bound beside the components: never below what they keep, in every unit and float type, and along a path."""

import numpy as np
import pytest
from scipy import sparse

from orthoprox import SparsePCA, sparse_pca_path, variance_bound
from orthoprox.datasets import pitprops

WISHES = [
    {"n_nonzero": 6},
    {"n_nonzero": 7, "n_nonzero_per_component": 4},
    {"n_nonzero_per_component": [3, 2]},
    {"weight": 2.0},
    {"weight": 0.3, "penalty": "group"},
    {},
]


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(11)
    D = rng.standard_normal((30, 8))
    D[:, :4] += 2 * rng.standard_normal((30, 1))
    return D


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("wish", WISHES, ids=str)
def test_the_bound_is_that_of_the_covariance(wish, dtype, X):
    """As for the covariance itself, with the nonzeros that are allowed or, with a weight, were found."""
    X = X.astype(dtype)
    fitted = SparsePCA(2, effort="fast", **wish).fit(X)
    rounding = 20 * float(np.finfo(dtype).eps)
    kept = fitted.explained_variance_.sum()
    assert fitted.upper_bound_ >= kept * (1 - rounding)
    assert fitted.optimality_gap_ == pytest.approx(1 - kept / fitted.upper_bound_, abs=rounding)
    allowed = wish or {"n_nonzero": 4}
    if "weight" in wish:
        allowed = {"n_nonzero": int(fitted.n_nonzero_.sum())}
    D = X - X.mean(axis=0)
    expected = variance_bound(np.cov(D.T.astype(np.float64)), 2, effort="fast", **allowed).value
    assert fitted.upper_bound_ == pytest.approx(expected, rel=1e-6 if dtype == np.float32 else 1e-9)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("power", [-530, -300, 300, 530])
def test_units_change_no_digit(kind, power, X):
    """At 2^530 variances are beyond the range of floats, and the gap is not."""
    plain = SparsePCA(2, n_nonzero=6, effort="fast").fit(kind(X))
    fitted = SparsePCA(2, n_nonzero=6, effort="fast").fit(kind(np.ldexp(X, power)))
    with np.errstate(over="ignore"):
        assert fitted.upper_bound_ == np.ldexp(plain.upper_bound_, 2 * power)
    assert fitted.optimality_gap_ == plain.optimality_gap_ > 0


def test_where_everything_is_allowed_nothing_is_missing(X):
    for D in (X, X.T, sparse.csr_array(X)):  # X.T has fewer samples than features
        assert 0 <= SparsePCA(3, n_nonzero=1.0).fit(D).optimality_gap_ < 1e-10
    assert SparsePCA(1, n_nonzero=3).fit_covariance(np.diag([3.0, 2.0, 1.0])).optimality_gap_ < 1e-10


def test_a_thorough_fit_proves_more():
    """Four nonzeros in each of two components of pitprops are optimal, by branch and bound."""
    fits = [SparsePCA(2, n_nonzero_per_component=4, effort=e) for e in ("balanced", "thorough")]
    balanced, thorough = (fit.fit_covariance(pitprops()[0]).optimality_gap_ for fit in fits)
    assert 0.05 < balanced < 0.1 and thorough < 2e-6


def test_wide_fits_have_bounds():
    rng = np.random.default_rng(2)
    D = sparse.csr_array(np.where(rng.random((300, 2_000)) < 0.02, rng.random((300, 2_000)), 0.0))
    D = D @ sparse.diags_array(1.0 / (1 + np.arange(2_000)) ** 0.5)
    for S in (D, D.astype(np.float32), D.toarray()):
        fitted = SparsePCA(3, n_nonzero=30, effort="fast").fit(S)
        kept, pca = fitted.explained_variance_ratio_.sum(), fitted.pca_variance_ratio_
        assert fitted.score(S) == pytest.approx(kept)
        assert kept <= kept / (1 - fitted.optimality_gap_) <= pca * (1 + 1e-4)
        assert fitted.optimality_gap_ < 0.3


def test_a_path_has_bounds_that_never_fall(X):
    path = sparse_pca_path(X, 2, n_nonzero=[2, 4, 8, 16], cv=2, effort="fast")
    assert path.upper_bound is not None
    assert np.all(path.upper_bound >= path.variance_ratio * (1 - 1e-12)) and np.all(np.diff(path.upper_bound) >= 0)
    assert path.upper_bound[0] == pytest.approx(path.variance_ratio[0])  # single features are exact
    assert path.upper_bound[-1] == pytest.approx(path.variance_ratio[-1])  # and so is everything
    assert np.any(path.upper_bound > path.variance_ratio * 1.001)
