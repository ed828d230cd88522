"""Every file that the library writes is whole, and nothing is left beside it for good."""

import subprocess
import sys

import numpy as np
import pytest

from orthoprox import Checkpoint, Iterations, solve
from orthoprox._files import replacing, write_text
from orthoprox.experiments import store
from orthoprox.experiments.gather import MANIFEST, add_to_manifest
from steps.cases import PROBLEMS


def write_checkpoint(path):
    solve(PROBLEMS["entries"], "oadmm-ep", stop=Iterations(2), observers=[Checkpoint(path)])


WRITERS = {
    "run.npz": write_checkpoint,
    "job.npz": lambda path: store.write(path, store.Archive({"a": 1}, {"x": np.zeros(3)}, {})),
    MANIFEST: lambda path: add_to_manifest(path.parent, []),
    "table.md": lambda path: write_text(path, "table"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_what_a_killed_process_left_is_removed_by_the_next_write(tmp_path, name):
    path = tmp_path / name
    others = [tmp_path / f"{other}.part" for other in (f"{name}.bak.0123abcd", "other.0123abcd", name, f"{name}.123")]
    mine = [tmp_path / f"{name}.{token}.part" for token in ("0123abcd", "ffffffff")]
    for side in (*mine, *others):
        side.write_bytes(b"half of a file")
    WRITERS[name](path)
    assert sorted(tmp_path.iterdir()) == sorted([path, *others])


@pytest.mark.posix  # elsewhere an open file cannot be removed at all
def test_what_another_process_is_writing_stays(tmp_path):
    path = tmp_path / "file"
    script = f"""
import sys, time
from pathlib import Path
from orthoprox._files import replacing
with replacing(Path({str(path)!r})) as file:
    print("writing", flush=True)
    sys.stdin.readline()
    file.write(b"its")
"""
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        write_text(path, "mine")
        assert path.read_bytes() == b"mine"
        assert len(list(tmp_path.iterdir())) == 2
        process.communicate("now\n")
    assert process.returncode == 0
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"its"


@pytest.mark.parametrize("where", [None, "os.fsync", "os.replace"])
@pytest.mark.parametrize("error", [OSError("No space left on device"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, error, where):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_):
        raise error

    def write():
        with replacing(path) as file:
            file.write(b"half")
            if where is None:
                fail()

    if where is not None:
        monkeypatch.setattr(where, fail)
    with pytest.raises(type(error)):
        write()
    assert [(p.name, p.read_bytes()) for p in tmp_path.iterdir()] == [("file", b"old")]
