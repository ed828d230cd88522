"""What every estimator keeps: scikit-learn's rules, every kind of input, several starts, Ctrl-C."""

import functools
import sys

import numpy as np
import pandas
import polars
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import orthoprox
from catalogue_estimators import ESTIMATORS, MULTIPLIERS, orthonormal
from orthoprox import DualPCP, RangeICA, RobustSubspace, RunFailed, SparsePCA, Status

NAMES = [f"column {i}" for i in range(6)]
ONE_OF_EACH = list({type(estimator): estimator for estimator in ESTIMATORS}.values())
each = pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
each_class = pytest.mark.parametrize("estimator", ONE_OF_EACH, ids=repr)


@pytest.fixture(scope="module")
def X():
    """Nonnegative samples, a third of the entries zero, with two planted groups of features."""
    rng = np.random.default_rng(11)
    D = 0.3 * rng.random((30, 6))
    D[:, :3] += 3 * rng.random((30, 1))
    D[:, 3:] += 2 * rng.random((30, 1))
    return np.where(rng.random((30, 6)) < 1 / 3, 0.0, D)


def iterating(estimator):
    """The estimator with a solver: a search for supports has no steps."""
    return clone(estimator).set_params(solver="oadmm") if isinstance(estimator, SparsePCA) else estimator


@pytest.fixture(scope="module")
def plain(X):
    """An estimator fitted to X: once for all tests."""
    return functools.cache(lambda estimator: clone(estimator).fit(X))


# Accuracy plays no part in what scikit-learn asks, nor does the slow last stage of RangeICA.
ROUGH = [clone(estimator).set_params(tol=1e-2) for estimator in ONE_OF_EACH]


@parametrize_with_checks([e.set_params(oblique=False) if isinstance(e, RangeICA) else e for e in ROUGH])
def test_scikit_learns_own_checks(estimator, check):
    if check.func.__name__ != "check_estimator_sparse_matrix":  # which does with matrices what another does with arrays
        check(estimator)


@each
def test_components_are_orthonormal_and_feasible_as_scores(estimator, plain):
    fitted = plain(estimator)
    V = orthonormal(fitted)
    assert fitted.components_.shape == (2, 6) and fitted.n_features_in_ == 6
    assert np.max(np.abs(V @ V.T - np.eye(2))) <= 1e-12
    assert fitted.n_iter_ >= 0 and np.isfinite(fitted.objective_)
    assert fitted.result_.iterations == fitted.n_iter_
    if getattr(fitted, "objective", "") != "l4":  # measured in the size of the codes
        assert fitted.objective_ == fitted.result_.objective * fitted.scale_ ** fitted._objective_power()


@each_class
@pytest.mark.parametrize("kind", [pandas.DataFrame, polars.DataFrame])
def test_a_frame_gives_what_its_numbers_give_with_names(estimator, kind, X, plain):
    frame = kind(dict(zip(NAMES, X.T, strict=True)))
    fitted = clone(estimator).fit(frame)
    assert np.allclose(fitted.components_, plain(estimator).components_, rtol=0, atol=1e-9)
    names = [f"{type(estimator).__name__.lower()}{i}" for i in range(2)]
    assert list(fitted.feature_names_in_) == NAMES and list(fitted.get_feature_names_out()) == names
    scores = fitted.set_output(transform=kind.__module__.partition(".")[0]).transform(frame)
    assert isinstance(scores, kind) and list(scores.columns) == names


@each
@pytest.mark.parametrize("kind", [csr_array, csr_matrix])
def test_a_sparse_matrix_gives_the_same_and_is_never_filled_in(estimator, kind, X, plain, monkeypatch):
    dense, S = plain(estimator), kind(X)

    def unless_samples(fill):
        def filled(A, *args, **kwargs):
            assert len(X) not in A.shape, "samples were filled in"
            return fill(A, *args, **kwargs)

        return filled

    for owner in (csr_array, csr_matrix):
        for method in ("toarray", "todense"):
            monkeypatch.setattr(owner, method, unless_samples(getattr(owner, method)))
    fitted = clone(estimator).fit(S)
    assert np.allclose(fitted.components_, dense.components_, atol=1e-4)
    assert np.allclose(fitted.transform(S), dense.transform(X), atol=1e-3)
    assert fitted.score(S) == pytest.approx(dense.score(X), rel=1e-4)


