"""Loadings as images, bars, tables of terms and arrows: what is in the artists is what is in the components."""

import subprocess
import sys
import warnings
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure

from orthoprox.plotting import biplot, loadings_bars, loadings_images, top_terms, topic_table
from orthoprox.plotting._style import NEGATIVE, POSITIVE, STYLES

NAMES = ["a", "b", "c", "d", "e", "f"]


@pytest.fixture
def V(rng):
    V = rng.standard_normal((5, 6))
    V[np.abs(V) < 0.4] = 0.0
    return V


def shown(ax):
    return np.asarray(ax.images[0].get_array())


def ticks(ax):
    return [text.get_text() for text in ax.get_yticklabels()]


def test_an_image_is_the_component(V):
    axes = loadings_images(V, (2, 3), columns=2)
    assert len(axes) == 5
    for i, (ax, v) in enumerate(zip(axes, V, strict=True)):
        assert np.array_equal(shown(ax), v.reshape(2, 3))
        low, high = ax.images[0].get_clim()
        assert -low == high == np.abs(v).max()  # zero is the middle of the colours
        assert ax.get_title() == f"component {i + 1}\n{np.count_nonzero(v)} nonzero"
    figure = axes[0].figure
    assert len(figure.axes) == 6 and not figure.axes[5].axison  # three lines of two, the last place left empty
    grid = axes[0].get_subplotspec().get_gridspec()
    assert (grid.nrows, grid.ncols) == (3, 2)
    image = shown(loadings_images(V, (2, 4), pixels=[0, 1, 3, 4, 6, 7])[2])
    assert np.array_equal(image.ravel()[[0, 1, 3, 4, 6, 7]], V[2])
    assert image[0, 2] == image[1, 1] == 0  # pixels that were left out


def test_rounding_errors_are_not_counted_as_nonzeros():
    axes = loadings_images([[0.6, 1e-17, -0.8], [0.0, 1e-9, 1.0], [0.0, 0.0, 0.0]], (1, 3))
    assert [ax.get_title().split("\n")[1] for ax in axes] == ["2 nonzero", "2 nonzero", "0 nonzero"]


def test_colours_of_signs_differ_in_grey_and_zero_is_white():
    (ax,) = loadings_images([[-2.0, 0.0, 2.0]], (1, 3))
    colours = ax.images[0].to_rgba(np.array([-2.0, 0.0, 2.0]))[:, :3]
    assert np.allclose(colours, [to_rgb(NEGATIVE), (1, 1, 1), to_rgb(POSITIVE)], atol=0.02)
    grey = colours @ [0.299, 0.587, 0.114]
    assert grey[2] + 0.2 < grey[0] < grey[1] - 0.2
    (blank,) = loadings_images(np.zeros((1, 4)), (2, 2))
    low, high = blank.images[0].get_clim()
    assert low < high
    assert len({look[1:] for look in STYLES}) == len(STYLES)  # curves, without colour


def test_bars_are_the_largest_loadings_in_order(V):
    axes = loadings_bars(V, NAMES, top=3, titles=[*"vwxyz"], columns=3)
    assert [ax.get_title() for ax in axes] == [*"vwxyz"]
    for ax, v in zip(axes, V, strict=True):
        widths = [bar.get_width() for bar in ax.patches]
        order = np.argsort(-np.abs(v))[:3]
        expected = [j for j in order if v[j] != 0]
        assert np.array_equal(widths, v[expected])
        assert ticks(ax) == [NAMES[j] for j in expected]
        bottom, top = ax.get_ylim()
        assert bottom > top  # the first bar is on top
        for bar in ax.patches:
            assert np.allclose(bar.get_facecolor()[:3], to_rgb(POSITIVE if bar.get_width() > 0 else NEGATIVE))
    (ax,) = loadings_bars([[0.0, 3.0, 0.0, -4.0]], list("abcd"), top=10)
    assert ticks(ax) == ["d", "b"]  # zeros are left out
    (empty,) = loadings_bars([[0.0, 0.0]])
    assert ticks(empty) == [] and not empty.patches


def test_an_estimator_brings_components_and_names(V):
    model = SimpleNamespace(components_=V, feature_names_in_=np.array(NAMES, dtype=object), fit=None)
    assert ticks(loadings_bars(model, top=2)[0]) == ticks(loadings_bars(V, NAMES, top=2)[0])
    others = [name.upper() for name in NAMES]  # names that are given go before those of the model
    assert ticks(loadings_bars(model, others, top=1)[0])[0] == ticks(loadings_bars(model)[0])[0].upper()
    assert np.array_equal(shown(loadings_images(model, (3, 2))[4]), V[4].reshape(3, 2))
    assert top_terms(model, n=1) == top_terms(V, NAMES, 1)
    assert ticks(loadings_bars(np.eye(1, 3)[:, ::-1])[0]) == ["x2"]


