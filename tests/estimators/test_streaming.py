"""Samples in blocks: the answer is that of all samples at once, and what is promised of a bounded sketch holds."""

import pickle

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import NotFittedError

from bounds.brute import best_pair
from catalogue_estimators import ESTIMATORS
from orthoprox import NonnegativePCA, SparsePCA
from orthoprox.covariance import SampleCovariance, WithVariances
from orthoprox.sketches import ExactCovariance, FrequentDirections, load_sketch, new_sketch

BOTH = [
    SparsePCA(n_components=2, n_nonzero_per_component=3, effort="fast"),
    NonnegativePCA(n_components=2, n_init=2, random_state=0),
]
both = pytest.mark.parametrize("estimator", BOTH, ids=lambda one: type(one).__name__)


def planted(seed, m=160, n=40):
    """Two groups of features that go together, noise, and an offset."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, n)) + 20 * rng.random(n)
    X[:, :5] += 3 * rng.standard_normal((m, 1))
    X[:, 5:9] += 2 * rng.standard_normal((m, 1))
    return X


def decaying(seed, m=300, n=120):
    """Singular values that fall slowly, and no zeros in the true directions: the hard case for a sketch."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((k, 60)))[0] for k in (m, n))
    return 30 * U * (1 / np.arange(1, 61)) @ V.T + 0.02 * rng.standard_normal((m, n))


DATA = {
    "planted": planted(0),
    "decaying": decaying(1),
    "digits": load_digits().data[:300],
    "wine": load_wine().data / np.std(load_wine().data, axis=0),
}


def shuffled_blocks(X, seed=0):
    """All samples once, in blocks of different sizes, some of a single sample."""
    m = X.shape[0]
    order = np.random.default_rng(seed).permutation(m)
    for rows in np.split(order, [1, 7, m // 4, m // 4 + 1, m // 2, m - 1]):
        yield X[rows]


def stream(estimator, X, seed=0):
    estimator = clone(estimator)
    for block in shuffled_blocks(X, seed):
        estimator.partial_fit(block)
    return estimator


def kept(X, fitted):
    """The variance that components keep, from its definition."""
    Z = X - X.mean(axis=0)
    if getattr(fitted, "feature_scale_", None) is not None:
        Z = Z / fitted.feature_scale_
    return np.sum((Z @ fitted.components_.T) ** 2) / (len(X) - 1)


@pytest.mark.parametrize(("data", "scale"), [*((name, None) for name in DATA), ("digits", "standard")])
def test_an_exact_sketch_gives_the_answer_of_all_samples_at_once(data, scale):
    X = DATA[data]
    model = SparsePCA(n_components=3, n_nonzero_per_component=5, scale=scale, effort="fast")
    whole, parts = clone(model).fit(X), stream(model, X)
    assert parts.explained_variance_ == pytest.approx(whole.explained_variance_, rel=1e-10)
    assert np.allclose(parts.components_, whole.components_, atol=1e-7)
    assert np.array_equal(parts.components_ != 0, whole.components_ != 0)
    for name in ("mean_", "upper_bound_", "objective_", "pca_variance_ratio_", "adjusted_variance_ratio_"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-12)
    assert np.allclose(parts.transform(X), whole.transform(X), atol=1e-6)
    assert parts.n_samples_seen_ == len(X)


def test_a_penalty_and_nonnegative_components_from_blocks():
    X = planted(3)
    for model in (SparsePCA(n_components=2, weight=0.3), NonnegativePCA(n_components=3, n_init=2, random_state=1)):
        whole, parts = clone(model).fit(X), stream(model, X)
        assert parts.objective_ == pytest.approx(whole.objective_, rel=1e-9)
        assert np.allclose(parts.components_, whole.components_, atol=1e-6)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        *((name, "count") for name in ("planted", "decaying", "digits")),
        ("digits", "standard"),
        ("decaying", "nonnegative"),
    ],
)
def test_a_bounded_sketch_keeps_99_per_cent_of_the_variance(data, kind):
    X = DATA[data]
    model = {
        "count": SparsePCA(
            n_components=3, n_nonzero_per_component=5, sketch_size=30, effort="fast"
        ),  # ten for each, as by default
        "standard": SparsePCA(
            n_components=3, n_nonzero_per_component=7, scale="standard", sketch_size=30, effort="fast"
        ),
        "nonnegative": NonnegativePCA(n_components=3, n_init=3, random_state=0, sketch_size=30),
    }[kind]
    whole, parts = clone(model).fit(X), stream(model, X)
    assert isinstance(parts.sketch_, FrequentDirections) and parts.sketch_.error > 0
    assert kept(X, parts) >= 0.99 * kept(X, whole)
    if kind != "nonnegative":
        assert parts.upper_bound_ >= kept(X, whole)
        assert parts.upper_bound_ * (1 - parts.optimality_gap_) <= kept(X, parts)
    if kind != "standard":  # in other units than the sketch the error of one component is another
        T = (X - X.mean(axis=0)) @ parts.components_.T
        off = np.abs(parts.explained_variance_ - np.sum(T**2, axis=0) / (len(X) - 1))
        assert np.all(off <= 2 * parts.sketch_.error)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [None, "standard"])