@each
def test_float32_stays_float32(estimator, X, plain):
    single, double = clone(estimator).fit(X.astype(np.float32)), plain(estimator)
    assert single.components_.dtype == single.mean_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    V = orthonormal(single)
    assert np.max(np.abs(V @ V.T - np.eye(2))) <= 1e-5
    assert np.allclose(single.components_, double.components_, atol=1e-2)


def scaled(estimator, scale):
    """The same question about data of another scale: weights are in their units."""
    estimator, power = clone(estimator), 2 if type(estimator).__name__ == "SparsePCA" else 1
    weight = getattr(estimator, "weight", None)
    return estimator if weight is None else estimator.set_params(weight=scale**power * weight)


@each
@pytest.mark.parametrize(("dtype", "k", "kind"), [(np.float64, 500, np.asarray), (np.float32, -60, csr_array)])
def test_a_power_of_two_changes_no_digit(estimator, dtype, k, kind, X):
    X, scale = X.astype(dtype), 2.0**k
    one, other = clone(estimator).fit(kind(X)), scaled(estimator, scale).fit(kind(dtype(scale) * X))
    assert np.array_equal(orthonormal(one), orthonormal(other)) and other.scale_ == scale * one.scale_
    with np.errstate(over="ignore"):  # of fourth powers
        assert other.objective_ == np.ldexp(one.objective_, k * one._objective_power())
    assert np.array_equal(other.mean_, dtype(scale) * one.mean_)
    scores, power = one.transform(kind(X)), 0 if isinstance(one, RangeICA) else 1
    assert np.array_equal(other.transform(kind(dtype(scale) * X)), dtype(scale) ** power * scores)
    back = one.inverse_transform(scores)
    again = other.inverse_transform(dtype(scale) ** power * scores) / dtype(scale)
    assert np.allclose(again, back, rtol=1e-5, atol=1e-5)
    assert other.score(kind(dtype(scale) * X)) == one.score(kind(X)) * (scale if isinstance(one, DualPCP) else 1)
    for name, power in {"explained_variance_": 2, "distances_": 1, "threshold_": 1, "mixing_": 1}.items():
        assert np.array_equal(getattr(one, name, 0) * scale**power, getattr(other, name, 0))


@each
@pytest.mark.parametrize("scale", [0.1, 1e-300, 1e307])
def test_units_do_not_matter(estimator, scale, X, plain):
    if getattr(estimator, "weight", None) is not None:
        scale = min(max(scale, 1e-150), 1e150)  # the weight is in their units, or their squares
    one, other = plain(estimator), scaled(estimator, scale).fit(scale * X)
    V, W = orthonormal(one), orthonormal(other)
    assert np.allclose(V, W, atol=1e-5) and np.array_equal(np.abs(V) > 1e-5, np.abs(W) > 1e-5)
    for name in ("labels_", "outliers_", "explained_variance_ratio_"):
        assert np.allclose(getattr(one, name, 0), getattr(other, name, 0), atol=1e-5)


@each
def test_more_starts_are_never_worse(estimator, X, plain):
    one, two = plain(estimator), clone(estimator).set_params(n_init=2).fit(X)
    assert two.objective_ <= one.objective_


@each
def test_a_warm_start_begins_where_the_last_fit_ended(estimator, X, monkeypatch):
    estimator = iterating(estimator)
    warm, kind, starts = clone(estimator).set_params(warm_start=True).fit(X), type(estimator), []
    first, objective, last, start = warm.n_iter_, warm.objective_, warm.result_.X, kind._start

    def watched(*given, **rest):
        starts.append(start(*given, **rest))
        return starts[-1]

    monkeypatch.setattr(kind, "_start", watched)
    warm.fit(X)
    P = np.abs(starts[0][0].T @ last)  # the same columns, or where the axes are turned in the end, their span
    turned = isinstance(estimator, (DualPCP, RobustSubspace))
    assert starts[0][1] and np.allclose(np.linalg.norm(P, 2, axis=0) if turned else P.max(axis=0), 1, atol=1e-6)
    assert warm.n_iter_ <= first or isinstance(estimator, MULTIPLIERS)
    assert warm.objective_ <= objective + 1e-6 * abs(objective)
    warm.set_params(n_components=1).fit(X)  # of another shape: a new start
    new, near = starts[1]
    assert new.shape[1] == 1 and (not near or isinstance(estimator, SparsePCA))  # whose own starts are near too


