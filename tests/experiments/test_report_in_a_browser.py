"""The report as a person uses it: opened from disk with the network off, clicked, dragged, sorted."""

import numpy as np
import pytest

from experiments.browser import Page, chromium
from experiments.tiny import made_up, tiny
from orthoprox.experiments import Method, Results
from orthoprox.experiments.claims import CLAIMS
from orthoprox.experiments.report import report

pytestmark = pytest.mark.skipif(chromium() is None, reason="there is no chromium here (Debian: apt install chromium)")

LABELS = ("OADMM-EP", "Sub-Grad </script>", "oadmm")
ENDS = (12.0, 2.0, 0.5)
DATA = ("randn-40-12", "randn-60-12")


SHARE = 12 / 61  # of entries, as a comparison with a number of nonzeros has it: no decimal number


def compared():
    """What a comparison finds: one experiment, a path as data, a share that rounding changes."""
    methods = tuple(Method(label, "oadmm") for label in LABELS)
    path = "/a/folder/my table.csv"
    one = tiny(name="compare", datasets=(path,), weights=(5.0,), kept=(SHARE,), methods=methods)
    curve = np.geomspace(100, 1, 50)
    runs = [made_up(label, 1.0, experiment="compare", dataset=path, kept=SHARE, curve=curve) for label in LABELS]
    return Results((one,), tuple(runs), ())


def results():
    methods = tuple(Method(label, "oadmm") for label in LABELS)
    shared = {"weights": (5.0,), "methods": methods}
    first = tiny(name="figure1", title="First", datasets=DATA, kept=(0.1, 0.2), **shared)
    second = tiny(name="figure2", title="Second", datasets=DATA[:1], kept=(0.1,), **shared)
    runs = []
    for label, end in zip(LABELS, ENDS, strict=True):
        for data, last in zip(DATA, (end, 2 * end), strict=True):
            for kept, seed in ((0.1, 0), (0.1, 1), (0.2, 0), (0.2, 1)):
                curve = np.geomspace(100, last, 150)
                runs.append(made_up(label, last, dataset=data, kept=kept, seed=seed, curve=curve))
    return Results((first, second), tuple(runs), ())


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    page = Page(tmp_path_factory.mktemp("profile"))
    page.offline()
    yield page
    page.close()


@pytest.fixture
def page(browser, tmp_path):
    file = tmp_path / "bericht ü.html"
    file.write_text(report(results(), title="Test", claims=True), "utf-8")
    browser.complaints.clear()
    browser.requests.clear()
    browser.open(file.as_uri())
    yield browser
    assert browser.complaints == []
    assert [url for url in browser.requests if not url.startswith(("file:", "data:"))] == []


def each(page, selector, what):
    """A value of each element."""
    return page.value(f"[...document.querySelectorAll({selector!r})].map(e => {what})")


def curves(page):
    return each(page, "#chart g[data-method] path.curve", "e.getAttribute('d')")


def shown(page):
    return each(page, "#chart g[data-method]", "e.dataset.method")


def column(page, name):
    place = each(page, "#table th", "e.dataset.column").index(name)
    return each(page, "#table tbody tr", f"e.cells[{place}].textContent")


def ticks(page, axis):
    return each(page, f"#chart .tick-{axis}", "e.textContent")


def places(page, axis):
    """Where the labels of an axis stand, by their numbers."""
    return dict(each(page, f"#chart .tick-{axis}", f"[Number(e.textContent), Number(e.getAttribute('{axis}'))]"))


def test_a_curve_for_every_method_is_drawn(page):
    assert shown(page) == list(LABELS)
    assert all(d.count("L") == 99 for d in curves(page))
    looks = each(page, "#chart path.curve", "e.getAttribute('stroke-dasharray')")
    assert len(set(looks)) >= 2
    assert len(ticks(page, "x")) >= 3 and len(ticks(page, "y")) >= 3
    assert page.value("document.querySelectorAll('#legend button').length") == 3


def test_a_click_on_the_legend_hides_and_shows(page):
    before = curves(page)
    page.click("#legend button:nth-child(2)")
    assert shown(page) == [LABELS[0], LABELS[2]]
    assert page.value("document.querySelector('#legend button:nth-child(2)').getAttribute('aria-pressed')") == "false"
    page.click("#legend button:nth-child(2)")
    assert shown(page) == list(LABELS) and curves(page) == before


def test_a_drag_zooms_and_a_double_click_shows_everything(page):
    before, wide = curves(page), ticks(page, "x")
    x, y = page.middle("#chart")
    page.drag((x - 50, y - 60), (x + 90, y + 60))
    zoomed = [float(text) for text in ticks(page, "x")]
    assert curves(page) != before
    assert 0 < zoomed[0] and zoomed[-1] < 10 and max(zoomed) - min(zoomed) < 4
    heights = [height for _, height in sorted(places(page, "y").items())]
    assert len(heights) >= 2 and heights == sorted(heights, reverse=True)  # large values stand above small ones
    assert page.value("document.querySelector('#chart .box')") is None
    page.click("#chart", times=2)
    assert curves(page) == before and ticks(page, "x") == wide
    page.drag((x - 50, y - 60), (x + 90, y + 60))
    page.click("#reset")
    assert curves(page) == before


def test_a_plain_click_does_not_zoom(page):
    before = curves(page)
    page.click("#chart")
    assert curves(page) == before
    assert page.value("document.querySelector('#chart .box')") is None


