"""``orthoprox list``, the help, and completion."""

import json
import re
import subprocess
import sys

import pytest
from click.shell_completion import ShellComplete

from cli.helpers import invoke, orthoprox
from orthoprox import SOLVERS, terms
from orthoprox.cli.fit.kinds import KINDS
from orthoprox.cli.models import MODELS
from orthoprox.datasets import DATASETS
from orthoprox.experiments import BUILTIN, builtin

WHAT = {"estimators": KINDS, "solvers": SOLVERS, "models": MODELS, "datasets": DATASETS}


@pytest.mark.parametrize("what", WHAT)
def test_a_line_for_each(what):
    done = invoke("list", what)
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert [line.split()[0] for line in lines] == [what[:-1], *WHAT[what]]
    rows = json.loads(invoke("list", what, "--json").stdout)
    assert [row[what[:-1]] for row in rows] == list(WHAT[what])
    assert all(all(row.values()) for row in rows)


def test_solvers_have_their_scope_and_terms_their_kind():
    lines = {line.split()[0]: line for line in invoke("list", "solvers").stdout.splitlines()}
    assert "g, weakly convex h, any A" in lines["oadmm-ep"] and "O(eps^-3)" in lines["oadmm-ep"]
    assert "g*, weakly convex h, any A" in lines["subgradient"]
    rows = {row["term"]: row for row in json.loads(invoke("list", "terms", "--json").stdout)}
    kinds = {"L1": "with a proximal map", "LargestK": "convex, to subtract", "ExplainedVariance": "smooth"}
    assert {name: rows[name]["kind"] for name in kinds} == kinds
    assert set(rows) <= set(terms.__all__) - {"Zero", "envelope"}
    assert not any(set(row["what it is"]) & set("`\\{}") for row in rows.values())
    assert rows["ExplainedVariance"]["what it is"].startswith("The term -w/2 |B(X)|_F^2: ")
    assert "lambda |y| - y^2/(2 gamma) up to gamma lambda," in rows["MCP"]["what it is"]
    assert "w sum_ij log(1 + |y_ij|/epsilon)" in rows["LogSum"]["what it is"]
    assert "w <C, X>" in rows["Linear"]["what it is"] and "for y >= 0" in rows["NegativePart"]["what it is"]


CODES = "Exit codes: 0 converged.* 1 a run failed.* 2 a mistake.* 3 data not.* 4 results.* 130 interrupted"
HELP = {
    **{"": CODES, "demo": "handwritten digits", "list": "orthoprox list", "data": "orthoprox data"},
    **{f"data {name}": f"Example.*orthoprox data {name}" for name in ("list", "fetch", "check")},
    "fit": "".join(f" {name} {kind.summary}.*" for name, kind in KINDS.items()) + f"Example.*orthoprox fit.*{CODES}",
    "fit sparse-pca": "The fit: .*--nonzeros.* The table: .*--missing.* The path: .*--cv.*Example: orthoprox fit",
    "solve": f"orthoprox fit.*Example.*orthoprox solve.*{CODES}",
    "reproduce": "".join(f" {name} {builtin(name).title}.*" for name in BUILTIN)
    + f"Example.*orthoprox reproduce figure1 --quick.*{CODES}",
    "compare": f"Example.*mysolver.py:MySolver.*{CODES}",
}


@pytest.mark.parametrize(("call", "words"), HELP.items())
def test_help_teaches(call, words):
    text = re.sub(r"\s+", " ", invoke(*call.split(), "--help").stdout)
    assert re.match(f"Usage: {' '.join(('command', *call.split()))}.*{words}", text)


def test_the_shell_completes():
    done = orthoprox(env={"_ORTHOPROX_COMPLETE": "bash_complete", "COMP_WORDS": "orthoprox so", "COMP_CWORD": "1"})
    assert done.stdout.split(",")[-1].strip() == "solve"
    assert invoke("--version").stdout.startswith("orthoprox, version 0.")


def offered(words, incomplete=""):
    """What the shell is offered after these words."""
    from orthoprox.cli.main import command

    return [(item.type, item.value) for item in ShellComplete(command, {}, "", "").get_completions(words, incomplete)]


def test_the_shell_offers_datasets_solvers_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.csv", "digits.npy", "notes.txt", "own.py", ".hidden.csv"):
        (tmp_path / name).touch()
    (tmp_path / "cells.zarr").mkdir()
    plain = lambda *names: [("plain", name) for name in names]
    assert offered(["solve", "sparse-pca"], "di") == plain("digits", "digits.npy")
    assert offered(["solve", "sparse-pca"]) == plain(*DATASETS, "cells.zarr", "digits.npy", "mine.csv")
    assert offered(["compare"], "./mi") == [("file", "./mi")]  # the shell knows files and folders itself
    assert offered(["compare", "digits"]) == plain(*SOLVERS, "own.py")
    assert offered(["fit", "sparse-pca", "mine.csv", "--solver"], "oadmm-") == plain(
        *(name for name in SOLVERS if name.startswith("oadmm-"))
    )
    assert offered(["compare", "digits", "oadmm"], "spg") == plain(
        *(name for name in SOLVERS if name.startswith("spg"))
    )
    assert offered(["solve", "sparse-pca", "digits", "--solver"], "radmm") == plain("radmm")
    assert offered(["data", "fetch"], "mn") == offered(["data", "check"], "mn") == plain("mnist")
    assert offered(["reproduce", "figure1", "--dataset"], "td") == plain("tdt2")
    assert offered(["data", "fetch"], "no such") == []


def test_the_package_is_a_command():
    call = [sys.executable, "-m", "orthoprox", "list", "models"]
    done = subprocess.run(call, capture_output=True, encoding="utf-8", check=False)
    assert (done.returncode, done.stdout) == (0, invoke("list", "models").stdout)
    assert (
        "Usage: orthoprox " in subprocess.run([*call[:3], "--help"], capture_output=True, text=True, check=True).stdout
    )
