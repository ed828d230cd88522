"""Result files: whole or not there."""

from __future__ import annotations

import os

import numpy as np
import pytest

from orthoprox.experiments.store import Archive, DamagedFile, load, write

ARCHIVE = Archive({"a": 1, "name": "é"}, {"objective": np.linspace(0, 1, 50)}, {"theta": np.arange(5.0)})


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "deep" / "er" / "run.npz"
    write(path, ARCHIVE)
    again = load(path)
    assert again.facts == ARCHIVE.facts
    assert np.array_equal(again.history["objective"], ARCHIVE.history["objective"])
    assert np.array_equal(again.theory["theta"], ARCHIVE.theory["theta"])
    assert set(again.history) == {"objective"} and set(again.theory) == {"theta"}


def test_nothing_in_it_is_pickled(tmp_path):
    with pytest.raises(ValueError, match="pickle"):
        write(tmp_path / "run.npz", Archive({}, {"objective": np.array([object()])}, {}))
    assert list(tmp_path.iterdir()) == []


def test_a_cut_file_is_noticed_wherever_it_is_cut(tmp_path):
    path = tmp_path / "run.npz"
    write(path, ARCHIVE)
    content = path.read_bytes()
    for length in (*range(0, len(content), 97), len(content) - 1):
        path.write_bytes(content[:length])
        with pytest.raises(DamagedFile):
            load(path)


def test_a_changed_byte_in_the_numbers_is_noticed(tmp_path):
    path = tmp_path / "run.npz"
    write(path, ARCHIVE)
    content = bytearray(path.read_bytes())
    at = content.index(b"history.objective") + 60
    content[at] ^= 0xFF
    path.write_bytes(content)
    with pytest.raises(DamagedFile):
        load(path)


def test_a_missing_column_and_other_archives_are_noticed(tmp_path):
    path = tmp_path / "run.npz"
    write(path, ARCHIVE)
    with np.load(path) as archive:
        entries = {name: archive[name] for name in archive.files}
    del entries["theory.theta"]
    np.savez(path, **entries)
    with pytest.raises(DamagedFile, match="contents"):
        load(path)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(DamagedFile):
        load(path)
    np.savez(path, facts=np.array("[1]"))
    with pytest.raises(DamagedFile):
        load(path)
    np.save(tmp_path / "array.npy", np.zeros(3))
    os.replace(tmp_path / "array.npy", path)
    with pytest.raises(DamagedFile):
        load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "other.npz")


def test_what_an_earlier_attempt_left_is_removed_and_other_runs_are_not(tmp_path):
    path = tmp_path / "run.npz"
    names = ["run.npz.123.part", "run.npz.456.part", "another.npz.123.part"]
    for name in names:
        (tmp_path / name).write_bytes(b"half")
        os.utime(tmp_path / name, (1e9, 1e9))
    os.utime(tmp_path / names[1])  # this one is being written
    write(path, ARCHIVE)
    assert sorted(p.name for p in tmp_path.iterdir()) == [names[2], "run.npz", names[1]]


def test_a_failed_write_leaves_the_old_result(tmp_path, monkeypatch):
    path = tmp_path / "run.npz"
    write(path, ARCHIVE)

    def full(_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        write(path, Archive({"a": 2}, {}, {}))
    assert load(path).facts["a"] == 1
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