@each_class
@pytest.mark.parametrize("place", ["step", "_start", "_finish", "_last_stage", "_store"])
def test_ctrl_c_in_a_run_or_between_the_stages_keeps_what_there_is(estimator, place, X, plain, monkeypatch):
    estimator = iterating(estimator)
    owner = type(plain(estimator).result_.solver) if place == "step" else type(estimator)
    method, moments = getattr(owner, place), []

    def interrupted(self, *given, **rest):
        if moments.pop():
            raise KeyboardInterrupt
        return method(self, *given, **rest)

    monkeypatch.setattr(owner, place, interrupted)
    if place == "step":  # of the run, not of a start that explores
        at_random = lambda self, data, problem, seed, first: (problem.M.random(seed, like=problem.like), False)
        monkeypatch.setattr(type(estimator), "_start", at_random)
    # from the end: in the second step, after which there is none, in the second start, or the first time
    moments += {"step": [True, False], "_start": [False, False, True, False]}.get(place, [False, False, True])
    with pytest.warns(ConvergenceWarning, match="interrupted in run 1 of 2" if place == "step" else "was interrupted"):
        fitted = clone(estimator).set_params(n_init=2, tol=0.0 if place == "step" else 1e-2).fit(X)
    V = orthonormal(fitted)
    assert fitted.result_.status is Status.INTERRUPTED and np.max(np.abs(V @ V.T - np.eye(2))) <= 1e-12
    moments[:] = [True]
    if place == "_start":  # there is nothing to keep yet
        with pytest.raises(KeyboardInterrupt):
            clone(estimator).fit(X)


@each_class
def test_a_fit_that_has_not_settled_says_so_and_names_the_line_of_the_caller(estimator, X):
    unsettled = clone(estimator).set_params(max_iter=1, tol=0.0)
    for fit in (unsettled.fit, unsettled.fit_transform, make_pipeline(unsettled).fit_transform):
        with pytest.warns(ConvergenceWarning, match="max_iter") as told:
            fit(X)
        assert {warning.filename for warning in told} == {__file__}


@each_class
@pytest.mark.parametrize("failing", [[1], [0, 2], [0, 1, 2]], ids=str)
def test_a_failed_run_does_not_lose_the_others(estimator, failing, X, monkeypatch):
    run, results = type(estimator)._run, []

    def failing_sometimes(*given, **settings):
        results.append(None if len(results) in failing else run(*given, **settings))
        if results[-1] is None:
            raise RunFailed(f"Run {len(results)} broke.")
        return results[-1]

    monkeypatch.setattr(type(estimator), "_run", failing_sometimes)
    fitted = clone(estimator).set_params(n_init=3)
    if len(failing) == 3:
        with pytest.raises(RunFailed, match="Run 1 broke"):
            fitted.fit(X)
        return
    with pytest.warns(ConvergenceWarning, match=f"{len(failing)} of 3 runs failed .*: Run {failing[0] + 1} broke"):
        fitted.fit(X)
    assert fitted.result_.objective <= min(result.objective for result in results if result is not None)


@each_class
@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"n_components": 7}, "at most as many orthonormal components as features"),
        ({"n_components": 0}, "n_components must be at least 1"),
        ({"n_components": 1.5}, "n_components must be a whole number"),
        ({"max_iter": 0}, "max_iter must be at least 1"),
        ({"n_init": 0}, "n_init must be at least 1"),
        ({"tol": -1.0}, "tol must be a nonnegative number"),
        ({"solver": "oadm"}, "Did you mean"),
        ({"solver": None}, "solver must be the name of a solver or a Solver; given NoneType"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_bad_settings_get_a_sentence(estimator, settings, sentence, X):
    if type(estimator).__name__ == "OrthogonalNMF" and settings == {"n_components": 7}:
        settings, sentence = {"n_components": 31}, "a sample of its own"  # there, samples are what may be too few
    with pytest.raises((TypeError, ValueError), match=sentence):
        clone(estimator).set_params(**settings).fit(X)


@each_class
def test_progress_is_drawn_if_asked_for(estimator, X, capsys):
    fitted = clone(estimator).set_params(verbose=1).fit(X)
    assert fitted.result_.solver.name in capsys.readouterr().err


def test_the_front_door_has_every_estimator():
    for estimator in ESTIMATORS:
        name = type(estimator).__name__
        assert getattr(orthoprox, name) is type(estimator) and name in dir(orthoprox)
    with pytest.raises(AttributeError, match="no attribute 'Sparse'"):
        _ = orthoprox.Sparse


def test_without_scikit_learn_a_sentence_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("orthoprox.estimators")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(orthoprox, "estimators")
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'orthoprox\[sklearn\]'"):
        _ = orthoprox.SparsePCA
