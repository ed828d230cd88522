"""Solvers by name, by module and by file."""

import sys

import pytest

from experiments.tiny import mischief
from orthoprox.experiments.methods import make_solver
from orthoprox.solvers import OADMMEP


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
        ("oadmm-ep", {"speed": 1}, TypeError, "it takes beta0"),
        ("{broken}:X", {}, ValueError, "ZeroDivisionError"),
    ],
)
def test_a_mistake_gets_a_sentence_every_time(tmp_path, reference, settings, error, sentence):
    mischief(tmp_path)
    (tmp_path / "broken.py").write_text("1 / 0")
    for _ in range(2):
        with pytest.raises(error, match=sentence):
            make_solver(reference.format(file=tmp_path / "mischief.py", broken=tmp_path / "broken.py"), settings)
