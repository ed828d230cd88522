"""``orthoprox list``, the help, and completion."""

from __future__ import annotations

import json
import re

import pytest

from cli.helpers import into_a_closed_pipe, invoke, orthoprox
from orthoprox import SOLVERS, terms
from orthoprox.cli.models import MODELS
from orthoprox.datasets import DATASETS

WHAT = {"solvers": SOLVERS, "models": MODELS, "datasets": DATASETS}


@pytest.mark.parametrize("what", WHAT)
def test_a_line_for_each(what):
    done = invoke("list", what)
    lines = done.stdout.splitlines()
    assert done.exit_code == 0
    assert [line.split()[0] for line in lines[1:]] == list(WHAT[what])
    assert lines[0].split()[0] == what[:-1]
    rows = json.loads(invoke("list", what, "--json").stdout)
    assert [row[what[:-1]] for row in rows] == list(WHAT[what])
    assert all(all(row.values()) for row in rows)


def test_every_term_with_its_kind():
    rows = {row["term"]: row for row in json.loads(invoke("list", "terms", "--json").stdout)}
    assert {"L1", "LargestK", "ExplainedVariance"} <= set(rows) <= set(terms.__all__)
    assert rows["L1"]["kind"] == "with a proximal map"
    assert rows["LargestK"]["kind"] == "convex, to subtract"
    assert rows["ExplainedVariance"]["kind"] == "smooth"
    assert "Zero" not in rows and "envelope" not in rows
    assert not any("`" in row["what it is"] for row in rows.values())


def test_an_unknown_list():
    done = invoke("list", "walks")
    assert done.exit_code == 2 and "'walks' is not one of" in done.stderr


@pytest.mark.parametrize(
    "call", [(), ("solve",), ("list",), ("data",), ("data", "list"), ("data", "fetch"), ("data", "check")]
)
def test_help_teaches(call):
    text = re.sub(r"\s+", " ", invoke(*call, "--help").stdout)
    assert text.startswith(f"Usage: {' '.join(('command', *call))}")
    if call:
        assert f"orthoprox {' '.join(call)}" in text.partition("Example")[2]
    if call == ("solve",):
        assert re.search("0 converged.* 1 the run failed.* 2 a mistake.* 3 data not available", text)


def test_the_shell_completes():
    done = orthoprox(env={"_ORTHOPROX_COMPLETE": "bash_complete", "COMP_WORDS": "orthoprox so", "COMP_CWORD": "1"})
    assert done.stdout.split(",")[-1].strip() == "solve"


def test_a_pipe_that_closes_early_is_no_traceback():
    assert into_a_closed_pipe("list", "solvers")[1] == ""
