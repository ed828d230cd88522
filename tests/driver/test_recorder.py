"""What is recorded, and the history it becomes."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from orthoprox import History, Iterations, Recorder, RunFailed, solve
from orthoprox.problem import criticality, sparsity
from steps.cases import PROBLEMS
from steps.checks import count_calls

PROBLEM = PROBLEMS["groups of a matrix"]
CRITICALITY = ["criticality", "primal", "dual", "stationarity"]
COLUMNS = ["iteration", "seconds", "objective", *CRITICALITY, "infeasibility", "sparsity"]


def test_every_iteration_has_a_row_with_what_is_measured_at_its_state():
    states = []
    result = solve(PROBLEM, "oadmm-ep", stop=Iterations(5), observers=[lambda now: states.append(now.state)])
    solver, history = result.solver, result.history
    assert list(history) == COLUMNS and all(len(column) == 6 for column in history.values())
    assert history.iteration.tolist() == list(range(6)) and np.issubdtype(history.iteration.dtype, np.integer)
    assert (np.diff(history.seconds) > 0).all()
    for i, state in enumerate(states):
        certificate = solver.certificate(PROBLEM, state)
        parts = criticality(PROBLEM, certificate)
        row = {name: column[i] for name, column in history.items()}
        assert row["objective"] == PROBLEM.objective(state.now.X)
        assert (row["primal"], row["dual"], row["stationarity"]) == tuple(parts)
        assert row["criticality"] == parts.primal + parts.dual + parts.stationarity
        assert row["infeasibility"] == pytest.approx(np.linalg.norm(state.now.X.T @ state.now.X - np.eye(3)))
        assert row["sparsity"] == sparsity(state.now.X)
    assert len(states) == 6


@pytest.mark.parametrize("last", [20, 21, 23])
def test_the_last_iteration_is_always_recorded_and_never_twice(last):
    often = solve(PROBLEM, "oadmm-ep", stop=Iterations(last)).history
    result = solve(PROBLEM, "oadmm-ep", stop=Iterations(last), record=Recorder(every=7))
    rows = [0, 7, 14] + ([21] if last >= 21 else []) + ([last] if last % 7 else [])
    assert result.history.iteration.tolist() == rows
    np.testing.assert_array_equal(result.history.objective, often.objective[rows])
    assert result.history.objective[-1] == result.objective


def test_between_records_nothing_is_measured(monkeypatch):
    calls = count_calls(monkeypatch, type(PROBLEM), "objective")
    solve(PROBLEM, "oadmm-ep", stop=Iterations(40), record=Recorder(every=10))
    assert len(calls) == 5 + 1  # the result is measured afresh


def test_columns_of_the_users_own():
    record = Recorder(every=2, extra={"norm": lambda now: np.sum(now.state.z**2), "twice": lambda now: 2 * now.t})
    history = solve(PROBLEM, "oadmm-ep", stop=Iterations(4), record=record).history
    assert list(history) == [*COLUMNS, "norm", "twice"]
    assert history.twice.tolist() == [0, 4, 8]
    assert history.norm[0] == 0 < history.norm[-1]
    assert history.norm.dtype == np.float64
    with pytest.raises(ValueError, match="A recorder needs every >= 1; given 0"):
        Recorder(every=0)


@pytest.mark.parametrize("value", [None, "many", np.ones(3), object()])
def test_a_column_that_is_no_number_is_refused_and_the_run_is_kept(value):
    record = Recorder(extra={"odd": lambda now: value if now.t == 3 else 0.0})
    with pytest.raises(RunFailed, match=r"The column 'odd' of a recorder must be a number; given \w+\.") as caught:
        solve(PROBLEM, "oadmm-ep", stop=Iterations(9), record=record)
    result = caught.value.result
    assert result.iterations == 3
    assert result.history.iteration.tolist() == [0, 1, 2]
    assert all(len(column) == 3 for column in result.history.values())
    assert result.objective == PROBLEM.objective(result.X)
    assert result.y is not None


def test_a_recorder_begins_afresh_with_every_run():
    record = Recorder(every=2)
    first = solve(PROBLEM, "oadmm-ep", stop=Iterations(6), record=record)
    second = solve(PROBLEM, "oadmm-ep", stop=Iterations(4), record=record)
    assert second.history.iteration.tolist() == [0, 2, 4]
    assert first.history.iteration.tolist() == [0, 2, 4, 6]
    third = solve(PROBLEM, "oadmm-ep", stop=Iterations(8), record=record, resume=first.state)
    assert third.history.iteration.tolist() == [6, 8]


def test_a_history_is_a_mapping_and_has_attributes():
    history = History({"iteration": [0, 1], "objective": [2.0, 1.5]})
    assert dict(history).keys() == {"iteration", "objective"}
    assert len(history) == 2
    assert "objective" in history
    assert isinstance(history["objective"], np.ndarray)
    assert history.objective is history["objective"]
    assert history.objective.tolist() == [2.0, 1.5]
    assert repr(history) == "History(2 records of iteration, objective)"
    assert repr(History()) == "History(0 records of )"
    with pytest.raises(KeyError):
        history["nothing"]
    with pytest.raises(AttributeError, match="No column 'nothing' was recorded; there are iteration, objective"):
        history.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="there are none"):
        History().objective  # noqa: B018


def test_a_history_becomes_a_data_frame_and_without_pandas_the_extra_is_named(monkeypatch):
    pandas = pytest.importorskip("pandas")
    history = solve(PROBLEM, "oadmm-ep", stop=Iterations(3)).history
    frame = history.frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == COLUMNS
    assert frame["objective"].tolist() == history.objective.tolist()
    monkeypatch.setitem(sys.modules, "pandas", None)
    sentence = r"A history as a data frame needs pandas, which is not installed: pip install 'orthoprox\[pandas\]'"
    with pytest.raises(ModuleNotFoundError, match=sentence):
        history.frame()
