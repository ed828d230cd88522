"""Ctrl-C gives back what was reached."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from driver.helpers import Watching, with_prox
from orthoprox import Iterations, Recorder, Status, solve
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["l1 minus largest-k"]


@pytest.fixture(autouse=True)
def heard():
    """The signal is heard, although background jobs of a shell ignore it, and what they start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def signalled(at):
    """What happens in the prox: a signal at one of its calls, in the middle of a step or of measuring."""

    def happens(call, y):
        if call == at:
            signal.raise_signal(signal.SIGINT)

    return happens


@pytest.mark.parametrize("call", range(20, 30))
@pytest.mark.parametrize("solver", ["oadmm-ep", "oadmm-rr"])
def test_a_signal_in_the_middle_gives_the_last_whole_state(call, solver):
    whole = solve(with_prox(lambda call, y: None), solver, stop=Iterations(30))
    watch = Watching()
    result = solve(with_prox(signalled(call)), solver, stop=Iterations(30), observers=[watch])
    t = result.iterations
    assert result.status is Status.INTERRUPTED
    assert 0 < t < 30
    assert result.state.t == t
    assert result.history.iteration.tolist() == list(range(t + 1))
    np.testing.assert_array_equal(result.history.objective, whole.history.objective[: t + 1])
    assert result.objective == pytest.approx(whole.history.objective[t], rel=1e-13)
    assert np.isfinite(result.X).all()
    assert np.linalg.norm(result.X.T @ result.X - np.eye(3)) < 1e-12
    assert watch.closed == [t]
    assert not result.converged
    assert "interrupted from the keyboard" in result.message


@pytest.mark.parametrize("t", [0, 9])
@pytest.mark.parametrize(("every", "rows"), [(1, list(range(10))), (5, [0, 5, 9])])
def test_a_signal_in_an_observer_or_a_rule_keeps_that_iteration(t, every, rows):
    def signals(now):
        if now.t == t:
            signal.raise_signal(signal.SIGINT)

    watch, whole = Watching(), solve(PROBLEM, stop=Iterations(t))
    for keywords in ({"observers": [signals, watch]}, {"stop": signals}):
        result = solve(PROBLEM, **{"stop": Iterations(20), "record": Recorder(every=every), **keywords})
        assert (result.status, result.iterations) == (Status.INTERRUPTED, t)
        assert result.history.iteration.tolist() == (rows if t else [0])
        np.testing.assert_array_equal(result.X, whole.X)
    assert watch.seen == list(range(t))
    assert watch.closed == [t]


@pytest.mark.skipif(os.name != "posix", reason="signals to other processes are sent differently elsewhere")
def test_ctrl_c_from_outside(tmp_path):
    script = """
        import numpy as np
        from orthoprox import Checkpoint, Recorder, solve
        from orthoprox.models import sparse_pca

        def tell(now):
            if now.t == 20:
                print("running", flush=True)

        D = np.random.default_rng(0).standard_normal((300, 200))
        problem = sparse_pca(D, n_components=10, weight=0.01)
        watch = [tell, Checkpoint("run.npz", every=10**9)]
        result = solve(problem, stop=lambda now: False, record=Recorder(every=10), observers=watch)
        print(result.status.name, result.iterations, result.state.t, bool(np.isfinite(result.X).all()), flush=True)
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, env=environment) as process:
        try:
            assert process.stdout.readline() == "running\n"
            process.send_signal(signal.SIGINT)
            answer = process.communicate(timeout=120)[0].split()
        finally:
            process.kill()
    assert process.returncode == 0
    assert answer[0] == "INTERRUPTED"
    assert int(answer[1]) == int(answer[2]) >= 20
    assert answer[3] == "True"
    with np.load(tmp_path / "run.npz") as file:
        assert file["history.iteration"][-1] == int(answer[1])