def test_top_terms_are_sorted_and_bounded(V):
    for v, topic in zip(V, top_terms(V, NAMES, 4), strict=True):
        sizes = [abs(value) for _, value in topic]
        assert sizes == sorted(np.abs(v[v != 0]), reverse=True)[:4]
        assert all(v[NAMES.index(term)] == value for term, value in topic)
    assert top_terms([[0.0, 0.0]]) == [[]]


def test_a_topic_table_has_a_column_for_each_component():
    ax = topic_table([[0.6, 0.0, -0.8], [0.0, 1.0, 0.0]], ["bread", "train", "butter"], 2, titles=["food", "travel"])
    cells = {place: cell.get_text().get_text() for place, cell in ax.tables[0].get_celld().items()}
    rows = [["food", "travel"], ["- butter", "train"], ["bread", ""]]
    assert cells == {(i, j): text for i, row in enumerate(rows) for j, text in enumerate(row)}
    assert not ax.axison
    shorter = topic_table([[0.6, 0.0, -0.8]], ["bread", "train", "butter"], 1)
    assert max(line for line, _ in shorter.tables[0].get_celld()) == 1


def test_pictures_go_where_they_are_told(V):
    canvas = Figure()
    left, right = canvas.subfigures(1, 2)
    assert set(loadings_images(V, (2, 3), figure=left)) <= set(left.axes)
    assert set(loadings_bars(V, figure=right)) <= set(right.axes)
    ax = Figure().gca()
    assert topic_table(V, ax=ax) is ax
    assert plt.get_fignums() == []
    topic_table(V)
    loadings_bars(V)
    assert len(plt.get_fignums()) == 2


def test_other_numbers_than_numpy_s(V):
    strict = pytest.importorskip("array_api_strict")
    assert top_terms(strict.asarray(V), NAMES) == top_terms(V, NAMES) == top_terms(V.tolist(), NAMES)
    pandas = pytest.importorskip("pandas")
    assert top_terms(pandas.DataFrame(V), pandas.Index(NAMES)) == top_terms(V, NAMES)


@pytest.mark.parametrize(
    "draw",
    [lambda: loadings_bars(np.eye(2)), lambda: loadings_images(np.eye(2), (1, 2)), lambda: topic_table(np.eye(2))],
)
def test_without_matplotlib_the_extra_is_named(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs matplotlib.*pip install 'orthoprox\[plots\]'"):
        draw()


def test_matplotlib_is_imported_only_to_draw():
    code = "import sys, orthoprox.plotting as p; p.top_terms([[1.0]]); sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


PAIRED = np.array([[0.6, 0.0, -0.8, 0.0], [0.0, 1.0, 0.0, 0.0], [0.8, 0.0, 0.6, 0.0]])


@pytest.fixture
def scores(rng):
    return rng.standard_normal((20, 3)) * [3.0, 1.0, 0.5]


def tips(ax):
    return {text.get_text(): text.get_position() for text in ax.texts if text.get_text()}


def arrows(ax):
    return [np.array(text.xy) for text in ax.texts if not text.get_text()]


def test_points_are_scores_and_arrows_are_loadings(scores):
    ax = biplot(PAIRED, scores, NAMES[:4], pair=(2, 0))
    assert np.array_equal(ax.collections[0].get_offsets(), scores[:, [2, 0]])
    assert list(tips(ax)) == ["a", "c"]  # b and d have no loading here; both lengths are one, so the first comes first
    first, second = arrows(ax)
    assert first / np.linalg.norm(first) == pytest.approx([0.8, 0.6])
    assert second / np.linalg.norm(second) == pytest.approx([0.6, -0.8])
    assert np.linalg.norm(first) == pytest.approx(0.9 * np.linalg.norm(scores[:, [2, 0]], axis=1).max())
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("component 3", "component 1")
    ax = biplot(PAIRED, scores, NAMES[:4], top=2)  # the longest come first, in proportion
    assert list(tips(ax)) == ["b", "c"]
    lengths = [np.linalg.norm(tip) for tip in arrows(ax)]
    assert lengths[1] / lengths[0] == pytest.approx(0.8)


def test_everything_is_inside_the_picture(scores):
    ax = biplot(PAIRED, 1e-3 * scores, NAMES[:4])
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
    ax = biplot(PAIRED, scores, NAMES[:4], classes=classes)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["no", "yes"]
    no, yes = ax.collections
    assert np.array_equal(yes.get_offsets(), scores[::2, :2]) and np.array_equal(no.get_offsets(), scores[1::2, :2])
    shapes = [collection.get_paths()[0].vertices for collection in (no, yes)]
    assert shapes[0].shape != shapes[1].shape


@pytest.mark.parametrize("size", [1e300, 1e-310])
def test_a_biplot_takes_scores_of_any_size(size):
    scores = size * np.random.default_rng(0).standard_normal((9, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = biplot(np.eye(2, 3), scores, ["a", "b", "c"], ax=Figure().gca())
        ax.figure.canvas.draw()
    assert len([text for text in ax.texts if text.get_text()]) == 2
