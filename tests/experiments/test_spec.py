"""What a specification says, and what is wrong with it."""

from __future__ import annotations

import json

import pytest

from experiments.tiny import tiny
from orthoprox._fields import replace
from orthoprox.experiments import BUILTIN, builtin, from_mapping, read
from orthoprox.solvers import named

PAPER = {"figure1": 50, "figure2": 500, "figure3": 10, "figure4": 100, "figure5": 1000}


@pytest.mark.parametrize("name", PAPER)
def test_a_figure_has_the_settings_of_the_paper(name):
    figure = builtin(name)
    weight = PAPER[name]
    assert figure.weights == (weight,)
    assert figure.datasets == tuple(
        f"{data}-{m}-500" for data in ("mnist", "tdt2", "sector", "randn") for m in (1500, 2500)
    )
    assert (figure.components, figure.kept, figure.seeds) == (20, (0.1, 0.2), (0, 1, 2))
    settings = {method.label: (method.solver, method.settled(weight)) for method in figure.methods}
    assert list(settings) == [
        "OADMM-EP", "OADMM-RR", "RADMM-I", "RADMM-II", "SPGM-EP", "SPGM-RR", "Sub-Grad", "oadmm",
    ]  # fmt: skip
    assert settings["OADMM-EP"] == ("oadmm-ep", {"beta0": 10.0 * weight, "xi": 0.5})
    polar = {"retraction": "polar"}
    assert settings["OADMM-RR"] == ("oadmm-rr", {"beta0": 10.0 * weight, "xi": 0.5, "length": "fixed", **polar})
    assert settings["RADMM-I"] == ("radmm", {"beta": 100.0, **polar})
    assert settings["RADMM-II"] == ("radmm", {"beta": 10000.0, **polar})
    schedule = {"schedule": "oadmm", "beta0": 10.0 * weight, "xi": 0.5}
    assert settings["SPGM-EP"] == ("spgm-ep", schedule)
    assert settings["SPGM-RR"] == ("spgm-rr", {**schedule, **polar})
    assert settings["Sub-Grad"] == ("subgradient", {}) and settings["oadmm"] == ("oadmm", {})


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("name", BUILTIN)
def test_every_builtin_method_can_be_made(name, quick):
    experiment = builtin(name, quick=quick)
    for method in experiment.methods:
        for weight in experiment.weights:
            named(method.solver, **method.settled(weight))
    assert all(dataset.startswith("digits-") for dataset in experiment.datasets) == quick


def test_a_whole_reproduction_fits_its_time():
    """About 25 minutes on 16 cores, with a fifth of the budget for measuring and reading."""
    spent = 0.0
    for name in BUILTIN:
        experiment = builtin(name)
        spent += len(list(experiment.jobs())) * (experiment.seconds or 12.0)
    assert 1.2 * spent / 16 < 25 * 60


def test_what_is_described_can_be_read_again(tmp_path):
    for experiment in (builtin("figure3"), tiny(kept=(None, 0.5)), builtin("theory", quick=True)):
        again = from_mapping(json.loads(json.dumps(experiment.described())), "there")
        assert again == experiment
        assert [job.key for _, job in again.jobs()] == [job.key for _, job in experiment.jobs()]


def test_the_key_depends_on_everything_that_decides_a_result():
    job = next(tiny().jobs())[1]
    changes = {
        "dataset": "randn-41-12",
        "model": "other",
        "components": 3,
        "weight": 3.0,
        "kept": None,
        "solver": "radmm",
        "settings": {},
        "seed": 5,
        "seconds": 1.0,
        "iterations": 31,
        "tolerance": 1e-3,
        "watch": "lyapunov",
    }
    assert set(changes) == set(vars(job))
    keys = {job.key, *(replace(job, **{name: value}).key for name, value in changes.items())}
    assert len(keys) == len(changes) + 1


def test_the_key_knows_the_content_of_a_users_files(tmp_path):
    solver, data = tmp_path / "mine.py", tmp_path / "data.csv"
    solver.write_text("a = 1")
    data.write_text("1,2\n")
    job = replace(next(tiny().jobs())[1], solver=f"{solver}:Mine", dataset=str(data))
    first = job.key
    solver.write_text("a = 20")
    second = job.key
    data.write_text("1,20\n")
    assert len({first, second, job.key}) == 3


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
        ({"datasets": "randn-9-3"}, "a list was wanted"),
        ({"weights": ["much"]}, "a number was wanted; given 'much'"),
        ({"weights": [-1.0]}, "positive weights"),
        ({"methods": {}}, "at least one entry in methods"),
        ({"methods": ["oadmm"]}, "one line per method"),
        ({"methods": {"a": {"beta0": 1}}}, "lacks its solver"),
        ({"kept": [1.5]}, "at most 1"),
        ({"kept": [0.0]}, "above 0"),
        ({"components": 0}, "components >= 1"),
        ({"components": 2.5}, "a whole number was wanted"),
        ({"seeds": [-1]}, "not negative"),
        ({"seeds": [True]}, "a whole number was wanted"),
        ({"seconds": None}, "needs a budget"),
        ({"seconds": 0.0}, "positive number of seconds"),
        ({"iterations": 0}, "at least one iteration"),
        ({"model": "nmf"}, "sparse-pca; given 'nmf'"),
        ({"watch": "birds"}, "given 'birds'"),
        ({"title": 3}, "a text was wanted"),
    ],
)
def test_a_mistake_gets_a_sentence_with_the_place(changes, sentence):
    said = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    with pytest.raises(ValueError, match="here.toml") as caught:
        from_mapping(said, "here.toml")
    assert sentence in str(caught.value)


def test_two_methods_of_one_label_are_refused():
    with pytest.raises(ValueError, match="two methods labelled OADMM-EP"):
        tiny(methods=(*tiny().methods, tiny().methods[0]))


def test_a_file_is_read_and_a_broken_one_refused(tmp_path):
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