def test_the_upper_bound_of_a_bounded_sketch_holds_for_the_data(seed, scale):
    """The best components are found by going through all supports; the sketch is as small as it gets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 7)) @ np.diag([3, 3, 2, 2, 1, 1, 1]) @ rng.standard_normal((7, 7))
    model = SparsePCA(n_components=2, n_nonzero_per_component=2, sketch_size=1, scale=scale)
    parts = stream(model, X, seed)
    Z = X if scale is None else X / np.std(X, axis=0, ddof=1)
    best = best_pair(np.cov(Z.T), 2, 2, rng)
    assert parts.upper_bound_ >= best * (1 - 1e-12)
    assert parts.upper_bound_ * (1 - parts.optimality_gap_) <= kept(X, parts) * (1 + 1e-12)
    alone = parts.sketch_.covariance().dense()
    alone = alone if scale is None else alone / np.outer(parts.feature_scale_, parts.feature_scale_)
    assert np.sum(np.linalg.eigvalsh(alone)[-2:]) < best  # without what the sketch has left out it would not hold


def test_components_are_found_when_they_are_asked_for(monkeypatch):
    fits = []
    original = SparsePCA._fit
    monkeypatch.setattr(SparsePCA, "_fit", lambda self, data: fits.append(data) or original(self, data))
    model = SparsePCA(n_components=2, n_nonzero_per_component=3)
    for count, block in enumerate(shuffled_blocks(planted(2)), start=1):
        assert model.partial_fit(block) is model and model.sketch_.n_samples == model.n_samples_seen_
        assert not fits and count
    first = model.components_
    assert model.components_ is first and model.mean_ is not None and len(fits) == 1
    assert not hasattr(model, "no_such_attribute_") and len(fits) == 1
    twin = pickle.loads(pickle.dumps(model.partial_fit(planted(4)[:3])))
    assert np.array_equal(twin.components_, model.components_) and len(fits) == 3


@both
def test_every_attribute_of_a_fit_waits_for_the_question(estimator):
    X = planted(0)
    fitted = [name for name in dir(clone(estimator).fit(X)) if name.endswith("_") and not name.startswith("_")]
    names = set(fitted) - {"n_features_in_", "feature_names_in_"}
    assert names == type(estimator)._lazy
    assert type(estimator)._lazy.isdisjoint(vars(clone(estimator).partial_fit(X)))


@both
def test_what_was_looked_at_on_the_way_plays_no_part(estimator):
    X = planted(1)
    watched, plain = clone(estimator), stream(estimator, X)
    for block in shuffled_blocks(X):
        watched.partial_fit(block)
        if watched.n_samples_seen_ > 1:
            assert watched.components_.shape == (2, 40)
    assert np.array_equal(watched.components_, plain.components_)


def test_a_warm_start_begins_at_the_last_components(monkeypatch):
    model = SparsePCA(n_components=2, n_nonzero_per_component=3, warm_start=True).partial_fit(planted(0))
    last, starts = model.components_, []
    original = SparsePCA._previous_solution
    monkeypatch.setattr(SparsePCA, "_previous_solution", lambda *given: starts.append(original(*given)) or starts[-1])
    assert model.partial_fit(planted(0)[:9]).components_ is not last
    assert np.array_equal(starts[0].T, last)
    last = model.components_
    starts.clear()
    model.partial_fit(planted(0)[:9]).fit(planted(0))
    assert np.array_equal(starts[0].T, last)


@both
def test_a_block_that_is_refused_changes_nothing(estimator):
    frame = pandas.DataFrame(planted(0)).rename(columns=str)
    model = clone(estimator).partial_fit(frame[:100])
    before = dict(vars(model))
    bad = frame[100:].copy()
    bad.iloc[3, 4] = np.nan
    other = frame.rename(columns={"0": "z"})
    for block, words in ((bad, "NaN"), (frame.iloc[:, :9], "feature names"), (other, "feature names")):
        with pytest.raises(ValueError, match=words):
            model.partial_fit(block)
        assert vars(model).keys() == before.keys() and all(vars(model)[name] is before[name] for name in before)
    fitted = clone(estimator).fit(frame)
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="NaN"):
        fitted.partial_fit(bad.to_numpy())
    assert all(vars(fitted)[name] is before[name] for name in before)


@both
def test_fit_forgets_the_blocks_and_the_first_block_forgets_the_fit(estimator):
    X, Y = planted(0), planted(1)[:, :20]
    model = clone(estimator).partial_fit(X).fit(Y)
    assert not hasattr(model, "sketch_") and not hasattr(model, "n_samples_seen_")
    assert np.array_equal(model.components_, clone(estimator).fit(Y).components_)
    assert model.partial_fit(X[:50]).n_samples_seen_ == 50 and model.components_.shape == (2, 40)
    if isinstance(model, SparsePCA):
        assert not hasattr(model.fit_covariance(np.cov(Y.T)), "sketch_")


def test_old_samples_fade():
    X = np.vstack([planted(0), planted(0)[:, ::-1]])  # the groups move to the last features
    model = SparsePCA(n_components=2, n_nonzero_per_component=4, half_life=15.0)
    for block in np.array_split(X, 9):
        model.partial_fit(block)
    weights = 0.5 ** (np.arange(len(X) - 1, -1, -1) / 15)
    whole = SparsePCA(n_components=2, n_nonzero_per_component=4).fit_covariance(np.cov(X.T, aweights=weights))
    assert model.explained_variance_ == pytest.approx(whole.explained_variance_, rel=1e-10)
    assert np.allclose(model.components_, whole.components_, atol=1e-7)
    assert np.all(np.flatnonzero(np.any(model.components_, axis=0)) >= 31)
    assert model.sketch_.effective_samples == pytest.approx(2 * 15 / np.log(2), rel=0.02)


@pytest.mark.parametrize("size", [None, 6])
def test_a_saved_stream_goes_on_to_the_same_components(size, tmp_path):
    X, names = planted(5), [f"f{i}" for i in range(40)]
    model = SparsePCA(n_components=2, n_nonzero_per_component=3, sketch_size=size)
    whole = clone(model).partial_fit(X[:70]).partial_fit(X[70:])
    clone(model).partial_fit(X[:70]).sketch_.save(tmp_path / "half.npz")
    resumed = clone(model).fit_sketch(load_sketch(tmp_path / "half.npz"), names)
    assert resumed.components_.shape == (2, 40)
    resumed.partial_fit(pandas.DataFrame(X[70:], columns=names))
    assert np.array_equal(resumed.components_, whole.components_)
    assert resumed.upper_bound_ == whole.upper_bound_


@both
@pytest.mark.parametrize("size", [None, 10])
def test_units_kinds_and_types_of_blocks(estimator, size):
    X = np.where(np.abs(planted(0)) < 2, 0.0, planted(0))
    model = clone(estimator).set_params(sketch_size=size)
    plain = stream(model, X)
    huge = stream(model, np.ldexp(X, 1000))
    assert np.array_equal(huge.components_, plain.components_) and np.isinf(huge.explained_variance_).all()
    assert huge.explained_variance_ratio_ == pytest.approx(plain.explained_variance_ratio_, rel=1e-12)
    assert kept(X, stream(model, csr_array(X))) == pytest.approx(kept(X, plain), rel=1e-9)
    single = stream(model, X.astype(np.float32))
    assert single.components_.dtype == single.mean_.dtype == np.float32
    # in single precision the search may end at other zeros; a bounded sketch promises a hundredth
    assert kept(X, single) == pytest.approx(kept(X, plain), rel=1e-4 if size is None else 1e-2)


def test_too_little_so_far_is_said_and_more_helps():
    X = planted(0)
    model = SparsePCA(n_components=2, n_nonzero_per_component=3).partial_fit(X[:1])
    with pytest.raises(NotFittedError, match="has seen 1 sample, and components need at least 2"):
        model.transform(X)
    assert not hasattr(model, "components_")
    model.partial_fit(X[:1])
    with pytest.raises(NotFittedError, match="All features of X are constant"):
        _ = model.components_
    assert model.partial_fit(X[1:]).components_.shape == (2, 40)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"half_life": 0.0}, "half_life must be a finite number of samples, at least 1"),
        ({"sketch_size": 0}, "sketch_size must be at least 1"),
        ({"sketch_size": 2.5}, "sketch_size must be a whole number"),
        ({"n_components": 50}, "at most as many orthonormal components as features"),
    ],
)
@both
def test_settings_are_checked_at_the_first_block(estimator, settings, words):
    model = clone(estimator).set_params(**settings)
    with pytest.raises((ValueError, TypeError), match=words):
        model.partial_fit(planted(0))
    assert not hasattr(model, "sketch_") and not hasattr(model, "n_features_in_")


def test_sketches_that_do_not_fit_are_refused():
    sketch = SparsePCA().partial_fit(planted(0)).sketch_
    with pytest.raises(TypeError, match="sketch must be a CovarianceSketch"):
        SparsePCA().fit_sketch(np.eye(3))
    with pytest.raises(ValueError, match="feature_names must be a list of 40 names"):
        SparsePCA().fit_sketch(sketch, ["a"])


def test_a_fit_that_is_refused_leaves_the_stream_and_the_fit():
    X = planted(0)
    model = SparsePCA(n_components=2, n_nonzero=6).partial_fit(X)
    components, sketch = model.components_, model.sketch_
    with pytest.raises(NotFittedError, match="has seen 0 samples, and components need at least 2"):
        model.fit_sketch(new_sketch(5))
    with pytest.raises(ValueError, match="at most as many orthonormal components as features"):
        model.fit(X[:, :1])
    assert model.sketch_ is sketch and model.components_ is components and model.n_features_in_ == 40


def test_numpy_integers_are_whole_numbers():
    assert isinstance(new_sketch(8, np.int64(20)), ExactCovariance)
    model = SparsePCA(n_components=np.int64(30), n_nonzero=60)
    assert model.partial_fit(np.eye(3, 5000)).sketch_.size == 300


def test_only_what_depends_on_the_covariance_alone_has_partial_fit():
    have = {type(one) for one in ESTIMATORS if hasattr(one, "partial_fit")}
    assert have == {SparsePCA, NonnegativePCA}


def test_a_share_of_the_variance_and_many_features(rng):
    """More features than a Gram matrix is formed for, so that everything goes through products."""
    X = 0.5 * rng.standard_normal((60, 1010))
    X[:, :6] += 4 * rng.standard_normal((60, 1))
    X[:, 6:10] += 3 * rng.standard_normal((60, 1))
    model = SparsePCA(n_components=2, n_nonzero_per_component=5, sketch_size=10, effort="fast")
    whole, parts = clone(model).fit(X), stream(model, X)
    assert kept(X, parts) >= 0.99 * kept(X, whole) and parts.upper_bound_ >= kept(X, whole)
    assert parts.set_params(n_components=0.3).fit_sketch(parts.sketch_).n_components_ == 2


def test_variances_that_features_have_by_themselves(rng):
    C = SampleCovariance(rng.standard_normal((4, 6)), np.zeros(6), 3)
    with_own = WithVariances(C, rng.random(6))
    D = C.dense() + np.diag(with_own.own)
    i, j = np.array([4, 1, 2]), np.array([2, 4])
    assert np.allclose(with_own.dense(), D) and np.allclose(with_own.diagonal, np.diag(D))
    assert np.allclose(with_own.cross(i, j), D[np.ix_(i, j)]) and np.allclose(with_own.columns(j), D[:, j])
    assert np.allclose(with_own.restrict(i).dense(), D[np.ix_(i, i)]) and np.allclose(
        with_own.block(i), D[np.ix_(i, i)]
    )
    X = rng.standard_normal((6, 2))
    assert np.allclose(with_own.product(X), D @ X) and with_own.gram() is None and with_own.n == 6
