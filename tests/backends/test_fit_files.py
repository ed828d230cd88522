"""``orthoprox fit`` on the files of other libraries, and on their arrays."""

import csv

import numpy as np
import pandas
import pytest
from scipy.sparse import csr_array

import orthoprox
from backends.needs import need
from cli import messy
from cli.helpers import invoke

pytestmark = pytest.mark.backends
NAMES = ["a", "b", "c", "d", "e"]


@pytest.fixture
def frame(monkeypatch):
    monkeypatch.setattr("orthoprox.cli.fit.outcome.draw_pictures", lambda _: {})
    X = messy.numbers()
    return pandas.DataFrame({name: X[:, j] for j, name in enumerate(NAMES)}, index=[f"p{i}" for i in range(len(X))])


def loadings(path, *options):
    done = invoke("fit", "sparse-pca", path, "-k", 4, "--no-path", "--out", path.parent / "out", *options)
    assert done.exit_code == 0, done.stderr
    with (path.parent / "out" / "loadings.csv").open(newline="") as file:
        _, *lines = csv.reader(file)
    with (path.parent / "out" / "scores.csv").open(newline="") as file:
        index = [line[0] for line in csv.reader(file)][1:]
    return [line[0] for line in lines], np.array([line[1:] for line in lines], dtype=float), index, done.stdout


def wanted(frame):
    return orthoprox.SparsePCA(n_nonzero=4, scale="standard", random_state=0).fit(frame).components_.T


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_columns_of_arrow(ending, frame, tmp_path, request):
    pyarrow = need("pyarrow", request.config)
    full = frame.assign(kind=pandas.Categorical(["u", "v", "w"] * 8), day=pandas.Timestamp("2024-01-01"))
    path = tmp_path / f"t.{ending}"
    if ending == "parquet":
        full.to_parquet(path)
    elif ending == "feather":
        full.rename_axis("who").reset_index().to_feather(path)
    else:
        table = pyarrow.Table.from_pandas(full)
        with pyarrow.ipc.new_stream(str(path), table.schema) as stream:
            stream.write_table(table)
    names, found, index, said = loadings(path)
    assert names == NAMES and np.array_equal(found, wanted(frame)) and index == list(frame.index)
    assert "'kind' (text), 'day' (dates)" in said
    path.write_bytes(b"a,b\n1,2\n")
    done = invoke("fit", "sparse-pca", path, "--out", tmp_path / "none")
    assert done.exit_code == 3 and f"cannot be read as .{ending}" in done.stderr and not (tmp_path / "none").exists()


def test_nullable_columns_have_gaps(frame, tmp_path, request):
    need("pyarrow", request.config)
    frame.assign(n=pandas.array([1, None, 4] * 8, dtype="Int64")).to_parquet(tmp_path / "t.parquet")
    done = invoke("fit", "sparse-pca", tmp_path / "t.parquet", "--out", tmp_path / "out")
    assert done.exit_code == 2 and "'n' 8 (first row 3, column G)" in done.stderr


@pytest.mark.parametrize("sparse", [True, False])
def test_annotated_data_keep_their_names(sparse, frame, tmp_path, request):
    h5py = need("h5py", request.config)
    A = messy.counts(tmp_path / "c.mtx")[:, :4]
    with h5py.File(tmp_path / "c.h5ad", "w") as file:
        if sparse:
            rows, columns = np.nonzero(A)
            X = file.create_group("X")
            X.attrs["encoding-type"], X.attrs["shape"] = "csr_matrix", A.shape
            X["data"], X["indices"] = A[rows, columns], columns
            X["indptr"] = np.concatenate([[0], np.cumsum(np.count_nonzero(A, axis=1))])
        else:
            file["X"] = A
        for part, words in (("var", [f"gene{j}" for j in range(4)]), ("obs", [f"cell{i}" for i in range(len(A))])):
            group = file.create_group(part)
            group.attrs["_index"] = "names"
            group["names"] = np.array(words, dtype=h5py.string_dtype())
    names, found, index, _ = loadings(tmp_path / "c.h5ad")
    assert names == [f"gene{j}" for j in range(4)] and index[:2] == ["cell0", "cell1"]
    assert np.array_equal(found, wanted(csr_array(A) if sparse else A))


def test_arrays_of_torch(frame, tmp_path, request):
    need("torch", request.config)
    frame.to_csv(tmp_path / "t.csv")
    names, found, _, said = loadings(tmp_path / "t.csv", "--library", "torch")
    assert names == NAMES and np.allclose(found, wanted(frame), rtol=0, atol=1e-10)
    assert "standardised features" in said


def test_pictures_of_a_fit_by_torch(tmp_path, request):
    need("torch", request.config)
    np.save(tmp_path / "t.npy", messy.numbers())
    done = invoke("fit", "sparse-pca", tmp_path / "t.npy", "-k", 4, "--library", "torch", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "out" / "path.png").exists()
