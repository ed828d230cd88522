"""The file of a checkpoint: whole or not there, and without pickle."""

import os
import pickle

import numpy as np
import pytest

from driver.helpers import read, seal
from orthoprox import Checkpoint, Iterations, RunFailed, solve
from steps.cases import PROBLEMS

PROBLEM = PROBLEMS["l1 minus largest-k"]


@pytest.fixture
def file(tmp_path):
    solve(PROBLEM, stop=Iterations(5), observers=[Checkpoint(tmp_path / "run.npz")])
    return tmp_path / "run.npz"


def times_written(monkeypatch):
    """The iterations at which a file is written, as they come."""
    from orthoprox.driver import checkpoint

    times, save = [], checkpoint.save
    monkeypatch.setattr(checkpoint, "save", lambda path, now, problem: times.append(now.t) or save(path, now, problem))
    return times


@pytest.mark.parametrize(("last", "times"), [(30, [10, 20, 30]), (34, [10, 20, 30, 34]), (4, [4]), (0, [0])])
def test_it_is_written_when_due_and_at_the_end_and_never_twice(tmp_path, monkeypatch, last, times):
    written = times_written(monkeypatch)
    solve(PROBLEM, stop=Iterations(last), observers=[Checkpoint(tmp_path / "run.npz", every=10)])
    assert written == times
    assert os.listdir(tmp_path) == ["run.npz"]


def test_it_is_read_without_pickle(file, monkeypatch):  # so nothing in it is pickled
    asked, original = [], np.load
    monkeypatch.setattr(np, "load", lambda *a, **k: asked.append(k["allow_pickle"]) or original(*a, **k))
    monkeypatch.setattr(pickle, "load", lambda *a, **k: pytest.fail("pickle was asked"))
    monkeypatch.setattr(pickle, "loads", lambda *a, **k: pytest.fail("pickle was asked"))
    solve(PROBLEM, stop=Iterations(7), resume=file)
    assert asked == [False]


def test_an_array_that_stands_in_two_places_is_one_again(file):
    restored = solve(PROBLEM, stop=Iterations(5), resume=file).state.best.point
    assert restored.X is restored.AX  # A is the identity here


def test_a_crash_while_writing_leaves_the_old_file_and_names_the_cause(file, monkeypatch):
    before = file.read_bytes()

    def crash(*args, **kwargs):
        args[0].write(b"half of a file")
        raise OSError("No space left on device")

    monkeypatch.setattr("numpy.savez", crash)
    with pytest.raises(RunFailed, match="WriteFailed.*No space left on device") as caught:
        solve(PROBLEM, stop=Iterations(20), observers=[Checkpoint(file, every=10)])
    assert isinstance(caught.value.__cause__, OSError) and caught.value.result.iterations == 10
    assert (file.read_bytes(), os.listdir(file.parent)) == (before, ["run.npz"])


def test_missing_truncated_changed_and_foreign_files_are_refused(file, tmp_path):
    def refused(path, reason="is not a checkpoint, or is damaged"):
        with pytest.raises(ValueError, match=f"{path.name} {reason}"):
            solve(PROBLEM, resume=path)

    (entries, meta), whole = read(file), file.read_bytes()
    for changed in ({**meta, "format": 1}, [1, 2]):
        seal(file, entries, changed)
        refused(file, r"has another format than this version reads \(format 3\)")
    file.write_bytes(whole)
    with np.load(file) as content:
        entries = dict(content)
    for name in ("array2", "history.dual", "digest"):
        np.savez(file, **{other: array for other, array in entries.items() if other != name})
        refused(file, "is not a checkpoint, or is damaged .it was changed after it was written")
    for length in (0, 1, 30, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:length])
        refused(file)
    text, array, pickled, archive = (tmp_path / name for name in ("a.txt", "a.npy", "a.pkl", "a.npz"))
    text.write_text("not an archive")
    np.save(array, np.ones(3))
    pickled.write_bytes(pickle.dumps({"t": 3}))
    for path in (text, array, pickled, tmp_path):
        refused(path)
    for content in ({"X": np.ones(3)}, {"meta": np.array([{"t": 1}], dtype=object)}):
        np.savez(archive, **content)
        refused(archive)
    with pytest.raises(FileNotFoundError, match=r"There is no checkpoint at .*none\.npz\."):
        solve(PROBLEM, resume=tmp_path / "none.npz")


def test_a_checkpoint_is_refused_before_the_run_if_it_could_never_be_written(tmp_path):
    with pytest.raises(ValueError, match="A checkpoint needs an existing folder; given .*run.npz in .*nowhere"):
        Checkpoint(tmp_path / "nowhere" / "run.npz")
    with pytest.raises(ValueError, match="A checkpoint needs every >= 1; given 0"):
        Checkpoint(tmp_path / "run.npz", every=0)
