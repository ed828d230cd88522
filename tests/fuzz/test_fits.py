"""Estimators with random settings on random data: what every fit promises, whatever it is given."""

from __future__ import annotations

import pickle
import warnings
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

from fuzz.campaign import campaign
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

SETTLED = (Status.CONVERGED, Status.STALLED)
UNITS = {np.float64: (1.0, 0.3, 1e-8, 1e8, 1e-150, 1e150), np.float32: (1.0, 0.3, 1e-20, 1e20)}
COMMON = {"max_iter": (1, 2, 5, 30), "n_init": (1, 2), "tol": (0.0, 1e-6, 1e-3), "solver": ("auto", "oadmm")}
ROBUST = {"centre": ("affine", "median", "mean", None), "normalise": (True, False), "contamination": ("auto", 0.2)}
SETTINGS: dict[Any, dict[str, Any]] = {
    SparsePCA: {
        "wish": ({}, {"n_nonzero": 0.5}, {"n_nonzero": 1.0}, {"n_nonzero_per_component": 2})
        + tuple({"weight": w, "penalty": p} for w in (0.0, 0.01, 1.0) for p in ("l1", "mcp", "group")),
    },
    NonnegativePCA: {"solver": ("auto", "assignment")},
    OrthogonalNMF: {"solver": ("auto", "assignment")},
    RangeICA: {"order": (None, 1, 0.1), "oblique": (True, False)},
    OrthogonalDictionaryLearning: {
        "wish": ({}, {"codes": "soft"}, {"codes": "largest", "n_nonzero": 1}, {"weight": 0.3, "codes": "hard"}),
        "objective": ("codes", "l1", "l4"),
        "precondition": (False, False, True),
    },
    RobustSubspace: {**ROBUST, "solver": ("auto",)},
    DualPCP: {**ROBUST, "solver": ("auto",)},
}


@st.composite
def estimators(draw: st.DrawFn, kind: Any) -> Any:
    settings = {name: draw(st.sampled_from(values), name) for name, values in {**COMMON, **SETTINGS[kind]}.items()}
    settings |= settings.pop("wish", {})
    return kind(n_components=draw(st.integers(1, 3)), random_state=draw(st.integers(0, 99)), **settings)


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Numbers of the size of one: random, sparse, of low rank, constant or repeated in places, or far from zero."""
    m, n = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 9999)))
    X = rng.standard_normal((m, n))
    shape = draw(st.sampled_from(["plain", "plain", "holes", "rank one", "repeated", "constant", "zeros", "whole"]))
    if shape == "holes":
        X *= rng.random((m, n)) < 0.4
    elif shape == "rank one":
        X = np.outer(X[:, 0], X[0])
    elif shape == "repeated":
        X = X[rng.integers(max(1, m // 3), size=m)]
    elif shape == "constant":
        X[:, rng.random(n) < 0.5] = 0.1
    elif shape == "zeros":
        X *= draw(st.sampled_from([0.0, 1.0])) * (np.arange(m) < 1)[:, None]
    elif shape == "whole":
        X = np.round(2 * X)
    return X + draw(st.sampled_from([0.0, 0.0, 1.0, 1e4])) * (rng.random(n) < 0.7)


def given_as(X: np.ndarray, form: str) -> Any:
    if form == "frame":
        return pandas.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    return {"dense": np.array, "fortran": np.asfortranarray, "csr": csr_array, "matrix": csr_matrix}[form](X)


def copied(X: Any) -> tuple[Any, ...]:
    return (X.data.copy(), X.indices.copy()) if issparse(X) else (np.array(X),)


@contextmanager
def interrupt(after: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Ctrl-C once, in the product with the data after so many; says whether a solver had ended before."""
    seen: dict[str, Any] = {"products": 0, "points": 0}
    solve = _stages.solve

    def watched(*arguments: Any, **rest: Any) -> Any:
        result = solve(*arguments, **rest)
        seen["points"] += 1
        return result

    with monkeypatch.context() as patch:
        patch.setattr(_stages, "solve", watched)
        for kind in (Matrix, Sparse):
            for name in ("__call__", "adjoint"):
                patch.setattr(kind, name, _counted(getattr(kind, name), seen, after))
        yield seen


