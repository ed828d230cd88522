"""``orthoprox solve``: models, files, settings, outcomes and mistakes."""

import csv
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, save_npz

from cli.helpers import into_a_closed_pipe, invoke, orthoprox
from orthoprox import SOLVERS, Iterations, named, solve
from orthoprox.cli.outcome import to_json
from orthoprox.cli.solve import parse_setting, stop_rule
from orthoprox.cli.source import find_source
from orthoprox.datasets import load
from orthoprox.driver.solve import DEFAULT_SOLVER
from orthoprox.maps import Centred, Identity, LinearMap
from orthoprox.models import compressed_modes, dual_pcp, nonnegative_pca, orthogonal_dictionary, sparse_pca
from orthoprox.solvers import OADMMEP, Scope
from orthoprox.terms import L1

FILES = ["loadings.npy", "loadings.csv", "loadings_sparse.npy", "loadings_sparse.csv", "run.png", "summary.json"]


def data(m=30, n=8, seed=1):
    return np.random.default_rng(seed).standard_normal((m, n)) + 3.0


def test_a_run_in_a_process_of_its_own(tmp_path):
    """On a file with names, in a folder with an odd name: what the library computes, in files and as JSON."""
    folder = tmp_path / "Übung 数据 $x$"
    folder.mkdir()
    names = [f"größe {j}" for j in range(8)]
    np.savetxt(folder / "meine daten.csv", data(), delimiter=",", header=",".join(names), comments="", encoding="utf-8")
    options = ("--components", 2, "--weight", 0.05, "--solver", "oadmm-ep", "--set", "beta0=4", "--iterations", 50)
    out = folder / "a" / "b"
    done = orthoprox("solve", "sparse-pca", folder / "meine daten.csv", *options, "--out", out, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary == json.loads((out / "summary.json").read_text("utf-8"))
    D = data() - data().mean(axis=0)
    problem = sparse_pca(D, n_components=2, weight=0.05)
    result = solve(problem, named("oadmm-ep", beta0=4), seed=0, stop=Iterations(50))
    assert summary["objective"] == pytest.approx(result.objective, rel=1e-12)
    assert summary["criticality"] == pytest.approx(result.criticality, rel=1e-6)
    assert summary["variance_explained"] == pytest.approx(np.sum((D @ result.X) ** 2) / np.sum(D**2), rel=1e-12)
    assert (summary["status"], summary["iterations"], summary["solver"]) == ("iterations", 50, "oadmm-ep")
    assert summary["settings"]["beta0"] == 4 and summary["weight"] == 0.05
    assert summary["data"]["name"] == "meine daten.csv" and summary["data"]["prepare"] == "center"
    assert summary["nonzeros"] == np.count_nonzero(np.abs(result.y) > 1e-6)
    for name, X in (("loadings", result.X), ("loadings_sparse", result.y)):
        array = np.load(out / f"{name}.npy")
        assert np.allclose(array, X, rtol=0, atol=1e-10)
        with (out / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            head, *lines = csv.reader(file)
        assert head == ["feature", "component_1", "component_2"] and [line[0] for line in lines] == names
        assert np.array_equal(np.array([line[1:] for line in lines], dtype=float), array)  # with every digit
    assert sorted(file.name for file in out.iterdir()) == sorted(FILES) and summary["files"] == FILES
    assert (out / "run.png").read_bytes().startswith(b"\x89PNG")


def test_people_get_words_and_the_defaults_hold(tmp_path):
    done = invoke("solve", "sparse-pca", "digits-80-12", "--components", 3, "--out", tmp_path, "--seed", 4)
    assert done.exit_code == 0, done.stderr
    assert f"{DEFAULT_SOLVER} on 12 x 3" in done.stdout
    assert "variance" in done.stdout and f"wrote {tmp_path / 'run.png'}" in done.stdout
    summary = json.loads((tmp_path / "summary.json").read_text("utf-8"))
    X = load("digits-80-12", seed=4).X
    # a tenth of the largest variance; the norm is an exact one at this size
    assert summary["weight"] == pytest.approx(0.1 * np.linalg.norm(X, 2) ** 2 / 80, rel=1e-6)
    assert summary["data"]["checksum"] == load("digits").checksum
    features = [line.split(",")[0] for line in (tmp_path / "loadings.csv").read_text().splitlines()[1:]]
    assert features == [str(j) for j in load("digits-80-12", seed=4).columns]


MODELS = {
    "sparse-pca digits-80-12 -r 2 -w 10 -k 5": (
        lambda w: sparse_pca(load("digits-80-12").X, n_components=2, weight=10, k=5),
        {"nonzeros_free": 5, "weight": 10},
    ),
    "compressed-modes 32 -r 2 --weight 0.3 --solver manpg": (
        lambda w: compressed_modes(32, n_components=2, weight=0.3),
        {"grid_points": 32},
    ),
    "dual-pcp a.npy -r 1 --prepare raw": (lambda w: dual_pcp(data(), codimension=1), {"entries": 8}),
    "nonnegative-pca a.npy -r 2 --prepare raw": (
        lambda w: nonnegative_pca(data(), n_components=2, weight=w),
        {"weight": pytest.approx(np.linalg.norm(data(), 2) ** 2 / 30, rel=1e-6)},
    ),
    "dictionary a.npy -r 4 --prepare raw": (lambda w: orthogonal_dictionary(data(), n_components=4), {}),
}


@pytest.mark.parametrize("call", MODELS)
def test_every_model_is_that_of_the_library(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", data())
    done = invoke("solve", *call.split(), "--json", "--out", tmp_path)
    assert done.exit_code == 0, done.stderr
    make, said = MODELS[call]
    summary, (X, y) = json.loads(done.stdout), (np.load(f"{name}.npy") for name in ("loadings", "loadings_sparse"))
    problem = make(summary.get("weight"))
    assert summary["objective"] == pytest.approx(float(problem.objective(X)), rel=1e-9)
    assert X.shape == (problem.M.n, problem.M.r)
    assert summary["status"] == "converged" and {name: summary[name] for name in said} == said
    assert ("variance_explained" in summary) == ("pca" in call) and (tmp_path / "run.png").stat().st_size > 0
    # where h acts on a product with the samples, X itself is all there is to write
    assert isinstance(problem.A, Identity) or np.array_equal(X, y)


@pytest.mark.parametrize("how", ["center", "raw", "paper"])
@pytest.mark.parametrize("size", [2.0**1000, 2.0**-1000])
def test_data_of_any_size_have_the_loadings_of_data_of_unit_size(no_figures, tmp_path, size, how):
    found = []
    for factor in (1.0, size):
        np.save(tmp_path / "a.npy", factor * data())
        call = ("solve", "sparse-pca", tmp_path / "a.npy", "-r", 2, "--prepare", how, "--iterations", 30, "--json")
        done = invoke(*call, "--out", tmp_path)
        assert done.exit_code == 0, done.stderr
        found.append(np.load(tmp_path / "loadings.npy"))
    assert np.allclose(*found, rtol=0, atol=1e-6)
    divided = how != "paper"
    done_with_weight = invoke(*call, "--out", tmp_path, "--weight", 1)
    assert done_with_weight.exit_code == (2 if divided else 0)
    assert ("Give one of their size" in done_with_weight.stderr) is divided
    summary = json.loads(done.stdout)
    assert (summary["data"]["divided_by"] != 1) is divided
    assert any("The data were divided by" in note for note in summary["notes"]) is divided


@pytest.mark.linux
def test_names_that_are_no_text_and_tables_with_one_huge_number(no_figures, tmp_path):
    A = data()
    A[0, 0] = 1e300
    names = tmp_path / "n\udce9.csv", tmp_path / "ou\udce9t"
    with open(names[0], "wb") as file:
        np.savetxt(file, A, delimiter=",")
    done = invoke("solve", "sparse-pca", names[0], "-r", 2, "--iterations", 3, "--out", names[1])
    assert done.exit_code == 0, done.stderr
    assert np.isfinite(np.load(names[1] / "loadings.npy")).all()


def test_sparse_files_are_never_made_dense(no_figures, tmp_path, monkeypatch):
    rng, name = np.random.default_rng(2), "a.npz"
    A = csr_array(rng.random((40, 9)) * (rng.random((40, 9)) < 0.3))
    save_npz(tmp_path / name, A)
    dense = A.toarray()

    def refuse(self, *_, **__):
        raise AssertionError("made dense")

    for method in ("toarray", "todense"):
        monkeypatch.setattr(csr_array, method, refuse)
        monkeypatch.setattr(coo_array, method, refuse)
    for how, B in (("paper", dense / np.linalg.norm(dense, axis=0)), ("center", dense), ("raw", dense)):
        D = find_source(str(tmp_path / name), seed=0, folder=None, prepare=how).D
        assert isinstance(D, LinearMap)
        B = B - B.mean(axis=0) if how != "raw" else B
        assert np.allclose(D(np.eye(9)), B, rtol=0, atol=1e-9)
    done = invoke("solve", "sparse-pca", tmp_path / name, "--json", "--iterations", 20, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr


def test_all_of_a_sparse_dataset_stays_sparse(shared_data):
    D = find_source("sector-400", seed=0, folder=shared_data, prepare="paper").D
    assert isinstance(D, Centred)
    assert np.allclose(D(np.eye(D.columns, 3)), load("sector-400", folder=shared_data).X[:, :3], rtol=0, atol=1e-14)


@pytest.mark.parametrize("how", ["paper", "center", "raw"])
def test_dense_data_are_prepared_as_asked(how):
    raw = load("digits-80-12", seed=2, raw=True).X
    B = raw / np.linalg.norm(raw, axis=0) if how == "paper" else raw
    D = find_source("digits-80-12", seed=2, folder=None, prepare=how).D
    assert np.allclose(D, B if how == "raw" else B - B.mean(axis=0), rtol=0, atol=1e-13)
    plain = find_source("digits-80-12", seed=2, folder=None, prepare=None).D
    assert np.array_equal(plain, load("digits-80-12", seed=2).X)


def test_settings_are_numbers_words_true_false_or_none():
    values = {"10": 10, " 0.5": 0.5, "false": False, "True": True, "none": None, "bb-long": "bb-long", "a=b": "a=b"}
    for text, value in {**values, "1e-3": 1e-3}.items():
        name, parsed = parse_setting(f"beta0 ={text}" if text[0] == " " else f"beta0={text}")
        assert (name, parsed, type(parsed)) == ("beta0", value, type(value))


def test_what_ends_a_run():
    limits = {(None, None): 1000, (7, None): 7, (None, 2.0): None, (9, 2.0): 9}
    assert {given: stop_rule(*given, 1e-3).limit for given in limits} == limits
    assert str(stop_rule(None, None, 0.0)) == str(Iterations(1000))
    assert "Critical(tolerance=0.001" in str(stop_rule(7, None, 1e-3))
    assert "Seconds(most=2.0)" in str(stop_rule(None, 2.0, 1e-3))


def test_time_is_a_limit_and_convergence_an_end(no_figures, tmp_path):
    call = ("solve", "sparse-pca", "digits-80-12", "--json", "--out", tmp_path, "--solver", "oadmm-ep")
    timed = json.loads(invoke(*call, "--seconds", 0.05, "--tol", 0).stdout)
    assert timed["status"] == "seconds" and timed["seconds"] >= 0.05
    assert json.loads(invoke(*call, "--tol", 10).stdout)["status"] == "converged"


def test_a_problem_outside_the_scope_of_a_solver_is_a_mistake(no_figures, tmp_path, monkeypatch):
    monkeypatch.setattr(type(SOLVERS["manpg"]), "scope", Scope(concave=False))
    call = ("solve", "sparse-pca", "digits-80-12", "--solver", "manpg", "--iterations", 3, "--out", tmp_path)
    assert invoke(*call).exit_code == 0
    done = invoke(*call, "-k", 5)
    assert done.exit_code == 2 and "Error: manpg" in done.stderr


def test_a_run_that_fails_or_blows_up_has_code_one(no_figures, tmp_path, monkeypatch):
    class Wild(OADMMEP):
        def step(self, problem, state):
            new = super().step(problem, state)
            object.__setattr__(new, "z", new.z * np.nan)
            return new

    def broken(self, *_):
        raise ArithmeticError("no prox today")

    call = ("solve", "sparse-pca", "digits-80-12", "--solver", "oadmm-ep", "--weight", 1, "--json", "--out", tmp_path)
    monkeypatch.setitem(SOLVERS, "oadmm-ep", Wild())
    done = invoke(*call)
    assert done.exit_code == 1 and json.loads(done.stdout)["status"] == "not_finite"
    assert np.all(np.isfinite(np.load(tmp_path / "loadings.npy")))  # the last good point is kept
    monkeypatch.setattr(L1, "prox", broken)
    done = invoke(*call)
    assert done.exit_code == 1
    assert "no prox today" in done.stderr and done.stdout == ""


def test_without_matplotlib_the_numbers_are_written(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = invoke("solve", "sparse-pca", "digits-80-12", "--json", "--iterations", 5, "--out", tmp_path)
    summary = json.loads(done.stdout)
    assert done.exit_code == 0 and "orthoprox[plots]" in summary["notes"][-1]
    assert {file.name for file in tmp_path.iterdir()} == set(FILES) - {"run.png"} == set(summary["files"])


@pytest.mark.posix  # Windows has another error for a pipe that nobody reads
def test_a_pipe_that_closes_early_is_no_traceback(tmp_path):
    code, errors = into_a_closed_pipe("solve", "sparse-pca", "randn-80-12", "--iterations", 3, "--out", tmp_path)
    assert code in (0, 1) and errors == ""
    assert (tmp_path / "summary.json").is_file()


def test_json_has_no_word_for_what_is_not_finite():
    given = {"a": [math.nan, math.inf, 1.5], "b": (np.float64(2.5), np.float64(-math.inf)), "c": True, "d": Path("x")}
    wanted = {"a": [None, None, 1.5], "b": [2.5, None], "c": True, "d": "x"}
    assert json.loads(json.dumps(to_json(given), allow_nan=False)) == wanted
