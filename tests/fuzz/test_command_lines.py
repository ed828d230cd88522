"""Command lines, right and wrong: each ends with a known code and a sentence, and leaves whole files only."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from cli.helpers import invoke, orthoprox
from fuzz.campaign import campaign
from orthoprox import SOLVERS
from orthoprox.cli.models import MODELS

pytestmark = pytest.mark.linux
CODES = {0, 1, 2, 3, 4, 130}
PATIENCE = 120
"""Seconds after which a command has no answer."""
FAST = [name for name in SOLVERS if name != "obcd"]  # compiling it takes longer than everything else

NUMBERS = ["0", "1", "2", "3", "-1", "0.5", "1e-3", "nan", "inf", "-inf", "1e309", "1e300", "1e-320", "abc", "", "1_0"]
NUMBERS += ["9" * 20, "9" * 5000, "0x10", "\u0663", "--", " 2 "]
SETTINGS = ["beta0=5", "beta0=nan", "beta0=-1", "beta0=[1]", "beta0=", "=3", "x", "sigma=1e400", "beta0=none", "t=1"]
SETTINGS += ["beta0=" + "(" * 300, "beta0=" + "-" * 50_000 + "1", "beta0='a'", "length=bb-long", "oadmm-ep.beta0=2"]
NAMES = [
    "randn-20-6",
    "digits-30-8",
    "RANDN-9-4",
    "randn",
    "randn-0-3",
    "randn-1-1",
    "randn-99999999-99999999",
    "digitz",
]
NAMES += [
    "mnist-10-10",
    "tdt2",
    f"randn-{'9' * 40}-3",
    "",
    "-",
    "x" * 300,
    "~",
    "/",
    ".",
    "none.csv",
    "32",
    "2",
]
NAMES += ["9" * 25, "./none.npy", "a.xlsx", "fifo.csv", "folder.npy", "loop.csv"]
FILES = ["good.csv", "good.npy", "good.npz", "single.npy", "huge.csv", "tiny.csv", "mixed.csv", "zero.csv", "words.csv"]
FILES += ["nan.npy", "bad.npz", "one.csv", "n\udce9.csv", "do$l$ar^_.csv", "wide.svmlight"]
OUTS = ["out", "deep/er", "file/x", "ou\udce9t", "good.csv", "", "x" * 300]
PLUGINS = ["quit.py:A", "broken.py:A", "plain.py:A", "none.py:A", "plain.py:B", "json:loads", ":", "a:b:c", "quit.py:"]


def fill(folder):
    """Data of every kind, good and bad, and solvers of the user's."""
    A = np.random.default_rng(3).standard_normal((20, 6))
    sizes = {"good": 1.0, "huge": 1e300, "tiny": 1e-300, "mixed": 10.0 ** np.arange(-300, 300, 100), "zero": 0.0}
    for name, size in {**sizes, "n\udce9": 1.0, "do$l$ar^_": 1.0}.items():
        with open(folder / f"{name}.csv", "wb") as file:
            np.savetxt(file, A * size, delimiter=",")
    (folder / "words.csv").write_text("some,words\nand,more\n")
    (folder / "one.csv").write_text("1\n")
    (folder / "wide.svmlight").write_text("1 1:1 99999999999:2\n")
    np.save(folder / "good.npy", A)
    np.save(folder / "single.npy", (1e9 * A).astype(np.float32))
    np.save(folder / "nan.npy", np.where(A > 2, np.nan, A))
    S = csr_array(A * (A > 0))
    save_npz(folder / "good.npz", S)
    bad = {"indices": S.indices + 10**6, "indptr": S.indptr, "data": S.data, "shape": np.array(S.shape)}
    np.savez(folder / "bad.npz", format=np.array(b"csr"), **bad)
    os.mkfifo(folder / "fifo.csv")
    (folder / "folder.npy").mkdir()
    (folder / "loop.csv").symlink_to("loop.csv")
    (folder / "file").write_text("")
    (folder / "quit.py").write_text("import sys\nsys.exit(0)\n")
    (folder / "broken.py").write_text("1 / 0\n")
    (folder / "plain.py").write_text("from orthoprox.solvers import Subgradient\nclass A(Subgradient): pass\n")