def _counted(method: Any, seen: dict[str, Any], after: int) -> Any:
    def product(self: Any, X: Any) -> Any:
        seen["products"] += 1
        if seen["products"] == after:
            raise KeyboardInterrupt
        return method(self, X)

    return product


def fitted(estimator: Any, X: Any) -> tuple[Any, list[str]]:
    """The fit, or None where X or a setting is refused in a sentence; and its warnings, which are ours."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model = estimator.fit(X)
        except (ValueError, TypeError) as error:
            assert not isinstance(error, np.linalg.LinAlgError) and len(str(error).split()) > 4, repr(error)
            event("refused in a sentence")
            return None, []
    for warning in caught:
        far = warning.category is UserWarning and "farther from the origin" in str(warning.message)
        assert far or warning.category is ConvergenceWarning, str(warning)
    event(str(model.result_.status.name))
    return model, [str(w.message) for w in caught if w.category is ConvergenceWarning]


def check(model: Any, X: Any, said: list[str]) -> None:
    dtype, result = model.components_.dtype, model.result_
    eps = float(np.finfo(dtype).eps)
    V = result.X if isinstance(model, OBLIQUE) or getattr(model, "precondition", False) else model.components_.T
    assert np.all(np.isfinite(model.components_)) and np.all(np.isfinite(model.mean_))
    assert np.max(np.abs(V.T @ V - np.eye(V.shape[1]))) <= 100 * eps * V.shape[0]
    assert bool(said) == (result.status not in SETTLED), (said, result.status)
    if isinstance(model, NonnegativePCA):
        assert np.min(V) >= 0 and np.all(np.count_nonzero(V, axis=1) <= 1)
    if isinstance(model, OrthogonalNMF):
        assert np.min(model.W_) >= 0 and np.min(model.components_) >= 0
    if isinstance(model, SparsePCA) and model.weight is None:
        assert np.all(np.count_nonzero(V, axis=0) <= (model.n_nonzero_per_component or V.shape[0]))
        assert np.count_nonzero(V) <= max((model.n_nonzero or 0.2) * V.size + 1, 2 * V.shape[1])
    scores = model.transform(X)
    assert np.all(np.isfinite(scores)) and np.all(np.isfinite(model.inverse_transform(scores)))
    assert np.isfinite(model.score(X))
    error = 2 * eps**0.4 if isinstance(model, RobustSubspace) else 1e3 * eps  # its distances are smoothed
    wanted = float(np.ldexp(model.objective_, -model._objective_power() * round(np.log2(model.scale_))))
    assert objective(model, X) == pytest.approx(wanted, rel=error, abs=error)


OBLIQUE = (OrthogonalNMF, RangeICA)


def objective(model: Any, X: Any) -> float:
    """The objective, by its definition, for the samples divided by their scale."""
    D = (np.asarray(X.toarray() if issparse(X) else X, dtype=np.float64) / model.scale_) - model.mean_.astype(
        np.float64
    ) / model.scale_
    m, n = D.shape
    V, T = model.components_.T.astype(np.float64), D @ model.components_.T.astype(np.float64)
    if isinstance(model, OrthogonalNMF):
        return float(np.sum((D - model.W_ @ (model.W_.T @ D)) ** 2)) / (2 * n)
    if isinstance(model, (SparsePCA, NonnegativePCA)):
        lost = (np.sum(D**2) - np.sum(T**2)) / (2 * m)
        w = getattr(model, "weight", None)
        return float(lost + (w / model.scale_ / model.scale_ * _penalty(model, V) if w else 0.0))
    if isinstance(model, (RobustSubspace, DualPCP)):
        lengths = np.linalg.norm(D, axis=1)
        rest = np.linalg.norm(T if isinstance(model, DualPCP) else D - T @ V.T, axis=1)
        return float(
            np.mean(np.where(lengths > 0, rest / np.where(lengths > 0, lengths, 1), 0) if model.normalise else rest)
        )
    if isinstance(model, RangeICA):
        S = np.sort((model.scale_ * D) @ model.whitening_.T.astype(np.float64) @ model.result_.X, axis=0)
        k = model._resolve_order(m)
        return float(np.sum(S[-k:].mean(axis=0) - S[:k].mean(axis=0)))
    C = D @ model.analysis_.astype(np.float64) * (model.scale_ if model.precondition else 1)
    if model.objective == "l1":
        return float(np.sum(np.abs(C))) / m
    if model.objective == "l4":
        return -float(np.sum(C**4)) / (4 * m)
    w = model.weight_ / (1 if model.precondition else model.scale_)
    squares = m * n if model.precondition else np.sum(D**2)
    soft = C - np.clip(C, -w, w)
    return float(squares - np.sum(C**2) + np.sum((C - soft) ** 2)) / (2 * m) + w * float(np.sum(np.abs(soft))) / m


def _penalty(model: Any, V: np.ndarray) -> float:
    if model.penalty == "group":
        return float(np.sum(np.linalg.norm(V, axis=1)))
    if model.penalty == "l1":
        return float(np.sum(np.abs(V)))
    u = 1 / np.sqrt(V.shape[0])
    a = np.minimum(np.abs(V), 3 * u)
    return float(np.sum(a - a**2 / (6 * u)))


@pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: kind.__name__)
@campaign(12)
@given(data=st.data())
def test_a_fit_keeps_what_it_promises(kind: Any, data: Any) -> None:
    draw = data.draw
    estimator, X = draw(estimators(kind)), draw(tables())
    dtype = draw(st.sampled_from([np.float64, np.float64, np.float32]))
    unit = draw(st.sampled_from(UNITS[dtype]))
    if kind is OrthogonalNMF:
        X = np.abs(X)
    form = draw(st.sampled_from(["dense", "dense", "fortran", "csr", "matrix", "frame"]))
    weight = getattr(estimator, "weight", None)
    power = (2 if kind is SparsePCA else 1) if not getattr(estimator, "precondition", False) else 0
    if weight is not None:
        estimator.set_params(weight=weight * unit**power)
    table = given_as((dtype(unit) * X.astype(dtype)), form)
    before = copied(table)
    model, said = fitted(estimator, table)
    assert all(np.array_equal(a, b) for a, b in zip(before, copied(table), strict=True))
    again, _ = fitted(pickle.loads(pickle.dumps(clone(estimator))), table)
    if model is None:
        assert again is None
        return
    check(model, table, said)
    assert np.array_equal(model.components_, again.components_)
    k = draw(st.sampled_from([-40, 7, 40]))
    other = clone(estimator)
    if weight is not None:
        other.set_params(weight=float(np.ldexp(estimator.weight, k * power)))
    other, _ = fitted(other, given_as(np.ldexp(dtype(unit) * X.astype(dtype), k), form))
    assert np.array_equal(other.result_.X, model.result_.X) and other.result_.status is model.result_.status
    warm, said = fitted(model.set_params(warm_start=True), table)
    check(warm, table, said)


@pytest.mark.parametrize("kind", SETTINGS, ids=lambda kind: kind.__name__)
@campaign(8)
@given(data=st.data())
def test_ctrl_c_keeps_the_best_so_far(kind: Any, data: Any) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 9999)))
    X = rng.standard_normal((12, 6)) ** 2
    estimator, monkeypatch = data.draw(estimators(kind)), pytest.MonkeyPatch()
    X = csr_array(X) if data.draw(st.booleans()) else X
    with interrupt(data.draw(st.integers(1, 300)), monkeypatch) as seen:
        try:
            model, said = fitted(estimator, X)
        except KeyboardInterrupt:
            assert not seen["points"]
            return
    if model is not None:
        check(model, X, said)
