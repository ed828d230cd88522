"""The command, end to end in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest


def orthoprox(*arguments, **options):
    call = [sys.executable, "-c", "from orthoprox.cli import main; main()", *map(str, arguments)]
    return subprocess.run(call, capture_output=True, text=True, timeout=120, check=False, **options)


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo with space") / "figures"
    return out, orthoprox("demo", "--out", out, "--components", 4, "--iterations", 400)


def test_the_demo_prints_a_table_with_both_methods(demo):
    _, done = demo
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split() for line in done.stdout.splitlines() if line.split()}
    assert {"pca", "oadmm-ep", "oadmm-rr"} <= set(rows)
    header = done.stdout.splitlines()[3]
    for word in ("objective", "primal", "dual", "stationary", "|X'X - I|", "nonzeros", "variance kept", "seconds"):
        assert word in header
    for name in ("oadmm-ep", "oadmm-rr"):
        _, objective, primal, _, _, feasibility, nonzeros, kept, *_ = rows[name]
        assert float(objective) < float(rows["pca"][1])
        assert float(primal) > 0
        assert float(feasibility) < 1e-12
        assert 0 < int(nonzeros) < int(rows["pca"][2])
        assert 20 < float(kept) < 100


def test_the_demo_draws_its_figures(demo):
    out, done = demo
    for name in ("loadings.png", "curves.png"):
        content = (out / name).read_bytes()
        assert content.startswith(b"\x89PNG")
        assert len(content) > 10_000
        assert f"drew {out / name}" in done.stdout


def test_in_a_pipe_there_is_no_bar(demo):
    _, done = demo
    assert "it/s" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("demo", "--components", 0), "Stiefel(n, r) needs 1 <= r <= n"),
        (("demo", "--components", 99), "cannot have 99 orthonormal columns"),
        (("demo", "--iterations", 0), "at least one iteration"),
        (("demo", "--out", __file__), "is a file"),
        (("walk",), "No such command 'walk'"),
    ],
)
def test_a_mistake_gets_a_sentence_and_a_code(tmp_path, arguments, sentence):
    done = orthoprox(*arguments, cwd=tmp_path)
    assert done.returncode not in (0, -1)
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_help_and_version_answer():
    assert "handwritten digits" in re.sub(r"\s+", " ", orthoprox("demo", "--help").stdout)
    assert orthoprox("--version").stdout.startswith("orthoprox, version 0.")
    assert orthoprox("--help").returncode == 0


def test_without_its_library_the_command_names_the_extra():
    code = "import sys; sys.modules['click'] = None; from orthoprox.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "pip install 'orthoprox[cli]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_solvers_are_listed_with_what_they_take():
    from orthoprox import SOLVERS

    done = orthoprox("list", "solvers")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert set(SOLVERS) <= set(lines)
    assert "O(eps^-3)" in lines["oadmm-ep"]
    assert "g, weakly convex h, any A" in lines["oadmm-ep"]
    assert "g*, weakly convex h, any A" in lines["subgradient"]
