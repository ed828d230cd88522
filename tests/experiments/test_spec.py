"""What a specification says, and what is wrong with it; solvers by name, by module and by file."""

import json
import sys
from pathlib import Path

import pytest

from experiments.tiny import mischief, tiny
from orthoprox._fields import replace
from orthoprox.experiments import BUILTIN, builtin, from_mapping, read, spec
from orthoprox.experiments.methods import make_solver
from orthoprox.solvers import OADMMEP, named


@pytest.mark.parametrize(
    ("name", "weight"), [("figure1", 50), ("figure2", 500), ("figure3", 10), ("figure4", 100), ("figure5", 1000)]
)
def test_a_figure_has_the_settings_of_the_paper(name, weight):
    figure = builtin(name)
    names = [f"{data}-{m}-500" for data in ("mnist", "tdt2", "sector", "randn") for m in (1500, 2500)]
    assert (figure.weights, list(figure.datasets)) == ((weight,), names)
    assert (figure.components, figure.kept, figure.seeds) == (20, (0.1, 0.2), (0, 1, 2, 3, 4)) and figure.seconds == 3.0
    ours, polar, schedule = {"beta0": 10.0 * weight, "xi": 0.5}, {"retraction": "polar"}, {"schedule": "oadmm"}
    settings = {method.label: (method.solver, method.settings_for(weight)) for method in figure.methods}
    assert list(settings.items()) == [
        ("OADMM-EP", ("oadmm-ep", ours)),
        ("OADMM-RR", ("oadmm-rr", {**ours, "length": "fixed", **polar})),
        ("RADMM-I", ("radmm", {"beta": 100.0, **polar})),
        ("RADMM-II", ("radmm", {"beta": 10000.0, **polar})),
        ("SPGM-EP", ("spgm-ep", {**schedule, **ours})),
        ("SPGM-RR", ("spgm-rr", {**schedule, **ours, **polar})),
        ("Sub-Grad", ("subgradient", {})),
        ("oadmm", ("oadmm", {})),
    ]


def test_k_is_a_number_of_entries_or_a_fraction_of_them_and_shown_as_it_was_given():
    counted = {kept: (spec.entries_kept(kept, 61), spec.in_words(kept)) for kept in (30, 1, 0.1, 1e-9)}
    assert counted == {30: (30, "30"), 1: (1, "1"), 0.1: (6, "0.1 nr"), 1e-9: (1, "1e-09 nr")}
    assert (spec.entries_kept(1.0, 61), spec.in_words(1.0), spec.in_words(None)) == (61, "1 nr", "none")


def test_every_specification_has_a_name_to_ask_for():
    files = {path.stem for path in Path(spec.__file__).with_name("specs").glob("*.toml")}
    assert files == {*BUILTIN, "quick"} and len(set(BUILTIN)) == len(BUILTIN)
    assert all(builtin(name).name == name for name in BUILTIN)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", BUILTIN)
def test_every_builtin_method_can_be_made(name, quick):
    experiment = builtin(name, quick=quick)
    for method in experiment.methods:
        for weight in experiment.weights:
            named(method.solver, **method.settings_for(weight))
    assert all(dataset.startswith("digits-") for dataset in experiment.datasets) == quick


def test_rivals_with_equal_smoothing_have_that_of_oadmm():
    """And stand in the panels of the figures."""
    equal, figure = builtin("smoothing"), builtin("figure1")
    same = ("datasets", "kept", "seeds", "seconds", "components")
    assert {name: getattr(equal, name) for name in same} == {name: getattr(figure, name) for name in same}
    assert set(equal.weights) == {w for name in BUILTIN if name.startswith("figure") for w in builtin(name).weights}
    made = {m.label: named(m.solver, **m.settings_for(50.0)) for m in (*equal.methods, *figure.methods)}
    ep = made["OADMM-EP"]
    for label in ("SPGM-EP", "SPGM-RR"):
        assert 1 / made[f"{label}, mu = tau/beta"].beta0 == pytest.approx(ep.tau / ep.beta0)
        assert 1 / made[label].beta0 == 1 / ep.beta0
    for label in ("RADMM-I", "RADMM-II"):
        assert made[f"{label}, theory"].mu == 4 / made[label].beta and made[label].mu == 1e-8 / made[label].beta


def test_a_mapping_can_be_read_again():
    for experiment in (builtin("figure3"), tiny(kept=(None, 0.5, 7, 1, 1.0)), builtin("theory", quick=True)):
        again = from_mapping(json.loads(json.dumps(experiment.to_mapping())), "there")
        assert again == experiment
        assert [job.key for _, job in again.jobs()] == [job.key for _, job in experiment.jobs()]


def test_the_key_depends_on_everything_that_decides_a_result(tmp_path):
    job = next(tiny().jobs())[1]
    changes = {
        **{"dataset": "randn-41-12", "model": "other", "components": 3, "weight": 3.0, "kept": None, "seed": 5},
        **{"solver": "radmm", "settings": {}, "seconds": 1.0, "iterations": 31, "tolerance": 1e-3, "watch": "lyapunov"},
    }
    assert set(changes) == set(vars(job))
    keys = {job.key, *(replace(job, **{name: value}).key for name, value in changes.items())}
    solver, data = tmp_path / "mine.py", tmp_path / "data.csv"
    for code, table in (("a = 1", "1,2\n"), ("a = 20", "1,2\n"), ("a = 20", "1,20\n")):  # of a user's files the content
        solver.write_text(code)
        data.write_text(table)
        keys.add((mine := replace(job, solver=f"{solver}:Mine", dataset=str(data))).key)
    assert len(keys) == len(changes) + 4
    solver.unlink()
    assert mine.key in keys  # a job is what it was when it was first named