def test_scales_axes_and_quantities_can_be_chosen(page):
    before = curves(page)
    at = places(page, "y")
    assert at[1] - at[10] == pytest.approx(at[10] - at[100]) and at[1] > at[10]
    page.click("#logy")
    at = places(page, "y")
    assert at[20] - at[40] == pytest.approx(at[40] - at[60]) and curves(page) != before
    page.click("#logy")
    page.click("#logx")
    assert ticks(page, "x") == ["1", "10"]
    page.click("#logx")
    assert curves(page) == before
    page.choose("#axis", "work")
    assert max(float(text) for text in ticks(page, "x")) > 100
    page.choose("#axis", "seconds")
    page.choose("#quantity", "criticality")
    assert len(curves(page)) == 3


def test_another_data_set_and_experiment_can_be_chosen(page):
    before, rows = curves(page), column(page, "objective")
    assert rows == ["12", "12", "2", "2", "0.5", "0.5"]
    page.choose("#dataset", DATA[1])
    assert curves(page) != before and column(page, "objective") == ["24", "24", "4", "4", "1", "1"]
    page.choose("#kept", "0.2")
    assert set(column(page, "kept")) == {"0.2"}
    page.choose("#experiment", "figure2")
    assert page.value("[...document.querySelector('#dataset').options].map(o => o.value)") == [DATA[0]]
    assert curves(page) == [] and column(page, "objective") == []  # it has no results


def test_the_table_is_sorted_by_a_click_and_back(page):
    page.click("#everything")
    assert len(column(page, "objective")) == 24
    page.click("th[data-column=objective]")
    up = [float(text) for text in column(page, "objective")]
    assert up == sorted(up) and len(set(up)) > 2
    page.click("th[data-column=objective]")
    assert [float(text) for text in column(page, "objective")] == sorted(up, reverse=True)
    page.click("th[data-column=method]")
    assert column(page, "method") == sorted(column(page, "method"), key=str.lower)


def test_a_share_with_many_digits_chooses_its_rows(browser, tmp_path):
    file = tmp_path / "compare.html"
    file.write_text(report(compared()), "utf-8")
    browser.open(file.as_uri())
    assert column(browser, "method") == list(LABELS) and len(curves(browser)) == 3
    assert each(browser, "#dataset option", "e.textContent") == ["my table.csv"]
    assert each(browser, "#kept option", "e.textContent") == ["0.1967 nr"]
    assert browser.value("document.querySelector('#verdicts').hidden && document.querySelector('#analysis').hidden")


def widths(page, width):
    page("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
    page("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    root = page.value("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    boxes = each(page, ".scroll", "[e.scrollWidth, e.clientWidth]")
    page("Emulation.clearDeviceMetricsOverride")
    return root, [box for box in boxes if box[1] > 0]


def test_the_page_is_never_wider_than_the_window_and_the_tables_fit_a_wide_one(page):
    (wide, window), tables = widths(page, 1200)
    assert wide <= window and tables and all(inner <= outer for inner, outer in tables)
    (wide, window), _ = widths(page, 400)
    assert wide <= window
    size = page.value("getComputedStyle(document.querySelector('#chart text')).fontSize")
    assert size == "12px"  # and the picture is not scaled
    assert each(page, "#chart .label-y", "e.textContent") == ["objective"]
    page.choose("#quantity", "criticality")
    assert each(page, "#chart .label-y", "e.textContent") == ["Crit"]


def test_the_verdicts_of_the_experiment_are_there(page):
    lines = each(page, "#verdicts tbody tr", "[...e.cells].map(c => c.textContent)")
    assert len(lines) == len(CLAIMS) and len(lines[0]) == 3
    claims = {line[0]: line[1:] for line in lines}
    first = next(claim for claim in claims if claim.startswith(CLAIMS[-1].statement))
    assert claims[first] == ["holds 2 of 2", "holds 2 of 2"] and f"Test: {CLAIMS[-1].test}." in first
    assert each(page, "#verdicts th", "e.textContent") == ["statement", "weight 5, k = 0.1 nr", "weight 5, k = 0.2 nr"]
    ((statement, word, _),) = each(page, "#analysis tbody tr", "[...e.cells].map(c => c.textContent)")
    assert statement.startswith("every recorded iterate is feasible") and word == "holds"  # nothing else was watched
    page.choose("#experiment", "figure2")  # which has no results
    assert page.value("getComputedStyle(document.querySelector('#verdicts')).display") == "none"


def test_names_stand_above_their_columns(page):
    aligned = "[...new Set([...e.rows].map(r => getComputedStyle(r.cells[r.cells.length - 1]).textAlign))].join()"
    assert page.value(f"(e => {aligned})(document.querySelector('#table'))") == "left"  # the status is a word


def test_the_settings_are_there(page):
    text = page.value("document.querySelector('#settings').textContent")
    assert "solver oadmm" in text and LABELS[1] in text and "{" not in text


def test_an_error_in_the_page_would_be_noticed(browser, tmp_path):
    file = tmp_path / "broken.html"
    file.write_text("<!DOCTYPE html><script>nothing.there()</script><img src='http://127.0.0.1:9/x.png'>")
    browser.complaints.clear()
    browser.open(file.as_uri())
    assert browser.complaints and any(url.startswith("http:") for url in browser.requests)
