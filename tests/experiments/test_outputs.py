"""Tables, figures and the page, from made-up results."""

import csv
import json
import re

import numpy as np
import pytest

from experiments.tiny import made_up, tiny
from orthoprox._fields import replace
from orthoprox.experiments import Method, Results
from orthoprox.experiments.claims import CLAIMS
from orthoprox.experiments.figures import draw
from orthoprox.experiments.outputs import draw_figures, publish, write_outputs
from orthoprox.experiments.report import report
from orthoprox.experiments.table import COLUMNS, as_csv, as_markdown, as_text, matrix
from plotting.room import check_room

METHODS = (Method("A", "oadmm"), Method("B </script><b>", "radmm"))
CURVE = np.geomspace(10, 0.1, 400)


@pytest.fixture
def results():
    experiment = tiny(name="figure1", weights=(5.0,), kept=(0.1, 0.2), methods=METHODS)
    runs = [
        made_up(method.label, 0.1, dataset=dataset, kept=kept, seed=seed, curve=CURVE)
        for method in METHODS
        for dataset in experiment.datasets
        for kept in experiment.kept
        for seed in experiment.seeds
    ]
    return Results((experiment,), tuple(runs), ())


def test_tables_have_every_run_with_its_numbers(results):
    lines = list(csv.DictReader(as_csv(results.runs).splitlines()))
    assert len(lines) == 16 and tuple(lines[0]) == COLUMNS
    wanted = {"method": "A", "dataset": "randn-40-12", "seed": "0", "k": "4", "kept": "0.1", "objective": "0.1"}
    wanted |= {"variance_kept": "0.5", "nonzeros": "5", "nonzeros_y": "4", "iterations": "7", "seconds": "1.5"}
    assert {name: lines[0][name] for name in wanted} == wanted
    (line,) = csv.DictReader(as_csv([made_up("A", 1 / 3)]).splitlines())
    assert line["objective"] == "0.3333333"
    assert as_markdown(results.runs).count("\n") == 18
    assert "| randn-40-12 | 5 | 4 | A | 0 | 0.1 | 1.0e-01 | 5, 4 | 50.0 % | 7 | 1.50 |" in as_markdown(results.runs)
    head, first, *rest = as_text(results.runs).splitlines()
    assert len(rest) == 15 and head.split()[:3] == ["method", "seed", "objective"]
    assert first.split() == ["A", "0", "0.1", "1.0e-01", "5,", "4", "50.0", "%", "7", "1.50", "seconds"]
    assert as_text([made_up("A", 0.1, infeasibility=0.02)]).endswith("  seconds, off the manifold")


def test_the_matrix_has_medians_and_the_lowest_in_bold():
    runs = [made_up("A", value, seed=seed) for seed, value in enumerate((1.0, 5.0, 2.0))]
    runs += [made_up("B", 3.0), made_up("C", 2.0), made_up("B", 1.0, dataset="randn-60-12")]
    lines = matrix(runs).splitlines()
    assert lines[:2] == ["| data | weight | k | A | B | C |", "|---|---|---|---|---|---|"]
    assert lines[2:] == [
        "| randn-40-12 | 5 | 0.1 nr | **2** | 3 | **2** |",
        "| randn-60-12 | 5 | 0.1 nr |  | **1** |  |",
    ]


def test_everything_is_written(results, tmp_path):
    folder = tmp_path / "ergebnisse ü"
    experiment = replace(results.experiments[0], kept=(0.1,), datasets=("randn-40-12",))
    small = Results((experiment,), results.runs, ())
    paths = write_outputs(small, folder, title="T") + draw_figures(small, folder)
    names = {path.relative_to(folder).as_posix() for path in paths}
    figures = {f"figures/figure1-k0.1-{axis}.{ending}" for axis in ("seconds", "work") for ending in ("png", "pdf")}
    assert names == {"table.csv", "table.md", "report.html", "ledger.md"} | figures
    assert not list(folder.rglob("*.part"))
    for path in paths:
        if path.suffix in (".png", ".pdf"):
            content = path.read_bytes()
            assert content.startswith(b"\x89PNG" if path.suffix == ".png" else b"%PDF") and len(content) > 5000
    plain = Results((replace(experiment, curves=False),), results.runs, ())
    written = {
        path.name for path in write_outputs(plain, tmp_path, title="T", claims=False) + draw_figures(plain, tmp_path)
    }
    assert written == {"table.csv", "table.md", "report.html"}
    assert not data_in(report(plain))["curves"] and len(data_in(report(plain))["rows"]) == 16
    drawn = folder / "figures/figure1-k0.1-seconds.pdf"
    first = drawn.read_bytes()
    draw(experiment, small.runs, folder / "figures", endings=("pdf",))
    assert drawn.read_bytes() == first


