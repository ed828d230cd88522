"""Estimators on samples of other libraries: fitted where they live, and the same as in NumPy."""

import array_api_strict
import numpy as np
import pytest
import sklearn
from array_api_compat import device
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from backends.conftest import STAGE, Library, load
from catalogue_estimators import ESTIMATORS
from orthoprox.backends import Backend
from orthoprox.estimators import (
    DualPCP,
    OrthogonalDictionaryLearning,
    OrthogonalNMF,
    RangeICA,
    RobustSubspace,
    SparsePCA,
    _device,
    sparse_pca_path,
)

pytestmark = [
    pytest.mark.backends,  # with array-api-strict too: they take long
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
]
PLACES = ["strict", *(pytest.param(name, marks=STAGE) for name in ("torch", "jax", "torch on cuda"))]
FURTHER = [
    SparsePCA(n_components=2, n_nonzero_per_component=3, scale="standard", effort="fast"),
    SparsePCA(n_components=2, weight=0.1, penalty="group"),
    RangeICA(oblique=False, random_state=0),  # as many sources as features
    OrthogonalDictionaryLearning(codes="largest", transform_n_nonzero_coefs=2, precondition=True, random_state=0),
]


@pytest.fixture(params=PLACES)
def place(request, monkeypatch):
    """A library on a device that NumPy cannot read where there is one, with dispatch on."""
    name, _, where = request.param.partition(" on ")
    library = load(name, request.config)
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # scikit-learn asks for it
    if name == "strict":
        there = array_api_strict.Device("device1")
        library = Library(name, library.module, lambda a: array_api_strict.asarray(a, device=there))
    elif where:
        if not library.module.cuda.is_available():
            pytest.skip("there is no GPU that PyTorch can use.")
        library = Library(
            request.param, library.module, lambda a: load(name, request.config).module.tensor(a, device=where)
        )
    with sklearn.config_context(array_api_dispatch=True):
        yield library


@pytest.fixture
def samples():
    rng = np.random.default_rng(0)
    return np.abs(rng.standard_normal((60, 8))) + np.kron(rng.standard_normal((60, 2)) ** 2, np.ones((1, 4)))


@pytest.fixture
def brought(monkeypatch):
    """The sizes of the arrays that come to the host."""
    sizes = [0]
    for kind in {type(b) for b in (Backend(),)} | set(Backend.__subclasses__()):
        own = kind.to_numpy

        def counted(self, a, own=own):
            sizes.append(int(np.prod(a.shape)) if type(a) is not np.ndarray else 0)
            return own(self, a)

        monkeypatch.setattr(kind, "to_numpy", counted)
    return sizes


def label(estimator):
    return f"{type(estimator).__name__}-{[*ESTIMATORS, *FURTHER].index(estimator)}"


def attributes(estimator):
    found = {name: value for name, value in vars(estimator).items() if name.endswith("_") and name[0] != "_"}
    return {name: value for name, value in found.items() if not isinstance(value, (tuple, str)) and name != "result_"}


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *FURTHER], ids=label)
def test_a_fit_elsewhere_is_the_fit_in_numpy(place, samples, brought, estimator):
    if place.name == "jax" and estimator is not ESTIMATORS[0]:
        pytest.skip("JAX compiles every small operation, and one fit of each kind of path is enough")
    if place.name == "strict" and isinstance(estimator, RangeICA):
        pytest.skip("array-api-strict sorts slowly, and PyTorch is tried too")
    # Kinks everywhere, and no source or sparse code to be found: rounding decides at which of many minima a run ends.
    kinks = isinstance(estimator, RangeICA) or getattr(estimator, "objective", None) == "l1"
    close = 0.1 if kinks else 1e-4
    estimator = clone(estimator).set_params(max_iter=min(estimator.max_iter, 20))
    here = clone(estimator).fit(samples)
    X = place.asarray(samples)
    there = clone(estimator).fit(X)
    assert max(brought) < samples.size
    for name, value in attributes(here).items():
        found = getattr(there, name)
        if isinstance(value, np.ndarray):
            assert place.owns(found), name
            assert device(found) == device(X), name
            assert found.shape == value.shape
            assert kinks or np.allclose(place.numpy(found), value, atol=close), name
        elif isinstance(value, float):
            assert isinstance(found, float)
            assert found == pytest.approx(value, rel=close), name
    assert place.owns(there.result_.X)
    T = there.transform(X)
    back = there.inverse_transform(T)
    score = there.score(X)
    assert isinstance(score, float)
    assert score == pytest.approx(here.score(samples), rel=close)
    own = there.transform(samples)  # NumPy in, NumPy out
    for found, wanted in ((T, own), (back, there.inverse_transform(own))):
        assert place.owns(found)
        assert device(found) == device(X)
        assert isinstance(wanted, np.ndarray)
        assert np.allclose(place.numpy(found), wanted, atol=1e-10)
    assert kinks or np.allclose(own, here.transform(samples), atol=1e-3)


