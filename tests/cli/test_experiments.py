"""demo, reproduce and compare, end to end on small data."""

import csv
import io
import json
import re
import runpy
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli.helpers import invoke, orthoprox
from orthoprox._fields import replace
from orthoprox.cli.experiments import _display
from orthoprox.experiments import Tally
from orthoprox.experiments.store import load, write

ROOT = Path(__file__).resolve().parents[2]
SMALL = ("--dataset", "randn-60-12", "--iterations", 20, "--seeds", 1, "--quiet")
COMPARE = ("--components", 2, "--iterations", 20, "--jobs", 1, "--quiet")


def table(out):
    with (out / "table.csv").open(encoding="utf-8") as file:
        return [{name: cell for name, cell in line.items() if name != "seconds"} for line in csv.DictReader(file)]


def script(path, *arguments):
    """Run a script of the repository in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        runpy.run_path(str(path), run_name="__main__")


def test_a_figure_end_to_end(tmp_path, capsys, request):
    out = tmp_path / "große Läufe" / "mit Leerzeichen"
    done = invoke("reproduce", "figure1", "--quick", "--jobs", 1, "--out", out, *SMALL)
    assert done.exit_code == 0, done.stderr
    assert "16 runs done, 0 were there, 0 failed" in done.stdout
    before = table(out)
    assert len(before) == 16 and {line["method"] for line in before} == {
        "OADMM-EP", "OADMM-RR", "RADMM-I", "RADMM-II", "SPGM-EP", "SPGM-RR", "Sub-Grad", "oadmm",
    }  # fmt: skip
    for name in ("table.md", "report.html", "ledger.md", "figures/figure1-quick-k0.1-seconds.png"):
        assert f"wrote {out / name}" in done.stdout and (out / name).stat().st_size > 0
    assert "Sub-Grad essentially fails" in (out / "ledger.md").read_text("utf-8")
    # the same command runs nothing again
    request.getfixturevalue("no_figures")
    summary = json.loads(invoke("reproduce", "figure1", "--quick", "--out", out, "--json", *SMALL).stdout)
    assert (summary["present"], summary["done"], summary["failed"], len(summary["runs"])) == (16, 0, [], 16)
    assert table(out) == before
    # a result of another version of the code never stays without a word
    first = next(out.rglob("*.npz"))
    old = load(first)
    write(first, replace(old, facts={**old.facts, "code": "older"}))
    done = invoke("reproduce", "figure1", "--quick", "--out", out, "--keep-old", "--json", *SMALL)
    summary = json.loads(done.stdout)
    assert (summary["present"], summary["outdated"], summary["done"]) == (16, 1, 0)
    assert "1 result is of another version of the code: kept." in done.stderr
    assert "2 versions of the code" in (out / "ledger.md").read_text("utf-8")
    write(first, old)
    # and the folder becomes the committed form
    script(ROOT / "docs/reproduction.py", out, "--docs", tmp_path)
    assert (tmp_path / "reproduction/table.csv").is_file()
    text = (tmp_path / "reproduction.md").read_text("utf-8")
    assert "--run figure1 --quick` with the data folder in `ORTHOPROX_DATA`: 16 of its 16 runs have a result.\n" in text
    assert "`figure1-quick` was run with other datasets, iterations, seconds than it comes with." in text
    with pytest.raises(SystemExit, match="2"):
        script(ROOT / "docs/reproduction.py", tmp_path)
    assert "has no results" in capsys.readouterr().err


def test_ctrl_c_ends_cleanly_and_the_same_command_goes_on(tmp_path, monkeypatch, no_figures, heard):
    """Ctrl-C arrives with the first line of progress."""
    (tmp_path / "four.py").write_text(
        "from orthoprox.solvers import Subgradient\n" + "".join(f"class {name}(Subgradient): pass\n" for name in "ABCD")
    )
    methods, out = [f"{tmp_path}/four.py:{name}" for name in "ABCD"], tmp_path / "out"
    call = ("compare", "randn-60-12", *methods, "--components", 2, "--iterations", 10, "--jobs", 1, "--out", out)
    with monkeypatch.context() as patch:
        patch.setattr("orthoprox.cli.experiments.PAUSE", 0.0)
        patch.setattr("orthoprox.cli.experiments.click.echo", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        done = invoke(*call)
    assert done.exit_code == 130
    there = len(list(out.rglob("*.npz")))
    assert 1 <= there < 4
    assert "Interrupted: 1 of 4 runs are done. Repeat the command" in done.stderr
    rest = json.loads(invoke(*call, "--json").stdout)
    assert (rest["present"], rest["done"], len(rest["runs"])) == (there, 4 - there, 4)


def test_budgets_and_seeds_are_those_asked_for(monkeypatch):
    asked = {}
    run = lambda experiments, out, **_: asked.update({e.name: e for e in experiments})
    monkeypatch.setattr("orthoprox.cli.reproduce.run_experiments", run)
    invoke("reproduce", "figure1", "theory", "--seeds", 2, "--iterations", 7)
    assert (asked["figure1"].seeds, asked["figure1"].iterations, asked["figure1"].seconds) == ((0, 1), 7, None)
    invoke("reproduce", "all", "--seconds", 1.5)
    assert len(asked) == 8 and asked["figure5"].seconds == asked["settings"].seconds == 1.5
    assert (asked["theory"].iterations, asked["theory"].seconds) == (2000, None)
    invoke("reproduce", "figure1", "--iterations", 7, "--seconds", 2)
    assert (asked["figure1"].iterations, asked["figure1"].seconds) == (7, 2.0)
    assert asked["figure1"].seeds == (0, 1, 2, 3, 4)


@pytest.mark.slow
def test_the_quick_reproduction_takes_less_than_two_minutes(tmp_path):
    began = time.monotonic()
    done = orthoprox("reproduce", "figure1", "--quick", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    assert time.monotonic() - began < 120


def test_compare_prints_a_table(tmp_path, no_figures):
    methods = ("oadmm", "oadmm-ep", "orthoprox.solvers:Subgradient")
    done = invoke(
        "compare", "randn-60-12", *methods, "--nonzeros", 7, "--set", "oadmm-ep.beta0=3", "--out", tmp_path, *COMPARE
    )
    assert done.exit_code == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.split()}
    assert {"oadmm", "oadmm-ep", "solvers:Subgradient"} <= set(rows)
    lines = {line["method"]: line for line in table(tmp_path)}
    assert all(line["k"] == "7" for line in lines.values())
    assert all(line["kept"] == "7" for line in lines.values())  # as the user gave it, not as a share of the entries
    assert '"spoken": ["7"]' in (tmp_path / "report.html").read_text("utf-8").replace('":[', '": [')
    assert float(rows["oadmm-ep"][2]) == pytest.approx(float(lines["oadmm-ep"]["objective"]), rel=1e-6)
    stored = next(path for path in tmp_path.rglob("oadmm-ep-*.npz"))
    with np.load(stored) as archive:
        assert json.loads(str(archive["facts"]))["settings"] == {"beta0": 3}
    assert (tmp_path / "report.html").is_file() and not (tmp_path / "ledger.md").exists()


def test_compare_takes_a_file_of_the_users_and_goes_on_after_a_failure(tmp_path, monkeypatch, no_figures):
    monkeypatch.chdir(tmp_path)
    A = np.random.default_rng(1).standard_normal((30, 8))
    np.savetxt("meine dätä.csv", A, delimiter=",")
    Path("bad.py").write_text(
        "from orthoprox.solvers import Subgradient\n"
        "class Bad(Subgradient):\n    def step(self, problem, state):\n        raise ArithmeticError('no step today')\n"
    )
    done = invoke("compare", "meine dätä.csv", "oadmm", "bad.py:Bad", "--out", "aus", "--json", *COMPARE)
    assert done.exit_code == 1
    assert "1 of 2 runs failed" in done.stderr and "no step today" in done.stderr
    summary = json.loads(done.stdout)
    (line,), (failure,) = summary["runs"], summary["failed"]
    assert line["dataset"] == str(tmp_path / "meine dätä.csv")  # wherever the results are read
    C = A - A.mean(axis=0)
    assert line["weight"] == pytest.approx(0.1 * np.linalg.norm(C, 2) ** 2 / 30, rel=1e-5)
    assert 0 < line["variance_kept"] <= 1
    assert [one["method"] for one in table(tmp_path / "aus")] == ["oadmm"] and "no step today" in failure["why"]


def test_the_example_brings_its_own_solver_in_under_thirty_lines(tmp_path, capsys, no_figures):
    example = ROOT / "examples/own_solver.py"
    code = example.read_text().split('"""', 2)[2].splitlines()
    assert len([line for line in code if line.strip() and not line.startswith("#")]) < 30
    with pytest.raises(SystemExit, match="0"):
        script(example, "--iterations", 40, "--jobs", 1, "--out", tmp_path, "--json", "--quiet")
    found = {line["method"]: line for line in json.loads(capsys.readouterr().out)["runs"]}
    assert set(found) == {"oadmm", "oadmm-ep", "own_solver:Smoothed"}
    assert found["own_solver:Smoothed"]["infeasibility"] < 1e-12


