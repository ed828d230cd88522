"""Names that are long, many, odd or alike: no text lies on another, and none leaves the picture."""

import pickle
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from orthoprox import History
from orthoprox.plotting import biplot, convergence, loadings_bars, loadings_images, sparsity_path, topic_table
from orthoprox.plotting._placing import place_names
from orthoprox.plotting._style import STYLES, ink, style
from orthoprox.plotting._text import short_names, shorten, width_of, wrap
from plotting.room import LONG, NASTY, check_room

STYLE = pytest.mark.parametrize("paper", ["default", "dark_background"])


def components(r, n=50, seed=0):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((r, n))
    return np.where(np.abs(V) > 0.5, V, 0.0)


def fitted(r):
    return SimpleNamespace(components_=components(r), explained_variance_ratio_=np.full(r, 0.01234))


@pytest.mark.parametrize("r", [1, 10])
def test_bars(r):
    axes = loadings_bars(fitted(r), NASTY)
    texts = check_room(axes[0].figure)
    assert "component 1\n1.23 % of the variance" in texts
    assert not any(LONG in text for text in texts)
    assert not any(label.get_parse_math() for label in axes[0].get_yticklabels())  # dollars are dollars


def test_bars_in_a_small_figure_and_in_a_part_of_one():
    canvas = Figure(figsize=(5, 6))
    loadings_bars(components(2), NASTY, titles=[LONG, "short"], figure=canvas)
    check_room(canvas)
    canvas = Figure(figsize=(11, 4), layout="constrained")
    left, right = canvas.subfigures(1, 2)
    loadings_bars(components(2), NASTY, figure=left)
    loadings_images(components(4), (5, 10), titles=[LONG] * 4, columns=4, figure=right)
    check_room(canvas)


@pytest.mark.parametrize("seed", range(2))
def test_biplot(seed):
    rng = np.random.default_rng(seed)
    V, S = components(2, seed=seed), rng.standard_normal((60, 2))
    V[0, ::2] = V[1, 1::2] = 0.0  # arrows in two directions: names have no room beside each other
    ax = biplot(V, S, NASTY, top=12, classes=np.array(["_a", "$b$", LONG])[rng.integers(3, size=60)])
    texts = check_room(ax.figure)
    frame = ax.get_window_extent()
    for text in ax.texts:
        box = Text.get_window_extent(text)
        assert not text.get_text() or (frame.x0 <= box.x0 and box.x1 <= frame.x1 and box.y1 <= frame.y1)
    shown = [text for text in ax.texts if text.get_text() and text.get_visible()]
    assert len(shown) >= 11 and len({text.get_text() for text in shown}) == len(shown)
    assert "$b$" in texts and any(text.endswith("_a") for text in texts)


def test_biplot_is_arranged_anew_at_every_size_and_can_be_pickled():
    V = components(2)
    canvas = plt.figure(figsize=(12, 9), layout="constrained")
    ax = biplot(V, np.random.default_rng(0).standard_normal((9, 2)), NASTY, ax=canvas.gca())
    wide = check_room(canvas)
    canvas.set_size_inches(4, 4)
    assert max(map(len, check_room(canvas))) < max(map(len, wide))
    canvas.set_size_inches(12, 9)
    assert check_room(canvas) == wide and check_room(canvas, dpi=220)
    assert len(pickle.loads(pickle.dumps(canvas)).axes) == 1 and ax.get_xlabel() == "component 1"


def test_topics():
    for r in (2, 10):
        check_room(topic_table(components(r), NASTY).figure)
    canvas = Figure(figsize=(4, 1.2))
    texts = check_room(topic_table(components(3), NASTY, ax=canvas.gca()).figure)
    assert sum(LONG[:4] in text for text in texts) > 3


@pytest.mark.parametrize("last", [9, 30, 800, 60_000, 10**7])
def test_ticks_of_a_path(last):
    x = np.unique(np.geomspace(2, last, 10).round().astype(int))
    y = np.linspace(0.2, 0.9, len(x))
    path = SimpleNamespace(n_nonzero=x, variance_ratio=y, upper_bound=y + 0.05, error=None)
    ax = sparsity_path(path)
    texts = check_room(ax.figure)
    numbers = [text for text in texts if text.isdecimal()]
    assert len(numbers) >= 3 and not any("^" in text for text in texts)


def test_images_and_curves():
    check_room(loadings_images(components(10), (5, 10))[0].figure)
    T = np.arange(40)
    run = History(
        {"iteration": T, "seconds": 1e-5 * T, "objective": 2.97057 + 1e-6 * T[::-1], "criticality": 1e-15 + T}
    )
    check_room(convergence(dict.fromkeys(NASTY[38:44], run))[0, 0].figure)
    check_room(convergence(run)[0, 0].figure)


def test_names_are_shortened_in_the_middle_and_stay_apart():
    short = shorten(LONG, 100, 8)
    assert width_of(short, 8) <= 100 < width_of(LONG, 8) and short.startswith("annual") and short.endswith("prices")
    assert shorten("two\nlines", 100, 8) == "two lines" and shorten("", 10, 8) == ""
    alike = [f"{LONG[:40]} {i} {LONG}" for i in range(3)]
    assert len(set(short_names(alike, 100, 8))) == 3 and all(
        width_of(text, 8) <= 101 for text in short_names(alike, 100, 8)
    )
    assert short_names(["a", "a"], 100, 8) == ["a", "a"]  # the same name twice is the same name
    assert wrap("one two", 1e3, 8) == "one two" and wrap(LONG, 100, 8).count("\n") == 1


def test_names_without_room_are_left_out():
    tips = np.array([[50.0, 20.0]] * 6)
    places = place_names([(60, 18)] * 6, tips, np.zeros(2), (0, 0, 100, 60), [(0, 0, 100, 20)])
    assert 1 <= sum(place is not None for place in places) <= 2 and places[0] is not None
    assert place_names([(200, 10)], tips[:1], np.zeros(2), (0, 0, 100, 60), []) == [None]


@STYLE
def test_colours_are_told_apart_on_this_paper(paper):
    """Ratios of contrast as the Web Content Accessibility Guidelines define them."""
    with plt.style.context(paper):
        ax = plt.figure().gca()
    back = luminance(ax.get_facecolor()[:3])
    for colour, _, _ in STYLES:
        front = luminance(to_rgb(ink(ax) if colour == "ink" else colour))
        assert (max(front, back) + 0.05) / (min(front, back) + 0.05) > 2.1, colour
    assert len({look[0] for look in STYLES}) == len(STYLES)
    with plt.style.context(paper):
        names = [*biplot(np.eye(2), np.eye(2)).texts, topic_table(np.eye(2)).tables[0][0, 0].get_text()]
    assert {text.get_color() for text in names if text.get_text()} == {ink(ax)}
    many = [style(i) for i in range(40)]
    assert len({look[1:] for look in many}) == 40


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgb]
    return float(np.dot(linear, (0.2126, 0.7152, 0.0722)))


def test_the_instrument_sees_collisions_and_clipping():
    canvas = Figure()
    canvas.text(0.5, 0.5, "one")
    canvas.text(0.52, 0.5, "other")
    with pytest.raises(AssertionError, match="'one' lies on 'other'"):
        check_room(canvas)
    canvas = Figure()
    canvas.text(0.9, 0.5, "over the edge")
    with pytest.raises(AssertionError, match="reaches over the edge"):
        check_room(canvas)
