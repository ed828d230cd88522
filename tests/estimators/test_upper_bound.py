"""The bound beside the components: never below what they keep, in every unit and float type, and along a path."""

import copy
import pickle

import numpy as np
import pytest
from scipy import sparse

from orthoprox import SparsePCA, sparse_pca_path, variance_bound
from orthoprox.covariance import DenseCovariance, SampleCovariance
from orthoprox.datasets import pitprops
from orthoprox.estimators import _bound

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


ROOM = [_bound._KEPT, 0]
"""Whether a fit may hold what its bound is computed from."""


@pytest.mark.parametrize("n", [8, 1_200])  # the covariance is held, or a copy of the samples
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_bound_that_is_asked_for_later_is_that_of_the_fit(n, kind, monkeypatch):
    """Whatever has become of the samples and settings since, and the same as if it had been computed at once."""
    rng, found = np.random.default_rng(5), []
    D = np.where(rng.random((20, n)) < 0.5, rng.standard_normal((20, n)), 0.0)
    for room in ROOM:
        monkeypatch.setattr(_bound, "_KEPT", room)
        X = kind(D.copy())
        fitted = SparsePCA(2, n_nonzero=6, effort="fast").fit(X)
        assert ("upper_bound_" in vars(fitted)) == (room == 0) and {"upper_bound_", "optimality_gap_"} <= set(
            dir(fitted)
        )
        (X.data if sparse.issparse(X) else X)[...] = 0.0
        fitted.set_params(effort="thorough", n_nonzero=2)
        found.append((fitted.upper_bound_, fitted.optimality_gap_))
        assert vars(fitted)["_bound_task"] is None and fitted.upper_bound_ == found[-1][0]  # nothing is held any more
    assert found[0] == pytest.approx(found[1], rel=1e-12) and found[0][1] > 0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_a_fit_holds_the_smaller_of_samples_and_covariance(kind):
    """Both have an upper bound in common, and what is held is nobody else's."""
    for m, held in ((20, SampleCovariance), (70, DenseCovariance)):
        B = kind(np.ones((m, 50)))
        C = SampleCovariance(B, np.zeros(50), m)
        apart = C.separate(8 * 50 * 50)
        assert isinstance(apart, held) and np.allclose(apart.dense(), C.dense())
        assert not np.shares_memory(apart.C if held is DenseCovariance else _values(apart.B), _values(B))
        assert C.separate(7_000) is None


def _values(B):
    return B.data if sparse.issparse(B) else B


def test_copies_and_pickles_have_the_bound_and_no_samples(X):
    for twin in (copy.copy, copy.deepcopy, lambda fitted: pickle.loads(pickle.dumps(fitted))):
        fitted = SparsePCA(2, n_nonzero=6).fit(X)
        assert vars(twin(fitted))["_bound_task"] is None
        assert twin(fitted).upper_bound_ == fitted.upper_bound_


@pytest.mark.parametrize("again", ["fit", "partial_fit"])
def test_another_fit_has_its_own_bound(again, X):
    fitted = SparsePCA(2, n_nonzero=6).fit(X)
    getattr(fitted, again)(10 * X)
    alone = getattr(SparsePCA(2, n_nonzero=6), again)(10 * X)
    assert fitted.optimality_gap_ == alone.optimality_gap_ and fitted.upper_bound_ == alone.upper_bound_


def test_another_fit_in_processes_computes_no_bound_of_the_last(X, monkeypatch):
    """Each gets a copy of the estimator, and copies have their bound; after a fit that fails the last one waits."""
    fitted = SparsePCA(2, n_nonzero=6, effort="fast").fit(X[:, :6]).set_params(n_init=2, n_jobs=2)
    before = vars(fitted)["_bound_task"]

    def ended(runs, n_jobs):
        pickle.dumps(runs)
        raise KeyboardInterrupt

    monkeypatch.setattr("orthoprox.estimators.sparse_pca.side_by_side", ended)
    monkeypatch.setattr(_bound.BoundTask, "compute", lambda task: pytest.fail("nobody has asked"))
    with pytest.raises(KeyboardInterrupt):
        fitted.fit(X)
    assert vars(fitted)["_bound_task"] is before is not None


def test_paths_compute_the_bounds_that_they_show(X, monkeypatch):
    counts, compute = [2, 4, 8], _bound.BoundTask.compute
    asked: list[int] = []
    monkeypatch.setattr(_bound.BoundTask, "compute", lambda task: asked.append(task.allowance.total) or compute(task))
    sparse_pca_path(X, 2, n_nonzero=counts, cv=2, effort="fast")
    assert asked == counts
