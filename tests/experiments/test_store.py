"""Result files: complete or absent."""

import numpy as np
import pytest

from orthoprox.experiments.store import Archive, DamagedFile, load, write

ARCHIVE = Archive({"a": 1, "name": "é"}, {"objective": np.linspace(0, 1, 50)}, {"theta": np.arange(5.0)})


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "deep" / "er" / "run.npz"
    write(path, ARCHIVE)
    return path


def test_what_is_written_is_read_and_nothing_is_pickled(path):
    again = load(path)
    assert again.facts == ARCHIVE.facts
    assert set(again.history) == {"objective"} and set(again.theory) == {"theta"}
    assert np.array_equal(again.history["objective"], ARCHIVE.history["objective"])
    assert np.array_equal(again.theory["theta"], ARCHIVE.theory["theta"])
    with pytest.raises(FileNotFoundError):
        load(path.with_name("other.npz"))
    with pytest.raises(ValueError, match="pickle"):
        write(path.parent / "bad" / "run.npz", Archive({}, {"objective": np.array([object()])}, {}))
    assert list((path.parent / "bad").iterdir()) == []


def test_a_cut_file_and_a_changed_byte_are_noticed(path):
    content = path.read_bytes()
    changed = bytearray(content)
    changed[content.index(b"history.objective") + 60] ^= 0xFF
    for damaged in (bytes(changed), *(content[:length] for length in (*range(0, len(content), 97), len(content) - 1))):
        path.write_bytes(damaged)
        with pytest.raises(DamagedFile):
            load(path)


def test_a_missing_column_and_other_archives_are_noticed(path):
    with np.load(path) as archive:
        entries = {name: archive[name] for name in archive.files if name != "theory.theta"}
    for content, sentence in (
        (entries, "contents"),
        ({"x": np.zeros(3)}, "facts"),
        ({"facts": np.array("[1]")}, "TypeError"),
    ):
        np.savez(path, **content)
        with pytest.raises(DamagedFile, match=sentence):
            load(path)
    with path.open("wb") as file:
        np.save(file, np.zeros(3))
    with pytest.raises(DamagedFile):
        load(path)
