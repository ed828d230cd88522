"""Samples and features in one picture."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from orthoprox.plotting import biplot

V = np.array([[0.6, 0.0, -0.8, 0.0], [0.0, 1.0, 0.0, 0.0], [0.8, 0.0, 0.6, 0.0]])
NAMES = ["a", "b", "c", "d"]


@pytest.fixture
def scores(rng):
    return rng.standard_normal((20, 3)) * [3.0, 1.0, 0.5]


def tips(ax):
    return {text.get_text(): text.get_position() for text in ax.texts if text.get_text()}


def arrows(ax):
    return [np.array(text.xy) for text in ax.texts if not text.get_text()]


def test_points_are_scores_and_arrows_are_loadings(scores):
    ax = biplot(V, scores, NAMES, pair=(2, 0))
    assert np.array_equal(ax.collections[0].get_offsets(), scores[:, [2, 0]])
    assert list(tips(ax)) == ["a", "c"]  # b and d have no loading here; both lengths are one, so the first comes first
    first, second = arrows(ax)
    assert first / np.linalg.norm(first) == pytest.approx([0.8, 0.6])
    assert second / np.linalg.norm(second) == pytest.approx([0.6, -0.8])
    assert np.linalg.norm(first) == pytest.approx(0.9 * np.linalg.norm(scores[:, [2, 0]], axis=1).max())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 3", "component 1")
    ax = biplot(V, scores, NAMES, top=2)  # the longest come first, in proportion
    assert list(tips(ax)) == ["b", "c"]
    lengths = [np.linalg.norm(tip) for tip in arrows(ax)]
    assert lengths[1] / lengths[0] == pytest.approx(0.8)


def test_everything_is_inside_the_picture(scores):
    ax = biplot(V, 1e-3 * scores, NAMES)
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    inside = np.vstack([*arrows(ax), 1e-3 * scores[:, :2]])
    assert left < inside[:, 0].min() and inside[:, 0].max() < right
    assert bottom < inside[:, 1].min() and inside[:, 1].max() < top
    assert right - left < 0.1  # and the picture is of the size of the scores
    ax = Figure().gca()
    assert biplot(np.zeros((3, 4)), 0 * scores, ax=ax) is ax  # with nothing to scale
    assert not ax.texts


def test_classes_are_told_apart_without_colour(scores):
    classes = np.array(["yes", "no"] * 10)
    ax = biplot(V, scores, NAMES, classes=classes)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]
    no, yes = ax.collections
    assert np.array_equal(yes.get_offsets(), scores[::2, :2]) and np.array_equal(no.get_offsets(), scores[1::2, :2])
    shapes = [collection.get_paths()[0].vertices for collection in (no, yes)]
    assert shapes[0].shape != shapes[1].shape