def test_warm_starts_labels_and_outliers_elsewhere(place, samples):
    X = place.asarray(samples)
    model = SparsePCA(n_components=2, n_nonzero=8, warm_start=True).fit(X)
    first = place.numpy(model.components_)
    assert np.allclose(place.numpy(model.fit(X).components_), first, atol=1e-6)
    assert "components of 8 features" in str(model.summary())
    C = np.cov(samples, rowvar=False)
    by_covariance = SparsePCA(n_components=2, n_nonzero=8).fit_covariance(place.asarray(C)).components_
    assert place.owns(by_covariance)
    assert np.allclose(place.numpy(by_covariance), first, atol=1e-5)
    assert isinstance(model.fit(samples).components_, np.ndarray)
    if place.name == "jax":
        return
    for estimator in (ESTIMATORS[3], ESTIMATORS[4]):
        labels = clone(estimator).fit(X).predict(X)
        assert place.owns(labels)
        assert np.array_equal(place.numpy(labels), clone(estimator).fit(samples).predict(samples))
    dual = DualPCP(n_components=1).fit(X)
    assert place.owns(dual.subspace_) and place.owns(dual.decision_function(X)) and place.owns(dual.fit_predict(X))
    error = OrthogonalNMF(n_components=2, random_state=0).fit(X).reconstruction_err_
    assert isinstance(error, float)
    assert error == pytest.approx(OrthogonalNMF(n_components=2, random_state=0).fit(samples).reconstruction_err_)


def test_a_path_with_cross_validation_elsewhere(place, samples):
    if place.name == "jax":
        pytest.skip("one fit of each kind of path is enough there")
    there, here = (sparse_pca_path(X, 2, n_nonzero=[4, 16], cv=2) for X in (place.asarray(samples), samples))
    assert np.allclose(there.error, here.error, atol=1e-6)
    assert np.allclose(there.relative_variance_ratio, here.relative_variance_ratio, atol=1e-6)
    assert place.owns(there.components[0])


def test_single_precision_stays_single(place, samples):
    if place.name == "jax":
        pytest.skip("one fit of each kind of path is enough there")
    X = place.asarray(samples.astype(np.float32))
    model = SparsePCA(n_components=2, n_nonzero=8).fit(X)
    assert model.components_.dtype == model.transform(X).dtype == X.dtype


@pytest.mark.parametrize(
    "estimator", [SparsePCA(2), RobustSubspace(2), OrthogonalNMF(2)], ids=lambda one: type(one).__name__
)
def test_new_samples_of_another_float_type(place, samples, estimator):
    """The methods of a fit in single precision on samples in double precision, and the other way round, as in NumPy."""
    if place.name == "jax":
        pytest.skip("it promotes by itself")
    for kinds in ((np.float32, np.float64), (np.float64, np.float32)):
        old, new = (samples.astype(kind) for kind in kinds)
        there = clone(estimator).set_params(max_iter=5, random_state=0).fit(place.asarray(old))
        here = _device.at_home(there)
        codes = here.transform(old).astype(kinds[1])
        pairs = [(here.transform(new), there.transform(place.asarray(new)))]
        pairs += [(here.inverse_transform(codes), there.inverse_transform(place.asarray(codes)))]
        if isinstance(here, RobustSubspace):
            pairs += [(here.score_samples(new), there.score_samples(place.asarray(new)))]
        for one, other in pairs:
            assert _device.host(other).dtype == one.dtype == np.float64
            assert np.allclose(_device.host(other), one, atol=1e-5 * np.max(np.abs(one)))
        assert there.score(place.asarray(new)) == pytest.approx(here.score(new), rel=1e-5)


def test_what_only_other_libraries_have_is_refused(torch, samples, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    X = torch.tensor(samples)
    with sklearn.config_context(array_api_dispatch=True):
        model = SparsePCA(2, max_iter=5).fit(X)
        for given, words in (
            (lambda a: a.to(torch.complex64), "must hold real numbers"),
            (lambda a: a.to_sparse(), "must be a dense tensor"),
            (lambda a: a.requires_grad_(), "requires gradients"),
        ):
            for method, of in ((model.fit, X), (model.transform, X), (model.inverse_transform, model.transform(X))):
                with pytest.raises((ValueError, TypeError), match=words):
                    method(given(of.clone()))


def test_without_dispatch_numpy_reads_the_samples_or_says_what_to_do(samples):
    on_host = array_api_strict.asarray(samples)
    assert isinstance(SparsePCA(n_components=1).fit(on_host).components_, np.ndarray)
    elsewhere = array_api_strict.asarray(samples, device=array_api_strict.Device("device1"))
    with pytest.raises(TypeError, match=r"given one on the device .*device1.*set_config\(array_api_dispatch=True\)"):
        SparsePCA(n_components=1).fit(elsewhere)


def test_what_is_moved_keeps_its_kind():
    like = array_api_strict.asarray([1.0], device=array_api_strict.Device("device1"))
    for a in (np.arange(3), np.array([True, False]), np.array([1.5], dtype=np.float32)):
        moved = _device.place(a, like)
        assert device(moved) == device(like)
        assert np.array_equal(_device.host(moved), a)
        assert _device.host(moved).dtype == a.dtype
