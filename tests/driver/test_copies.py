"""What a run is made of and what it leaves can be copied and pickled, and does the same afterwards."""

import copy
import pickle

import numpy as np
import pytest

from driver.helpers import assert_same_run
from orthoprox import Checkpoint, Critical, Iterations, Progress, Recorder, RunFailed, Seconds, Stalled, Status, solve
from orthoprox.solvers import SOLVERS
from steps.cases import PROBLEMS
from steps.checks import takes

PROBLEM = PROBLEMS["l1 minus largest-k"]
COPIES = {"pickle": lambda thing: pickle.loads(pickle.dumps(thing)), "deepcopy": copy.deepcopy}


@pytest.fixture(params=COPIES)
def twin(request):
    return COPIES[request.param]


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems(twin, name):
    run = {"solver": "oadmm-ep", "stop": Iterations(3)}
    assert_same_run(solve(twin(PROBLEMS[name]), **run), solve(PROBLEMS[name], **run))


@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_results_and_snapshots(twin, name):
    problem, seen = next(p for p in PROBLEMS.values() if takes(SOLVERS[name], p)), []
    whole = solve(problem, twin(SOLVERS[name]), stop=Iterations(6))
    part = solve(problem, name, stop=Iterations(3), observers=[seen.append])
    again, now = twin(part), twin(seen[-1])
    assert_same_run(again, part)
    assert (repr(again), again.solver, again.status) == (repr(part), part.solver, part.status)
    assert (now.objective, now.criticality, now.t) == (seen[-1].objective, seen[-1].criticality, 3)
    assert now.recent("objective", 4) == part.history.objective.tolist()
    np.testing.assert_array_equal(solve(problem, again.solver, stop=Iterations(6), resume=again.state).X, whole.X)


def test_those_who_watch(twin, tmp_path):
    stop = (Iterations(9) | Critical(1e-9) | Seconds(1e9)) & Stalled(1.0, window=3)
    watch = [Checkpoint(tmp_path / "run.npz", every=2), Progress(label="mine")]
    run = {"solver": "oadmm-ep", "stop": stop, "record": Recorder(every=2), "observers": watch}
    assert twin(stop) == stop
    first = solve(PROBLEM, **run)
    second = solve(PROBLEM, **{name: twin(part) for name, part in run.items()})  # used before, and used again
    assert_same_run(second, first)
    assert_same_run(solve(PROBLEM, "oadmm-ep", stop=stop, record=Recorder(every=2), resume=watch[0].path), first)


def test_a_failure_keeps_its_result(twin):
    with pytest.raises(RunFailed) as caught:
        solve(PROBLEM, observers=[lambda now: 1 / 0])
    again = twin(caught.value)
    assert str(again) == str(caught.value)
    assert (again.result.iterations, again.result.status) == (0, Status.FAILED)
