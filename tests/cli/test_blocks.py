"""``orthoprox solve`` on a file that is read in blocks."""

import json

import numpy as np
import pytest

from cli.helpers import invoke
from orthoprox import Progress, solve
from orthoprox.blocks import NpyBlocks, Rows, open_rows
from orthoprox.maps import Blocked
from orthoprox.models import sparse_pca

pytestmark = pytest.mark.usefixtures("no_figures")


@pytest.fixture
def file(tmp_path):
    rng = np.random.default_rng(1)
    np.save(tmp_path / "rows.npy", rng.standard_normal((600, 8)) * np.linspace(1, 3, 8) + 3.0)
    return tmp_path / "rows.npy"


def summary(*arguments):
    done = invoke(*arguments, "--json", "--quiet")
    assert (done.exit_code, done.stderr) == (0, "")
    return json.loads(done.stdout)


@pytest.mark.parametrize("prepare", ["center", "paper", "raw"])
def test_a_budget_changes_no_result(file, tmp_path, prepare):
    options = ("solve", "sparse-pca", file, "-r", 2, "--prepare", prepare)
    whole = summary(*options, "--out", tmp_path / "whole")
    parts = summary(*options, "--memory", "40kB", "--out", tmp_path / "parts")
    assert parts["data"]["blocks"] > 10
    for name in ("objective", "variance_explained", "weight"):
        assert parts[name] == pytest.approx(whole[name], rel=1e-10)
    one, other = (np.load(tmp_path / name / "loadings.npy") for name in ("whole", "parts"))
    assert np.abs(one - other).max() < 1e-10


def test_a_run_in_blocks_goes_on_from_its_checkpoint(file, tmp_path):
    options = ("solve", "sparse-pca", file, "-r", 2, "-s", "oadmm-ep", "--tol", 0, "--memory", "40kB")
    whole = summary(*options, "--iterations", 40, "--out", tmp_path / "whole")
    summary(*options, "--iterations", 15, "--out", tmp_path / "part")
    saved = tmp_path / "part" / "checkpoint.npz"
    rest = summary(*options, "--iterations", 40, "--out", tmp_path / "rest", "--resume", saved)
    assert rest["objective"] == whole["objective"]
    assert "resumed at iteration 15" in rest["notes"]
    assert np.array_equal(*(np.load(tmp_path / name / "loadings.npy") for name in ("whole", "rest")))


@pytest.mark.parametrize(
    ("data", "options", "code", "words"),
    [
        ("rows.npy", ("--memory", "plenty"), 2, "memory must be a number of bytes such as 4GB"),
        ("rows.npy", ("--memory", "1kB"), 2, "Raise memory, or store the data in smaller chunks"),
        ("rows.npy", ("--cluster", "tcp://a:1", "--local-workers", 2), 2, "give one of them"),
        ("digits-80-12", ("--memory", "1GB"), 2, "are for files that are read in blocks; given digits-80-12"),
        ("gone.zarr", (), 3, "There is no file or folder"),
    ],
)
def test_mistakes_get_a_sentence(file, tmp_path, monkeypatch, data, options, code, words):
    monkeypatch.chdir(tmp_path)
    done = invoke("solve", "sparse-pca", data, "-r", 2, *options)
    assert done.exit_code == code
    assert words in done.stderr


def test_progress_tells_of_the_traffic(file, capsys):
    rows = open_rows(file, block=4000, form=False)
    bar = Progress(always=True, every=0.0, note=lambda: str(rows.traffic))
    problem = sparse_pca(Blocked(rows, norm=200.0), n_components=2, weight=0.1)
    solve(problem, "oadmm-ep", stop=lambda now: now.t >= 3, observers=[bar])
    told = capsys.readouterr().err
    assert "block 10 of 10, pass" in told and "1 worker" in told and "MB/s" in told


def test_data_that_are_lost_in_a_run_are_said_with_the_checkpoint(file, tmp_path, monkeypatch):
    read, left = NpyBlocks.load, [3000]

    def load(self, i):
        left[0] -= 1
        if left[0] < 0:
            raise OSError("the disk has gone")
        return read(self, i)

    monkeypatch.setattr(NpyBlocks, "load", load)
    monkeypatch.setattr(Rows, "forms", False)  # every product is a pass
    options = ("solve", "sparse-pca", file, "-r", 2, "-s", "oadmm-ep", "--tol", 0, "--memory", "40kB")
    done = invoke(*options, "--out", tmp_path / "part", "--iterations", 400)
    saved = tmp_path / "part" / "checkpoint.npz"
    assert done.exit_code == 1 and saved.exists()
    assert "cannot be read (the disk has gone). Check the storage. Once the data are there" in done.stderr
    assert f"go on with --resume {saved}." in done.stderr
    left[0] = 10**6
    again = invoke(*options, "--out", tmp_path / "rest", "--iterations", 400, "--resume", saved)
    assert again.exit_code == 0 and "resumed at iteration" in again.stdout