def test_names_with_odd_characters_stay_below_the_folder(tmp_path):
    job = replace(next(tiny().jobs())[1], solver="../../über mine.py:Mine", dataset="/etc/../data é.csv")
    file = job.file(tmp_path)
    assert file.parent.parent == tmp_path / "runs"
    assert file.resolve().is_relative_to(tmp_path.resolve())


GOOD = {"name": "x", "title": "X", "datasets": ["randn-9-3"], "weights": [1], "methods": {"a": "oadmm"}, "seconds": 1}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"colour": 1}, "unknown entries colour"),
        ({"name": None}, "lacks name"),
        ({"datasets": []}, "at least one entry in datasets"),
        ({"datasets": "randn-9-3"}, "expected a list"),
        ({"weights": ["much"]}, "expected a number; given 'much'"),
        ({"weights": [-1.0]}, "positive weights"),
        ({"methods": {}}, "at least one entry in methods"),
        ({"methods": ["oadmm"]}, "one line per method"),
        ({"methods": {"a": {"beta0": 1}}}, "lacks its solver"),
        ({"kept": [1.5]}, "at most 1"),
        ({"kept": [0.0]}, "above 0"),
        ({"kept": [0]}, "at least 1"),
        ({"kept": [True]}, "whole number"),
        ({"components": 0}, "components >= 1"),
        ({"components": 2.5}, "expected a whole number"),
        ({"seeds": [-1]}, "not negative"),
        ({"seeds": [True]}, "expected a whole number"),
        ({"seconds": None}, "needs a budget"),
        ({"seconds": 0.0}, "positive number of seconds"),
        ({"iterations": 0}, "at least one iteration"),
        ({"model": "nmf"}, "sparse-pca; given 'nmf'"),
        ({"watch": "birds"}, "given 'birds'"),
        ({"curves": 1}, "expected true or false"),
        ({"title": 3}, "expected a text"),
    ],
)
def test_a_mistake_gets_a_sentence_with_the_place(changes, sentence):
    entries = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(ValueError, match=f"here.toml.*{sentence}"):
        from_mapping(entries, "here.toml")


def test_a_file_is_read_and_mistakes_are_refused(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "m"\ntitle = "M"\ndatasets = ["randn-9-3"]\nweights = [1]\nseconds = 1\nmethods.a = "oadmm"'
    )
    assert read(path).methods[0].solver == "oadmm"
    path.write_text("name = ")
    with pytest.raises(ValueError, match="not a TOML file"):
        read(path)
    with pytest.raises(ValueError, match="There is no experiment 'figure9'"):
        builtin("figure9")
    with pytest.raises(ValueError, match="two methods labelled OADMM-EP"):
        tiny(methods=(*tiny().methods, tiny().methods[0]))


def test_a_name_a_module_and_a_file_give_the_same(tmp_path, monkeypatch):
    (tmp_path / "their_solver.py").write_text("from orthoprox.solvers import OADMMEP as Mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p])
    for reference in ("oadmm-ep", "orthoprox.solvers:OADMMEP", "their_solver:Mine", "their_solver.py:Mine"):
        assert make_solver(reference, {"beta0": 3.0}) == OADMMEP(beta0=3.0)


@pytest.mark.parametrize(
    ("reference", "settings", "error", "sentence"),
    [
        ("oadm", {}, ValueError, "Did you mean 'oadmm'"),
        ("nowhere.py:X", {}, ValueError, "there is no file"),
        ("no_such_module:X", {}, ValueError, "No module named"),
        ("{file}:Missing", {}, ValueError, "it has .*Talks"),
        ("{file}:os", {}, ValueError, "no solver class named 'os'"),
        ("{file}:Talks", {"speed": 1}, TypeError, "it takes eta0"),
        ("{bare}:Bare", {}, TypeError, "Bare lacks what every solver has: certificate, init, name, point, step"),
        ("{bare}:Other", {}, ValueError, "it has Bare. A solver"),
        ("{bare}", {}, ValueError, "is file.py:Class; given .*bare.py, which has Bare"),
        ("oadmm-ep", {"speed": 1}, TypeError, "it takes beta0"),
        ("{broken}:X", {}, ValueError, "ZeroDivisionError"),
    ],
)
def test_a_solver_that_cannot_be_made_gets_a_sentence_every_time(tmp_path, reference, settings, error, sentence):
    mischief(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "bare.py").write_text("from orthoprox import Solver\nclass Bare(Solver): pass")
    files = {"file": "mischief.py", "broken": "broken.py", "bare": "bare.py"}
    for _ in range(2):
        with pytest.raises(error, match=sentence):
            make_solver(reference.format(**{name: tmp_path / file for name, file in files.items()}), settings)
