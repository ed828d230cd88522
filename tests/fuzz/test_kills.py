"""Runs that are killed or interrupted at any moment: resuming gives the answer of a run that was left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from driver.helpers import assert_same_run
from fuzz.campaign import campaign
from orthoprox import Checkpoint, Iterations, Recorder, solve
from orthoprox.driver.checkpoint import load
from steps.cases import PROBLEMS

pytestmark = pytest.mark.posix  # processes are killed differently elsewhere
KILL = getattr(signal, "SIGKILL", None)

RUNS = {
    "oadmm": "groups of a matrix",
    "oadmm-ep": "l1 minus largest-k",
    "oadmm-rr": "mcp of differences",
    "manial-1": "entries",
    "madmm": "own function",
    "spgm-ep": "stacked",
    "radmm": "scad minus largest-k",
    "subgradient": "plain l1, centred",
}
EVERY = 2  # so often that many are struck while they write

SERVER = """
import os, signal, sys
from pathlib import Path
from orthoprox import Checkpoint, Recorder, solve
from steps.cases import PROBLEMS

signal.signal(signal.SIGINT, signal.default_int_handler)
for line in sys.stdin:  # each run in a process of its own, which need not import anything
    solver, problem, file, every = line.rstrip("\\n").split("|")
    child = os.fork()
    if not child:
        said = []
        def tell(now):
            if not said:
                said.append(os.write(1, f"{os.getpid()}\\n".encode()))
        watch = [tell, Checkpoint(Path(file), every=int(every))]
        resume = file if Path(file).exists() else None
        result = solve(PROBLEMS[problem], solver, stop=lambda now: False, record=Recorder(every=5),
                       observers=watch, resume=resume)
        os._exit(0 if result.status.name == "INTERRUPTED" and result.iterations == result.state.t else 1)
    print("ended", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def server():
    """A process that starts runs; what it starts is killed, never itself."""
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    with process:
        yield process
        process.stdin.close()


def strike(server, solver, file, sign, after):
    """Start or resume a run, send it a signal after so many seconds, and wait for its end."""
    server.stdin.write(f"{solver}|{RUNS[solver]}|{file}|{EVERY}\n")
    server.stdin.flush()
    child = server.stdout.readline().strip()
    assert child.isdigit(), child  # else the run ended before its first iteration
    time.sleep(after)
    os.kill(int(child), sign)
    ended, code = server.stdout.readline().split()
    assert (ended, int(code)) == ("ended", -sign if sign == KILL else 0)


@campaign(4)
@given(
    solver=st.sampled_from(sorted(RUNS)),
    strikes=st.lists(
        st.tuples(st.sampled_from([KILL, KILL, signal.SIGINT]), st.floats(0, 0.1)),
        min_size=1,
        max_size=3,
    ),
)
def test_a_run_that_was_killed_goes_on_bit_for_bit(server, solver, strikes):
    problem = PROBLEMS[RUNS[solver]]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.npz"
        for sign, after in strikes:
            strike(server, solver, file, sign, after)
            if sign == signal.SIGINT:
                assert os.listdir(folder) == ["run.npz"]
        t = load(file).t if file.exists() else 0
        run = {"stop": Iterations(t + 3), "record": Recorder(every=5)}
        resume = file if file.exists() else None
        rest = solve(problem, solver, observers=[Checkpoint(file)], resume=resume, **run)
        assert os.listdir(folder) == ["run.npz"]
        assert load(file).t == rest.iterations == t + 3
    assert_same_run(rest, solve(problem, solver, **run))
