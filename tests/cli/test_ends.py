"""How commands end that do not come to their own end: Ctrl-C, a full disk, a solver that leaves."""

import contextlib
import importlib.util
import json
import signal

import numpy as np
import pytest

from cli.helpers import invoke, orthoprox
from orthoprox import SOLVERS
from orthoprox.solvers import OADMMEP

INTERRUPT = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)
sys.meta_path.insert(0, Finder())
"""
"""Ctrl-C at the moment when a module is imported."""


@contextlib.contextmanager
def full_disk(size):
    """No file can have more bytes than this."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class Interrupting(OADMMEP):
    def step(self, problem, state):
        if state.t == 4:
            signal.raise_signal(signal.SIGINT)
        return super().step(problem, state)


@pytest.fixture
def ctrl_c(monkeypatch, heard):
    """Ctrl-C arrives in the fifth step of oadmm-ep."""
    monkeypatch.setitem(SOLVERS, "oadmm-ep", Interrupting())


def test_ctrl_c_in_a_run_leaves_its_results_so_far(tmp_path, ctrl_c, no_figures):
    call = ("solve", "sparse-pca", "randn-80-12", "-r", 2, "--solver", "oadmm-ep", "--json", "--out", tmp_path)
    done = invoke(*call)
    assert done.exit_code == 130 and json.loads(done.stdout)["status"] == "interrupted"
    assert json.loads((tmp_path / "summary.json").read_text())["iterations"] == 4
    assert np.load(tmp_path / "loadings.npy").shape == (12, 2)


def test_ctrl_c_ends_the_demonstration_with_what_there_is(tmp_path, ctrl_c, monkeypatch):
    for name in ("loadings", "curves"):
        monkeypatch.setattr(f"orthoprox.cli.demo.draw_{name}", lambda path, *_: path)
    done = invoke("demo", "--out", tmp_path, "--components", 2, "--iterations", 20)
    assert done.exit_code == 130 and "Interrupted." in done.stderr
    assert "oadmm-ep" in done.stdout and "oadmm-rr" not in done.stdout
    assert f"drew {tmp_path / 'curves.png'}" in done.stdout


@pytest.mark.parametrize("place", ["orthoprox.cli.solve.solve", "orthoprox.cli.source.read_matrix"])
def test_ctrl_c_before_there_is_anything(tmp_path, monkeypatch, place):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(place, interrupted)
    (tmp_path / "a.csv").write_text("1,2\n2,1\n")
    done = invoke("solve", "sparse-pca", tmp_path / "a.csv", "-r", 1, "--out", tmp_path / "out")
    assert (done.exit_code, done.stdout, done.stderr) == (130, "", "Error: Interrupted.\n")
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("module", ["numpy", "orthoprox.cli.main"])
def test_ctrl_c_while_the_command_is_imported(module):
    done = orthoprox("list", "solvers", before=INTERRUPT.format(module=module))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


@pytest.mark.skipif(importlib.util.find_spec("numba") is None, reason="needs numba")
def test_a_library_is_whole_after_ctrl_c_in_its_import():
    """The first call is interrupted, the second one must be able to import the same library."""
    use = (
        "from orthoprox._extras import extra\n"
        "try:\n    extra('numba.extending', '', '')\nexcept KeyboardInterrupt:\n    print('interrupted')\n"
        "print(extra('numba', '', '').njit(lambda x: x + 1)(1))\nraise SystemExit\n"
    )
    done = orthoprox(before=INTERRUPT.format(module="numba.core.types.misc") + use)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, ["interrupted", "2"], "")


@pytest.mark.posix
@pytest.mark.parametrize("size", [0, 400, 1000])  # of the probe, of a table, of the summary
def test_a_full_disk_leaves_the_results_of_the_run_before(tmp_path, no_figures, size):
    call = ("solve", "sparse-pca", "randn-80-12", "-r", 2, "--iterations", 3, "--out", tmp_path, "--seed")
    assert invoke(*call, 1).exit_code == 0
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    with full_disk(size):
        done = invoke(*call, 2)
    assert done.exit_code == 4 and "could not be written (File too large)" in done.stderr
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


@pytest.mark.posix
def test_a_full_disk_in_a_comparison(tmp_path, no_figures):
    call = ("compare", "randn-30-8", "oadmm-ep", "-r", 2, "--iterations", 3, "--jobs", 1, "--out", tmp_path)
    with full_disk(2000):
        done = invoke(*call)
    assert done.exit_code == 4 and "could not be written" in done.stderr
    assert not [file for file in tmp_path.rglob("*") if file.suffix in (".part", ".npz")]


@pytest.mark.linux
def test_output_that_cannot_be_written():
    done = orthoprox("list", "solvers", before="import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1)")
    why = "[Errno 28] No space left on device"
    assert done.returncode == 4
    assert done.stderr == f"Error: The results could not be written ({why}). Free some space.\n"


@pytest.mark.parametrize(
    ("source", "code", "sentence"),
    [
        ("import sys; sys.exit(0)", 2, "could not be imported (SystemExit: 0)."),
        ("raise BaseException('no')", 2, "could not be imported (BaseException: no)."),
        ("def __init__(self): raise SystemExit", 2, "could not be made (SystemExit"),
        ("def step(self, problem, state): raise SystemExit(0)", 1, "The process ended with code 0 in the middle"),
    ],
)
def test_a_solver_that_leaves_gets_a_sentence(tmp_path, no_figures, source, code, sentence):
    inside = source.startswith("def")
    text = "from orthoprox.solvers import Subgradient\nclass A(Subgradient):\n    " + source if inside else source
    (tmp_path / "own.py").write_text(text + "\n")
    call = ("compare", "randn-30-8", f"{tmp_path}/own.py:A", "-r", 2, "--iterations", 3, "--out", tmp_path / "out")
    done = invoke(*call, "--jobs", 1, "--quiet")
    assert done.exit_code == code and sentence in done.stderr
