"""Estimators with random settings on random data: what every fit promises, whatever it is given."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from catalogue_estimators import OBLIQUE
from fuzz.campaign import campaign
from fuzz.objectives import centred, objective
from orthoprox import (
    DualPCP,
    NonnegativePCA,
    OrthogonalDictionaryLearning,
    OrthogonalNMF,
    RangeICA,
    RobustSubspace,
    SparsePCA,
    Status,
)
from orthoprox.estimators import _stages
from orthoprox.maps import Matrix, Sparse

OF_DATA = (
    "farther from the origin",
    "Features differ much in spread",
    "more than the rank of the data",
    "says nothing of others",
)
OWN_END = (Status.CONVERGED, Status.STALLED)
UNITS: dict[Any, tuple[float, ...]] = {
    np.float64: (1.0, 0.3, 1e-8, 1e8, 1e-150, 1e150),
    np.float32: (1.0, 0.3, 1e-20, 1e20),
    np.int64: (1.0, 1000.0),
}
FORMS: dict[str, Any] = {
    "dense": np.array,
    "fortran": np.asfortranarray,
    "csr_array": csr_array,
    "csr_matrix": csr_matrix,
    "frame": lambda X: pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
}
COMMON = {
    "max_iter": (1, 2, 5, 30),
    "n_init": (1, 2),
    "tol": (0.0, 1e-6, 1e-3),
    "solver": ("auto", "oadmm"),
    "verbose": (0, 0, 0, 1),
}
COUNTS = [{}, {"n_nonzero": 0.5}, {"n_nonzero": 1.0}, {"n_nonzero_per_component": 2}]
COUNTS.append({"n_nonzero": 0.3, "n_nonzero_per_component": 3})
WEIGHTS = [{"weight": w, "penalty": p} for w in (0.0, 0.01, 1.0) for p in ("l1", "mcp", "group")]
ROBUST = {"center": ("affine", "median", "mean", None), "normalize": (True, False), "contamination": ("auto", 0.2)}
SETTINGS: dict[Any, dict[str, Any]] = {
    SparsePCA: {"wish": (*COUNTS, *WEIGHTS), "scale": (None, None, "standard")},
    NonnegativePCA: {"solver": ("auto", "assignment")},
    OrthogonalNMF: {"solver": ("auto", "assignment")},
    RangeICA: {"order": (None, 1, 0.1), "oblique": (True, False)},
    OrthogonalDictionaryLearning: {
        "wish": (
            *({}, {"codes": "soft"}, {"weight": 0.3, "codes": "hard"}),
            {"codes": "largest", "transform_n_nonzero_coefs": 1},
        ),
        "objective": ("codes", "l1", "l4"),
        "precondition": (False, False, True),
    },
    RobustSubspace: {**ROBUST, "solver": ("auto",)},
    DualPCP: {**ROBUST, "solver": ("auto",)},
}
each = pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: kind.__name__)


@st.composite
def estimators(draw: st.DrawFn, kind: Any) -> Any:
    settings = {name: draw(st.sampled_from(values), name) for name, values in {**COMMON, **SETTINGS[kind]}.items()}
    settings |= settings.pop("wish", {})
    return kind(n_components=draw(st.integers(1, 3)), random_state=draw(st.integers(0, 99)), **settings)


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Numbers of the size of one: random, sparse, of low rank, constant or repeated in places, or far from zero."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, n = rng.integers(1, 26), rng.integers(1, 11)
    X = rng.standard_normal((m, n))
    shapes = ["plain", "plain", "holes", "rank one", "repeated", "constant", "zeros", "whole", "mixed", "outlier"]
    shape = draw(st.sampled_from(shapes))
    if shape == "mixed":  # in units of their own
        X *= 10.0 ** rng.uniform(-9, 9, n)
    elif shape == "outlier":
        X[0] *= 1e12
    elif shape == "holes":
        X *= rng.random((m, n)) < 0.4
    elif shape == "rank one":
        X = np.outer(X[:, 0], X[0])
    elif shape == "repeated":
        X = X[rng.integers(max(1, m // 3), size=m)]
    elif shape == "constant":
        X[:, rng.random(n) < 0.5] = 0.1
    elif shape == "zeros":  # but for one sample, perhaps
        X *= (np.arange(m) < rng.integers(2))[:, None]
    elif shape == "whole":
        X = np.round(2 * X)
    return X + draw(st.sampled_from([0.0, 0.0, 1.0, 1e4])) * (rng.random(n) < 0.7)


def scaled(estimator: Any, factor: float) -> Any:
    """The same question about data times a factor: weights are in their units."""
    estimator, weight = clone(estimator), getattr(estimator, "weight", None)
    if weight is None or getattr(estimator, "precondition", False) or getattr(estimator, "scale", None):
        return estimator
    return estimator.set_params(weight=weight * factor * (factor if isinstance(estimator, SparsePCA) else 1.0))


def copies(X: Any) -> tuple[Any, ...]:
    return (X.data.copy(), X.indices.copy(), X.indptr.copy()) if issparse(X) else (np.array(X),)


def fitted(estimator: Any, X: Any) -> tuple[Any, list[str]]:
    """The fit, or None where X or a setting is refused in a sentence; and what it says about its end."""
    refusal, before = None, copies(X)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(X)
        except (ValueError, TypeError) as error:
            refusal = error
    assert all(np.array_equal(a, b) for a, b in zip(before, copies(X), strict=True))
    for warning in caught:
        of_data = warning.category is UserWarning and any(words in str(warning.message) for words in OF_DATA)
        assert of_data or warning.category is ConvergenceWarning, str(warning)
    event("refused" if refusal else estimator.result_.status.name)
    if refusal is not None:
        assert not isinstance(refusal, np.linalg.LinAlgError) and len(str(refusal).split()) > 4, repr(refusal)
        return None, []
    return estimator, [str(warning.message) for warning in caught if warning.category is ConvergenceWarning]


def check(model: Any, X: Any, said: list[str]) -> None:
    """Everything a fit promises about its components, its objective and its status."""
    eps = float(np.finfo(model.components_.dtype).eps)
    V = model.result_.X if isinstance(model, OBLIQUE) or hasattr(model, "analysis_") else model.components_.T
    assert np.all(np.isfinite(model.components_)) and np.all(np.isfinite(model.mean_))
    assert np.max(np.abs(V.T @ V - np.eye(V.shape[1]))) <= 100 * eps * V.shape[0]
    assert len(said) == (model.result_.status not in OWN_END), (said, model.result_.status)
    if isinstance(model, (NonnegativePCA, OrthogonalNMF)):
        assert np.min(V) >= 0 and np.min(model.components_) >= 0 and np.all(np.count_nonzero(V, axis=1) <= 1)
    if isinstance(model, SparsePCA) and model.weight is None:
        assert np.all(np.count_nonzero(V, axis=0) <= (model.n_nonzero_per_component or V.shape[0]))
        if model.n_nonzero_per_component is None or model.n_nonzero:
            share = model.n_nonzero or 0.2
            assert np.count_nonzero(V) <= max(np.ceil(share * V.size), (1 if model.n_nonzero else 2) * V.shape[1])
    scores = model.transform(X)
    assert np.all(np.isfinite(scores)) and np.all(np.isfinite(model.inverse_transform(scores)))
    assert np.isfinite(model.score(X))
    error = 1e3 * eps
    if isinstance(model, RobustSubspace):
        error = 4 * len(V) * eps**0.4  # its distances are smoothed
    elif getattr(model, "precondition", False):
        error *= np.linalg.cond(centred(model, X))  # white samples are as exact as that
    elif getattr(model, "normalize", False):  # and so are directions from the centre
        lengths = np.linalg.norm(centred(model, X), axis=1)
        error *= np.linalg.norm(model.mean_ / model.scale_) / np.min(lengths, where=lengths > 0, initial=np.inf) + 1
    unit = model.scale_ ** (model._objective_power() / 4)
    if 1e-75 < unit < 1e75:  # fourth powers leave the range first
        assert objective(model, X) == pytest.approx(model.objective_ / unit**4, rel=error, abs=error)


@each
@campaign(3)
@given(data=st.data())
def test_a_fit_keeps_what_it_promises(kind: Any, data: Any) -> None:
    estimator, table = data.draw(estimators(kind)), data.draw(tables())
    dtype = data.draw(st.sampled_from([np.float64, np.float64, np.float32, np.int64]))
    unit, form = data.draw(st.sampled_from(UNITS[dtype])), FORMS[data.draw(st.sampled_from(list(FORMS)))]
    table = (np.abs(table) if kind is OrthogonalNMF else table).astype(dtype) * dtype(unit)
    estimator = scaled(estimator, unit)
    model, said = fitted(clone(estimator), form(table))
    again, _ = fitted(pickle.loads(pickle.dumps(clone(estimator))), form(table))
    assert (model is None) == (again is None)
    if model is None:
        return
    check(model, form(table), said)
    assert np.array_equal(model.components_, again.components_)
    if dtype is not np.int64:
        k = data.draw(st.sampled_from([7, 40]))
        factor = 2.0 ** (-k if unit > 1 else k)  # away from the ends of the range, for the sake of weights
        other, _ = fitted(scaled(estimator, factor), form(dtype(factor) * table))
        assert np.array_equal(other.result_.X, model.result_.X) and other.result_.status is model.result_.status
    model, said = fitted(pickle.loads(pickle.dumps(model)).set_params(warm_start=True), form(table))
    check(model, form(table), said)


@contextmanager
def ctrl_c(after: int) -> Iterator[list[Any]]:
    """Ctrl-C in a product with the data, after so many of them; yields the results that solvers gave before it."""
    products, ends, solve = [], [], _stages.solve

    def watched(*arguments: Any, **rest: Any) -> Any:
        ends.append(solve(*arguments, **rest))
        return ends[-1]

    def counted(method: Any) -> Any:
        def product(self: Any, X: Any) -> Any:
            products.append(method)
            if len(products) == after:
                raise KeyboardInterrupt
            return method(self, X)

        return product

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_stages, "solve", watched)
        for owner in (Matrix, Sparse):
            for name in ("__call__", "adjoint"):
                patch.setattr(owner, name, counted(getattr(owner, name)))
        yield ends


@each
@campaign(3)
@given(data=st.data())
def test_ctrl_c_keeps_the_best_so_far(kind: Any, data: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    estimator, X = data.draw(estimators(kind)), rng.standard_normal((12, 6)) ** 2
    X = csr_array(X) if data.draw(st.booleans()) else X
    with ctrl_c(int(500 ** rng.random())) as ends:
        try:
            model, said = fitted(estimator, X)
        except KeyboardInterrupt:
            event("raised before there was a point")
            assert not ends
            return
    check(model, X, said)
