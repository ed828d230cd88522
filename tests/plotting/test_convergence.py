"""Curves of runs."""

from types import SimpleNamespace

import numpy as np
from matplotlib.figure import Figure

from orthoprox import History, Iterations, solve
from orthoprox.models import sparse_pca
from orthoprox.plotting import convergence


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