def test_the_demo_prints_a_table_and_draws_its_figures(tmp_path):
    out = tmp_path / "demo with space" / "figures"
    done = invoke("demo", "--out", out, "--components", 4, "--iterations", 200)
    assert done.exit_code == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.split()}
    columns = ("objective", "primal", "dual", "stationary", "|X'X - I|", "nonzeros", "variance kept", "seconds")
    assert re.split(r"\s\s+", done.stdout.splitlines()[3].strip()) == list(columns)
    for name in ("oadmm", "oadmm-ep", "oadmm-rr"):
        _, objective, primal, _, _, feasibility, nonzeros, kept, *_ = rows[name]
        assert float(objective) < float(rows["pca"][1]) and float(feasibility) < 1e-12
        assert float(primal) > 0 or name == "oadmm"
        assert 0 < int(nonzeros) < int(rows["pca"][2]) and 20 < float(kept) < 100
    for figure in (out / "loadings.png", out / "curves.png"):
        assert figure.read_bytes().startswith(b"\x89PNG") and figure.stat().st_size > 10_000
        assert f"drew {figure}" in done.stdout
    assert done.stderr == ""  # no bar where there is no terminal


@pytest.mark.parametrize(
    ("call", "extra"), [([], "cli"), (["solve"], "cli"), (["fit", "x.csv"], "fit"), (["demo"], "demo")]
)
def test_without_click_the_command_names_the_one_extra_that_is_enough(call, extra):
    done = orthoprox(*call, before="import sys; sys.modules['click'] = None")
    assert done.returncode == 1
    assert f"pip install 'orthoprox[{extra}]'" in done.stderr and "Traceback" not in done.stderr


def test_without_matplotlib_there_are_no_figures_and_all_the_rest(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = invoke("compare", "randn-60-12", "oadmm", "--out", tmp_path / "out", *COMPARE)
    assert done.exit_code == 0 and "objective" in done.stdout and "1 runs done" in done.stdout
    assert "No figures were drawn." in done.stderr and "orthoprox[plots]" in done.stderr
    assert (tmp_path / "out/report.html").is_file() and not (tmp_path / "out/figures").exists()
    done = invoke("demo", "--out", tmp_path / "demo", "--components", 2, "--iterations", 5)
    assert done.exit_code == 1 and "orthoprox[demo]" in done.stderr and done.stdout == ""  # before the runs


def test_without_tqdm_a_line_in_the_terminal_shows_the_progress(tmp_path, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setitem(sys.modules, "tqdm", None)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with _display(quiet=False) as show:
        show(Tally(total=3, present=1, done=1), SimpleNamespace(dataset="randn-60-12", solver="oadmm", weight=0.1))
    assert "runs: 2/3, randn-60-12 oadmm w 0.1" in terminal.getvalue() and terminal.getvalue().endswith("\n")
