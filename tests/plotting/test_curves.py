"""Curves of runs, and of what sparsity costs."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from orthoprox import History, Iterations, solve
from orthoprox.estimators import sparse_pca_path
from orthoprox.models import sparse_pca
from orthoprox.plotting import convergence, sparsity_path


def history(objective=(5.0, 3.0, 2.0, 1.5), start=7.0):
    values = [start, *objective]
    T = np.arange(len(values))
    return History({"iteration": T, "seconds": 0.1 * T, "objective": values, "criticality": np.exp(-T)})


def test_the_curves_are_the_history_without_the_start(rng):
    problem = sparse_pca(rng.standard_normal((30, 8)), n_components=2, weight=0.1)
    result = solve(problem, "oadmm-ep", stop=Iterations(20))
    grid = convergence(result)
    assert grid.shape == (2, 2)
    for line, measure in zip(grid, ("objective", "criticality"), strict=True):
        for ax, axis in zip(line, ("iteration", "seconds"), strict=True):
            (curve,) = ax.lines
            assert np.array_equal(curve.get_xdata(), result.history[axis][1:])
            assert np.array_equal(curve.get_ydata(), result.history[measure][1:])
        assert line[0].get_ylabel() == measure
    assert [ax.get_xlabel() for ax in grid[1]] == ["iterations", "seconds in the method"]
    assert [text.get_text() for text in grid[0, 0].get_legend().get_texts()] == ["oadmm-ep"]
    again = convergence(SimpleNamespace(result_=result), figure=(canvas := Figure()))  # a fitted estimator
    assert np.array_equal(again[0, 0].lines[0].get_ydata(), result.history.objective[1:])
    assert again[0, 0].figure is canvas
    assert [text.get_text() for text in again[0, 0].get_legend().get_texts()] == ["SimpleNamespace"]


def test_several_runs_are_told_apart_without_colour():
    grid = convergence({"one": history(), "two": history((4.0, 1.0))}, against=["seconds"])
    assert grid.shape == (2, 1)
    lines = grid[0, 0].lines
    assert [line.get_label() for line in lines] == ["one", "two"]
    assert [list(line.get_ydata()) for line in lines] == [[5.0, 3.0, 2.0, 1.5], [4.0, 1.0]]
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 2
    again = convergence([history(), history()], labels=["a", "b"])
    assert [line.get_label() for line in again[1, 1].lines] == ["a", "b"]


def test_the_scale_is_logarithmic_where_all_is_positive_and_falls_by_much():
    far = (50.0, 3.0, 2.0, 1.5)
    grid = convergence([history(far), history((3.0, -1.0))], labels=["a", "b"])
    assert {ax.get_yscale() for ax in grid[0]} == {"linear"} and {ax.get_yscale() for ax in grid[1]} == {"log"}
    assert convergence(history(far, start=-1.0))[0, 0].get_yscale() == "log"  # the start is not shown
    assert convergence(history())[0, 0].get_yscale() == "linear"  # ticks would all read 2 x 10^0


def test_a_run_without_steps_has_a_sentence_and_no_curve():
    for runs, count in ((history(()), 1), ({"$a$": history(()), "b": history((), start=-1.0)}, 2)):
        canvas = Figure()
        assert convergence(runs, figure=canvas).size == 0
        (ax,) = canvas.axes
        (text,) = ax.texts
        assert not ax.lines and not ax.axison and text.get_text().count("has taken no steps") == count
        assert "its objective is 7." in text.get_text()
    (pair,) = convergence(history((3.0,)))[0, 0].lines
    assert list(pair.get_ydata()) == [7.0, 3.0]  # with its start one more record is a curve
    both = convergence({"one": history(()), "more": history()})
    assert [len(line.get_xdata()) for line in both[0, 0].lines] == [1, 4]  # beside a curve a point says something


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
    X = rng.standard_normal((40, 6))
    X[:, :3] += 3 * rng.standard_normal((40, 1))
    found = sparse_pca_path(X, 1, n_nonzero=[1, 3, 6], cv=3)
    ax = Figure().gca()
    assert sparsity_path(found, ax=ax) is ax
    assert np.array_equal(ax.lines[0].get_ydata(), found.variance_ratio)
    assert ax.lines[1].get_ydata() == pytest.approx(1 - found.error)
    assert set(ax.lines[2].get_xdata()) == {found.best_one_se}
