"""The instruments of benchmarks/estimators.py. What it finds is not tested here."""

import argparse
import importlib.util
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.exceptions import ConvergenceWarning

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
sys.path.insert(0, str(FOLDER))

import _clustering  # noqa: E402
import _dictionary  # noqa: E402
import _fits  # noqa: E402
import _ica  # noqa: E402
import _sparse_pca  # noqa: E402
import _subspace  # noqa: E402

# by its path: tests/estimators has the same name
_spec = importlib.util.spec_from_file_location("benchmark_of_estimators", FOLDER / "estimators.py")
estimators = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(estimators)


def test_accuracy_does_not_depend_on_the_names_of_clusters():
    truth = np.array([0, 0, 0, 1, 1, 2, 2, 2])
    assert _fits.accuracy(truth, (truth + 1) % 3) == 1.0
    assert _fits.accuracy(truth, np.zeros(8, int)) == 3 / 8
    assert _fits.accuracy(truth, np.array([5, 5, 5, 5, 7, 7, 7, 7])) == 6 / 8  # two clusters for three classes
    assert _fits.accuracy(truth, np.array([0, 0, 0, -1, 1, 2, 2, 2])) == 7 / 8  # a sample without one


def test_degrees_are_of_the_largest_angle_and_medians_of_columns():
    turn = np.radians(20)
    W = np.array([[1.0, 0.0], [0.0, np.cos(turn)], [0.0, np.sin(turn)]])
    assert _fits.degrees(np.eye(3, 2), W) == pytest.approx(20)
    same = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 0.0]])
    assert _fits.degrees(2 * np.eye(3, 2), same) == pytest.approx(0, abs=1e-6)
    assert _fits.medians([(1, 10), (5, 30), (3, 20)]) == [3, 20]


def test_a_fit_is_timed_and_may_end_at_its_limit():
    class Model:
        def fit(self, X):
            warnings.warn("not there yet", ConvergenceWarning, stacklevel=2)
            self.seen = X

    model, seconds = _fits.fit_timed(Model(), "data")
    assert model.seen == "data" and seconds >= 0


def test_principal_components_keep_all_and_a_span_is_all_that_counts(rng):
    D = rng.standard_normal((40, 8)) * np.arange(8, 0, -1)
    D -= D.mean(axis=0)
    _, values, Vt = np.linalg.svd(D, full_matrices=False)
    assert _sparse_pca.variance_kept(D, Vt[:3]) == pytest.approx(1.0)
    assert _sparse_pca.variance_kept(D, rng.standard_normal((3, 3)) @ Vt[:3]) == pytest.approx(1.0)
    double = np.vstack([Vt[:1], 2 * Vt[:1], 0 * Vt[:1]])  # three components that span a line
    assert _sparse_pca.variance_kept(D, double) == pytest.approx(values[0] ** 2 / np.sum(values[:3] ** 2))


def test_overlap_is_a_cosine_and_thresholding_keeps_the_largest_of_all_rows(rng):
    assert _sparse_pca.overlap(3 * np.eye(3)) == 0.0
    assert _sparse_pca.overlap(np.array([[2.0, 0.0], [-3.0, 3.0]])) == pytest.approx(np.sqrt(0.5))
    assert _sparse_pca.overlap(np.array([[1.0, 1.0], [0.0, 0.0]])) == 0.0
    V = rng.standard_normal((3, 7))
    T = _sparse_pca.threshold(V, 5)
    assert np.count_nonzero(T) == 5
    assert np.abs(V[T != 0]).min() > np.abs(V[T == 0]).max()
    assert np.linalg.norm(T, axis=1)[T.any(axis=1)] == pytest.approx(1.0)


def test_planted_atoms_are_found_up_to_sign_order_and_length(rng):
    X, atoms = _dictionary.planted(0, 0.0)
    assert np.mean(np.abs(X @ atoms.T) < 1e-12) == pytest.approx(0.9, abs=0.01)
    assert atoms @ atoms.T == pytest.approx(np.eye(20), abs=1e-12)
    assert _dictionary.share_recovered(-3 * atoms[::-1], atoms) == 1.0
    half = np.vstack([atoms[:10], rng.standard_normal((10, 20))])
    assert _dictionary.share_recovered(half, atoms) == 0.5
    assert _dictionary.share_lost(X, atoms, 20) < 1e-12
    assert _dictionary.share_lost(X, atoms, 1) > 0.1


def test_outliers_are_as_many_as_asked_for_and_inliers_lie_in_the_subspace():
    X, Q = _subspace.draw(0.3, 0.0, 1.5, 0)
    distances = np.linalg.norm(X - X @ Q @ Q.T, axis=1)
    assert np.sum(distances > 1e-10) == round(0.3 * _subspace.M)
    away = X[distances > 1e-10]
    assert np.linalg.norm(away, axis=1) == pytest.approx(np.sqrt(_subspace.D))
    straight, _ = _subspace.draw(0.3, 0.0, 0.0, 0)
    assert np.linalg.norm(away.mean(axis=0)) > 3 * np.linalg.norm(straight[distances > 1e-10].mean(axis=0))


def test_planted_counts_are_sparse_counts_and_sources_are_bounded_and_centred(rng):
    X, truth = _clustering.draw_counts(0, m=400, n=200)
    assert issparse(X) and X.shape == (400, 200) and len(truth) == 400
    assert np.all(X.data == np.round(X.data)) and X.data.min() >= 1 and X.sum(axis=1).min() >= 5
    for draw in _ica.KINDS.values():
        S = draw(rng, (4000, 2))
        assert S.shape == (4000, 2) and np.abs(S).max() <= 1.1
        assert np.abs(S.mean(axis=0)).max() < 0.1 and np.abs(np.corrcoef(S.T)[0, 1]) < 0.1


def test_tables_replace_tables_and_leave_the_page_above_them(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\nwords\n\n{estimators.MARK}\n\nold tables\n")
    for item in estimators.ITEMS.values():
        monkeypatch.setattr(item, "report", lambda quick, name=item.__name__: f"table of {name}, {quick}")
    monkeypatch.setattr(sys, "argv", ["estimators.py", "--items", "2,3", "--out", str(page)])
    estimators.main()
    text = page.read_text()
    assert text.startswith(f"# Title\n\nwords\n\n{estimators.MARK}\n\nMade by")
    assert "old tables" not in text and text.count(estimators.MARK) == 1
    assert "table of _clustering, True\n\ntable of _ica, True" in text and "_subspace" not in text
    assert "table of _ica, True" in capsys.readouterr().out
    assert estimators.parse_items("3,1,3") == [1, 3]
    for text in ("0", "6", "a", "", "1,"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected numbers from 1 to 5"):
            estimators.parse_items(text)


@pytest.mark.slow
@pytest.mark.parametrize("item", [_sparse_pca, _dictionary, _subspace], ids=lambda item: item.__name__)
def test_a_report_is_a_section_with_a_table(item, monkeypatch):
    monkeypatch.delenv("ORTHOPROX_DATA", raising=False)
    text = item.report(True)
    head, *lines = [line for line in text.splitlines() if line.startswith("|")]
    assert text.startswith("### ") and len(lines) > 3
    assert {line.count("|") for line in lines} == {head.count("|")}
    assert "nan" not in text
