"""What sparsity costs, drawn."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from orthoprox.plotting import sparsity_path

COUNTS, KEPT = np.array([5, 10, 40]), np.array([0.4, 0.6, 0.7])


def path(**more):
    return SimpleNamespace(**{"n_nonzero": COUNTS, "variance_ratio": KEPT, "error": None, "error_se": None, **more})


def test_the_curve_is_the_path():
    ax = sparsity_path(path())
    (line,) = ax.lines
    assert np.array_equal(line.get_xdata(), COUNTS) and np.array_equal(line.get_ydata(), KEPT)
    assert line.get_markevery() is None  # each point is a fit
    assert ax.get_legend() is None and ax.get_xscale() == "linear"
    assert sparsity_path(path(n_nonzero=[5, 10, 50])).get_xscale() == "linear"
    assert sparsity_path(path(n_nonzero=[5, 10, 51])).get_xscale() == "log"  # counts of many sizes


def test_left_out_samples_have_a_curve_a_band_and_a_choice():
    error, se = np.array([0.7, 0.45, 0.44]), np.array([0.1, 0.02, 0.03])
    ax = sparsity_path(path(error=error, error_se=se, best_one_se=10))
    kept, left_out, choice = ax.lines
    assert np.array_equal(kept.get_ydata(), KEPT)
    assert left_out.get_ydata() == pytest.approx([0.3, 0.55, 0.56])
    assert kept.get_linestyle() != left_out.get_linestyle() and kept.get_marker() != left_out.get_marker()
    assert set(choice.get_xdata()) == {10}
    (band,) = ax.collections
    corners = band.get_paths()[0].vertices
    assert {(5.0, 0.2), (5.0, 0.4), (40.0, 0.53), (40.0, 0.59)} <= {(x, round(y, 12)) for x, y in corners}
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["of the samples", "of samples left out", "10: as good as the best"]


def test_a_band_reaches_up_to_the_bound():
    ax = sparsity_path(path(upper_bound=np.array([0.5, 0.65, 0.7])))
    (band,) = ax.collections
    corners = {(x, round(y, 12)) for x, y in band.get_paths()[0].vertices}
    assert {(5.0, 0.4), (5.0, 0.5), (10.0, 0.65), (40.0, 0.7)} <= corners
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["of the samples", "no components keep more"]


def test_a_path_of_the_estimators_is_drawn_on_given_axes(rng):
    from orthoprox.estimators import sparse_pca_path

    X = rng.standard_normal((40, 6))
    X[:, :3] += 3 * rng.standard_normal((40, 1))
    found = sparse_pca_path(X, 1, n_nonzero=[1, 3, 6], cv=3)
    ax = Figure().gca()
    assert sparsity_path(found, ax=ax) is ax
    assert np.array_equal(ax.lines[0].get_ydata(), found.variance_ratio)
    assert ax.lines[1].get_ydata() == pytest.approx(1 - found.error)
    assert set(ax.lines[2].get_xdata()) == {found.best_one_se}
