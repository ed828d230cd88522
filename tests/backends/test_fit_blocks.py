"""``orthoprox fit`` with --cluster, --local-workers and --memory, on every kind of file that is read in blocks."""

import csv
import multiprocessing

import numpy as np
import pytest
from scipy.sparse import csr_array, save_npz

from backends.needs import need
from backends.test_cluster import started
from cli.helpers import invoke
from orthoprox import SparsePCA

pytestmark = pytest.mark.backends
RNG = np.random.default_rng(5)
D = RNG.standard_normal((360, 2)) @ np.repeat(np.eye(2), 4, axis=1) * 3 + RNG.standard_normal((360, 8)) + 2
S = csr_array(np.where(RNG.random(D.shape) < 0.5, D, 0))
PARTS = 12  # so that the names of files are not in the order of their numbers


def write_npy(folder, request):
    np.save(folder / "rows.npy", D)
    return folder / "rows.npy", D


def write_npz(folder, request):
    """A folder of sparse files."""
    (folder / "parts").mkdir()
    for k, rows in enumerate(np.split(np.arange(len(D)), PARTS)):
        save_npz(folder / "parts" / f"part{k}.npz", S[rows])
    return folder / "parts", S


def write_zarr(folder, request):
    need("zarr", request.config).save_array(str(folder / "rows.zarr"), D)
    return folder / "rows.zarr", D


def write_parquet(folder, request):
    """A folder as Dask writes it, with single precision in its first file only."""
    need("pyarrow", request.config)
    import pandas

    (folder / "parts").mkdir()
    for k, rows in enumerate(np.split(D, PARTS)):
        frame = pandas.DataFrame(rows, columns=[f"g{j}" for j in range(8)])
        (frame.round().astype("float32") if k == 0 else frame).to_parquet(folder / "parts" / f"part.{k}.parquet")
    return folder / "parts", np.concatenate([D[:30].round(), D[30:]])


def write_h5ad(folder, request):
    h5py = need("h5py", request.config)
    with h5py.File(folder / "cells.h5ad", "w") as file:
        X = file.create_group("X")
        X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", S.shape
        X["data"], X["indices"], X["indptr"] = S.data, S.indices, S.indptr
        for part, words in (("var", [f"gene{j}" for j in range(8)]), ("obs", [f"cell{i}" for i in range(len(D))])):
            group = file.create_group(part)
            group.attrs["_index"] = "names"
            group["names"] = np.array(words, dtype=h5py.string_dtype())
    return folder / "cells.h5ad", S


@pytest.fixture(scope="module")
def address(request):
    with started(request.config, 2, processes=False) as (cluster, _):
        yield cluster.scheduler_address


@pytest.mark.parametrize("write", [write_npy, write_npz, write_zarr, write_parquet, write_h5ad])
@pytest.mark.parametrize("option", ["--cluster", "--memory"])
def test_a_file_is_fitted_as_in_memory(write, option, address, tmp_path, monkeypatch, request):
    monkeypatch.setattr("orthoprox.cli.fit.outcome.draw_pictures", lambda _: {})
    path, data = write(tmp_path, request)
    words = ("fit", "sparse-pca", path, "-r", 2, "-k", 8, "--out", tmp_path / "out")
    done = invoke(*words, option, {"--cluster": address, "--memory": "200kB"}[option])
    assert (done.exit_code, done.stderr) == (0, "")
    model = SparsePCA(2, n_nonzero=8, scale="standard", random_state=0).fit(data)
    for name, wanted in (("loadings", model.components_.T), ("scores", model.transform(data))):
        with (tmp_path / "out" / f"{name}.csv").open(newline="") as file:
            _, *lines = csv.reader(file)
        assert np.abs(np.array([line[1:] for line in lines], dtype=float) - wanted).max() < 1e-10
    assert lines[-1][0] == ("cell359" if write is write_h5ad else "360")
    refused = invoke(*words, option, {"--cluster": address, "--memory": "200kB"}[option], "--overwrite", "--cv", 3)
    assert refused.exit_code == 2 and "no path of data in blocks" in refused.stderr


def test_workers_of_this_machine_are_started_and_ended(tmp_path, monkeypatch, request):
    need("distributed", request.config)
    monkeypatch.setattr("orthoprox.cli.fit.outcome.draw_pictures", lambda _: {})
    path, _ = write_npy(tmp_path, request)
    before = set(multiprocessing.active_children())
    done = invoke("fit", "sparse-pca", path, "-r", 2, "-k", 8, "--local-workers", 1, "--out", tmp_path / "out")
    assert (done.exit_code, done.stderr) == (0, "")
    assert "8 of 16 loadings nonzero" in done.stdout and "The table was read in" in done.stdout
    assert not set(multiprocessing.active_children()) - before


def test_a_cluster_that_is_not_there_gets_a_sentence(tmp_path, request, monkeypatch):
    need("distributed", request.config)
    monkeypatch.setattr("orthoprox.blocks._cluster.CONNECT", 0.5)
    path, _ = write_npy(tmp_path, request)
    done = invoke("fit", "sparse-pca", path, "--cluster", "tcp://127.0.0.1:1", "--out", tmp_path / "out")
    assert done.exit_code == 1 and "There is no scheduler at tcp://127.0.0.1:1" in done.stderr
    assert not (tmp_path / "out").exists()