@pytest.fixture(scope="module")
def place():
    """A folder of data to work in, without the user's; figures and runs of many processes take too long."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        fill(Path(name))
        patch.chdir(name)
        patch.setenv("XDG_CACHE_HOME", f"{name}/cache")
        patch.setenv("ORTHOPROX_DATA", f"{name}/data")
        patch.setattr("orthoprox.cli.outcome.draw_run", lambda *_: b"a picture")
        patch.setattr("orthoprox.experiments.outputs.draw", lambda *_, **__: [])
        yield Path(name)


numbers = st.sampled_from(NUMBERS)
data = st.one_of(st.sampled_from(FILES[:5] + NAMES[:3]), st.sampled_from(FILES), st.sampled_from(NAMES))
solvers = st.one_of(st.sampled_from(FAST), st.sampled_from(["oadm", "", "OADMM"]))


def options(**values):
    """Some of these options, each with a value."""
    pairs = [st.tuples(st.just("--" + name.replace("_", "-")), value) for name, value in values.items()]
    return st.lists(st.one_of(pairs), max_size=4).map(lambda chosen: [word for pair in chosen for word in pair])


LIMITS = {"components": numbers, "iterations": numbers, "seconds": numbers, "tol": numbers}
COMMON = {"out": st.sampled_from(OUTS), "data_dir": st.sampled_from(["data", "~nobody/x", "file", "good.csv"])}
SOLVE = options(
    **LIMITS,
    **COMMON,
    weight=numbers,
    nonzeros=numbers,
    seed=numbers,
    set=st.sampled_from(SETTINGS),
    solver=solvers,
    prepare=st.sampled_from(["paper", "center", "raw", "none"]),
)
COMPARE = options(
    **LIMITS,
    **COMMON,
    weight=numbers,
    nonzeros=numbers,
    seeds=st.sampled_from(NUMBERS[:2]),
    set=st.sampled_from(SETTINGS),
)
flags = st.sampled_from([[], ["--json"], ["--quiet"], ["--help"], ["--none"], ["-h", "x"]])
END = ["--iterations", "3"]
"""Always last, so that a call that is right ends soon."""


def line(*parts):
    return st.tuples(*parts).map(
        lambda words: [word for part in words for word in ([part] if isinstance(part, str) else part)]
    )


models = st.one_of(st.sampled_from(list(MODELS)), st.just("sparse-pcb"))
solve_lines = line(
    st.just("solve"), models, data, st.just(["--components", "2"]), SOLVE, flags, st.sampled_from([END, END, END, []])
)
few_lines = st.one_of(
    line(st.just("list"), st.sampled_from(["solvers", "models", "datasets", "terms", "walks", ""]), flags),
    line(
        st.just("data"),
        st.sampled_from(["list", "check", "walk"]),
        st.lists(data, max_size=2),
        options(**COMMON),
        flags,
    ),
    line(
        st.just(["data", "fetch"]), st.lists(st.sampled_from(["digits", "randn-3-3", "digitz", ""]), max_size=2), flags
    ),
    line(st.just("demo"), options(**COMMON, components=numbers), st.just(["--iterations", "2"]), flags),
    st.lists(st.sampled_from(["solve", "demo", "--version", "-h", "walk", "", "--", "data", "list", "\0"]), max_size=3),
)
compare_lines = line(
    st.just("compare"),
    data,
    st.lists(st.one_of(solvers, st.sampled_from(PLUGINS)), max_size=2),
    st.just(["--components", "2"]),
    COMPARE,
    flags,
    st.just(["--jobs", "1", *END]),
)
reproduce_lines = line(
    st.just("reproduce"),
    st.sampled_from(["figure1", "theory", "figure9", "all"]),
    options(
        **COMMON, seconds=numbers, seeds=numbers, jobs=numbers, dataset=st.sampled_from(["digitz-9-9", "none.csv", ""])
    ),
    st.just(["--dataset", "mnist-9-9"]),  # which is not there: nothing runs
)


@contextlib.contextmanager
def answer_expected():
    """A command that does not end is an error and not a test without an end."""

    def give_up(*_):
        raise AssertionError(f"There was no answer in {PATIENCE} seconds.")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(call, code, out, err, place):
    """What holds after every command."""
    assert code in CODES and "Traceback" not in err and "Warning" not in err + out
    assert not [file for file in place.rglob("*") if file.suffix == ".part" or file.name.startswith(".probe")]
    if code not in (0, 1) and call[:2] != ["data", "check"]:
        assert "Usage: " in err or ("Error: " in err and err.rstrip().endswith((".", "?"))), err
    if code == 1 and not out:
        assert "Error: " in err
    if code == 0 and call[0] == "solve" and "--json" in call and "-h" not in call:
        summary = json.loads(out)
        folder = next((Path(call[i + 1]) for i in reversed(range(len(call))) if call[i] == "--out"), Path("out"))
        X = np.load(folder / "loadings.npy")
        assert np.isfinite(X).all() and np.abs(X.T @ X - np.eye(X.shape[1])).max() < 1e-6
        assert json.loads((folder / "summary.json").read_text()) == summary


def try_in_process(call, place):
    with answer_expected():
        done = invoke(*call)
    check(call, done.exit_code, done.stdout, done.stderr, place)


@campaign(30)
@given(call=st.one_of(solve_lines, solve_lines, few_lines, reproduce_lines))
def test_a_command_ends_with_a_code_and_a_sentence(call, place):
    try_in_process(call, place)


@campaign(4)
@given(call=compare_lines)
def test_a_comparison_ends_with_a_code_and_a_sentence(call, place):
    try_in_process(call, place)


@campaign(1)
@given(call=st.one_of(solve_lines, few_lines, reproduce_lines).filter(lambda call: "\0" not in call))
def test_a_process_ends_with_a_code_and_a_sentence(call, place):
    done = orthoprox(*call, encoding_errors="surrogateescape")
    check(call, done.returncode, done.stdout, done.stderr, place)