def test_a_figure_has_a_panel_for_each_data_set_and_a_curve_for_each_method(results, tmp_path, monkeypatch):
    (experiment,), canvases = results.experiments, {}
    save = lambda canvas, path, **_: canvases.update({path.name: canvas})
    monkeypatch.setattr("orthoprox.experiments.figures.save", save)
    for run in results.runs:
        if (run.job.seed, run.job.kept) != (0, 0.1):  # values of both signs, which no logarithmic axis can show
            run.archive.history["objective"] = run.archive.history["objective"] - 5
    draw(experiment, results.runs, tmp_path, endings=("png",))
    assert list(canvases) == [f"figure1-k{k}-{axis}.png" for k in (0.1, 0.2) for axis in ("seconds", "work")]
    for axis, last in (("seconds", 10.0), ("work", 399.0)):
        panels = [panel for panel in canvases[f"figure1-k0.1-{axis}.png"].axes if panel.axison]
        assert [panel.get_title() for panel in panels] == list(experiment.datasets)
        for panel in panels:
            assert panel.get_yscale() == "log" and len(panel.lines) == 2  # those of one seed, weight and k
            assert all(np.array_equal(line.get_ydata(), CURVE) for line in panel.lines)
            assert panel.lines[0].get_xdata()[-1] == last
            assert len({(line.get_linestyle(), line.get_marker()) for line in panel.lines}) == 2
    other = canvases["figure1-k0.2-work.png"].axes[0]
    assert other.get_yscale() == "linear" and np.array_equal(other.lines[0].get_ydata(), CURVE - 5)
    eight = replace(experiment, datasets=tuple(f"randn-{m}-12" for m in range(40, 48)))
    draw(eight, [made_up("A", 1.0, dataset=d, curve=CURVE) for d in eight.datasets], tmp_path)
    shape = canvases["figure1-k0.1-work.pdf"].axes[0].get_subplotspec().get_gridspec()
    assert (shape.nrows, shape.ncols) == (2, 4)


def test_titles_and_labels_of_a_figure_have_room(results, tmp_path, monkeypatch):
    canvases = []
    monkeypatch.setattr("orthoprox.experiments.figures.save", lambda canvas, path, **_: canvases.append(canvas))
    path = f"/a/folder/{'long $ name ' * 9}.csv"
    methods = tuple(Method(f"method {i}", "oadmm") for i in range(7))
    one = replace(
        results.experiments[0], title="Comparison on " + path, datasets=(path,), kept=(12 / 61,), methods=methods
    )
    runs = [made_up(m.label, 1.0, dataset=path, kept=12 / 61, curve=CURVE[:9]) for m in methods]
    draw(one, runs, tmp_path, endings=("png",))
    draw(replace(results.experiments[0], datasets=tuple(f"{i} {path}" for i in range(5))), results.runs, tmp_path)
    assert len(canvases) >= 2
    for canvas in canvases[:4]:
        check_room(canvas)


def data_in(page):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])


def test_the_page_is_one_file_that_asks_for_nothing_with_thin_curves_and_every_row(results):
    page = report(results, title="A <title> & more", points=50)
    links = set(re.findall(r"https?://[^\"' <]+", page))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not an address that is visited
    assert "<title>A &lt;title&gt; &amp; more</title>" in page and "default-src 'none'" in page and "@@" not in page
    data = data_in(page)
    assert len(data["curves"]) == 8  # the first seed
    assert len(data["rows"]) == 16 and tuple(data["columns"]) == COLUMNS
    for curve in data["curves"]:
        assert len(curve["objective"]) == len(curve["seconds"]) == len(curve["work"]) == 50
        assert (curve["objective"][0], curve["objective"][-1]) == (10, 0.1)
    assert list(data["styles"]) == [method.label for method in METHODS]
    assert data["experiments"][0]["settings"]["methods"]["A"] == {"solver": "oadmm"}
    assert data["verdicts"] == data["analysis"] == []  # unless they are asked for
    claims = data_in(report(results, claims=True))["verdicts"]
    assert len(claims) == len(CLAIMS) and claims[0]["statement"] == CLAIMS[0].statement
    assert claims[0]["groups"] == [["figure1", 5.0, kept, "not measured", 0, 0] for kept in (0.1, 0.2)]
    assert data["keys"][0] == ["figure1", "randn-40-12", 5.0, 0.1]
    run = made_up("A", float("nan"), curve=[1.0, np.inf, 2.0])  # what is not finite is nothing
    data = data_in(report(Results(results.experiments, (run,), ())))
    assert data["curves"][0]["objective"] == [1, None, 2]
    assert data["rows"][0][COLUMNS.index("objective")] is None


def test_the_committed_form(results, tmp_path):
    results = replace(results, experiments=(replace(results.experiments[0], kept=(0.1,), datasets=("randn-40-12",)),))
    (tmp_path / "reproduction").mkdir()
    (tmp_path / "reproduction" / "figure9-k0.1-seconds.png").touch()  # of an earlier page
    paths = {
        path.relative_to(tmp_path).as_posix() for path in publish(results, tmp_path, made_by="Made by `the command`.")
    }
    assert {f"reproduction/{path.name}" for path in (tmp_path / "reproduction").glob("*.png")} < paths
    assert {"reproduction.md", "reproduction/table.csv", "reproduction/report.html"} <= paths
    assert "reproduction/figure1-k0.1-seconds.png" in paths and not any(name.endswith(".pdf") for name in paths)
    text = (tmp_path / "reproduction.md").read_text()
    assert "![figure1-k0.1-seconds](reproduction/figure1-k0.1-seconds.png)" in text
    assert text.startswith("# The paper's experiments") and "`the command`" in text
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert (tmp_path / target).exists()
