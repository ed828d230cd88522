"""A user's own files."""

import gzip
import io
import os

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

from orthoprox.datasets import DataDamaged, DataUnavailable, read_matrix

A = np.array([[0.0, 1.5, 2.0], [3.0, 0.0, 0.0]])


MARKET = b"%%%%MatrixMarket matrix coordinate %s\n% a comment\n\n".replace(b"% a", b"%% a")
HEADER = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 3000000), }".ljust(117)
HEADER = b"\x93NUMPY\x01\0v\0" + HEADER + b"\n"
LINES = "1 2:1.5 3:2\n1 1:3\n"
SAVE = {
    "a.npy": lambda file: np.save(file, A),
    "one.npz": lambda file: np.savez(file, anything=A),
    "X.npz": lambda file: np.savez(file, first=2 * A, X=A, y=np.ones(2)),
    "sparse.npz": lambda file: save_npz(file, csr_array(A)),
    "triples.npz": lambda file: save_npz(file, coo_array(A)),
    "a.csv": lambda file: np.savetxt(file, A, delimiter=","),
    "A.CSV": lambda file: file.write_text("0,1.5,2\n3,0,0\n"),
    "a.tsv": lambda file: np.savetxt(file, A, delimiter="\t"),
    "a.mtx": lambda file: mmwrite(file, coo_array(A)),
    "dense.mtx": lambda file: mmwrite(file, A),
    "a.svmlight": lambda file: file.write_text(LINES),
    "a.libsvm": lambda file: file.write_text(LINES),
    "a.svmlight.gz": lambda file: file.write_bytes(gzip.compress(LINES.encode())),
}
SPARSE = ("sparse.npz", "triples.npz", "a.mtx", "a.svmlight", "a.libsvm", "a.svmlight.gz")


@pytest.mark.parametrize("name", SAVE)
def test_every_format_gives_the_same_matrix_and_sparse_ones_stay_sparse(tmp_path, name):
    folder = tmp_path / "données ☃"
    folder.mkdir()
    SAVE[name](folder / name)
    B, names = read_matrix(folder / name)
    assert names is None and B.dtype == np.float64
    assert (getattr(B, "format", None) == "csr") is (name in SPARSE)
    assert np.array_equal(B.toarray() if name in SPARSE else B, A)


def test_other_numbers_become_floats_and_single_precision_stays(tmp_path):
    for dtype in (np.uint8, np.int64, bool, np.float16, np.float32):
        np.save(tmp_path / "a.npy", np.ones((2, 2), dtype))
        assert read_matrix(tmp_path / "a.npy")[0].dtype == (np.float32 if dtype is np.float32 else np.float64)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x,y\n1,2\n3,4\n", ["x", "y"]),
        ('\ufeff"größe","y z"\n1,2\n3,4\n', ["größe", "y z"]),
        ("1,2\n3,4", None),
        ("1, 2\r\n3, 4\r\n", None),
    ],
)
def test_tables_with_and_without_names(tmp_path, text, names):
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    B, found = read_matrix(tmp_path / "a.csv")
    assert np.array_equal(B, [[1, 2], [3, 4]]) and found == names


def saved(save, *given, **named):
    """The bytes of a file that NumPy writes."""
    save(file := io.BytesIO(), *given, **named)
    return file.getvalue()


def archive(form, **changes):
    """The bytes of a sparse matrix with other arrays."""
    with np.load(io.BytesIO(saved(save_npz, coo_array(A).asformat(form)))) as file:
        return saved(np.savez, **{**file, **changes})


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"", "shape"),
        ("a.csv", b"x,y\n", "shape"),
        ("a.csv", b"1,2\n3\n", "row 2 has 1 cell, and those above it 2"),
        ("a.csv", b"1,2\n3,x\n", r"row 2, column B is 'x'\). Every cell must be a number here"),
        ("a.csv", b'a,"b\nc"\n1,2\n\n"y\nz",4\n', r"row 4, column A is 'y\\nz'"),
        ("a.csv", b"1,2\n3,\n", "row 2, column B is empty"),
        ("a.csv", b"x,y,z\n1,2\n", "3 names for 2 columns"),
        ("a.csv", b"\xff\xfe\x00", "cannot be read as .csv"),
        ("a.npy", b"\x93NUMPY", "cannot be read as .npy"),
        ("a.npy", b"", "cannot be read as .npy"),
        ("a.npz", b"PK\x03\x04 and no more", "cannot be read as .npz"),
        ("a.mtx", b"nothing of the kind\n", "does not begin with '%%MatrixMarket matrix"),
        ("a.mtx", MARKET % b"complex general" + b"1 1 1\n1 1 2 3\n", "real numbers; it holds complex ones"),
        ("a.mtx", MARKET % b"real general" + b"2 2 1\n1 1 5x\n", "cannot be read as .mtx"),
        ("a.mtx", MARKET % b"real general" + b"2 2 1\n1 1 5\0\n", "it holds bytes that are no text"),
        ("a.mtx", MARKET % b"real general" + b"2 2 1\n1 3 5\n", "a column is not a whole number from 1 to 2"),
        ("a.mtx", MARKET % b"real general" + b"2 2 2\n1 1 5\n", "promises 2 entries, 6 numbers, and 3 are there"),
        ("a.mtx", MARKET % b"real symmetric" + b"2 3 1\n1 1 5\n", "a symmetric matrix is square"),
        ("a.mtx", MARKET % b"real general" + b"9 9999999999999 1\n1 1 5\n", "GiB of memory"),
        ("a.npy", HEADER + A.tobytes(), "its header promises 24000000000000 bytes, and 48 are there"),
        ("a.svmlight", b"1 2:3 4\n", "line 1 of a.svmlight"),
        ("a.svmlight", b"1 1:1 99999999999:2\n", "GiB of memory"),
        ("a.svmlight", b"", "shape"),
        ("a.npy", saved(np.save, np.ones(3)), r"an array of shape \(3,\)"),
        ("a.npy", saved(np.save, np.ones((2, 0))), r"an array of shape \(2, 0\)"),
        ("a.npy", saved(np.save, np.ones((2, 2), complex)), "real numbers; it holds dtype complex128"),
        ("a.npy", saved(np.save, np.array([["a", "b"]])), "real numbers; it holds dtype <U1"),
        ("a.npy", saved(np.save, np.array([[{}]], dtype=object)), "cannot be read as .npy"),  # nothing is unpickled
        ("a.npz", saved(np.savez, a=A, b=A), "it has a, b; expected a single array, or one named X"),
        ("a.npz", archive("csr", indices=np.array([0, 1, 10**6])), "(indices|index values) must be < 3"),
        ("a.npz", archive("csr", indices=np.array([0, 1, -1])), "(indices|index values) must be >= 0"),
        ("a.npz", archive("csc", indptr=np.array([0, 3, 1, 0])), "index pointers decrease"),
        ("a.npz", archive("coo", shape=np.array([10**12, 10**12])), "GiB of memory"),
        ("a.npz", archive("csr", data=np.array([{}, 1, 2], dtype=object)), "Python objects, which are never read"),
    ],
)
def test_a_file_with_something_else_in_it_or_that_would_crash(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataDamaged, match=sentence):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize("field", ["real", "integer", "pattern"])
@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("sparse", [True, False])
def test_matrix_market_says_what_scipy_says(tmp_path, rng, field, symmetry, sparse):
    B = rng.integers(-2, 3, (5, 5)) * (1.0 if field != "real" else 0.1)
    B = {"general": B[:, :3], "symmetric": B + B.T, "skew-symmetric": B - B.T}[symmetry]
    if field == "pattern" and (not sparse or symmetry == "skew-symmetric"):
        return  # there is no such file
    B = B != 0 if field == "pattern" else B
    mmwrite(tmp_path / "a.mtx", coo_array(B) if sparse else B, "", field, 17, symmetry)
    C = read_matrix(tmp_path / "a.mtx")[0]
    assert np.array_equal(C.toarray() if sparse else C, B)


def test_no_file_and_no_known_ending(tmp_path):
    with pytest.raises(DataUnavailable, match="No such file") as caught:
        read_matrix(tmp_path / "a.csv")
    assert caught.type is DataUnavailable
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(DataUnavailable, match="is not a regular file"):
        read_matrix(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"its name must end in .npy, .npz"):
        read_matrix(tmp_path / "a.xlsx")


@pytest.mark.posix
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.npy")
    (tmp_path / "a.tsv").symlink_to("/dev/zero")
    for name in ("a.npy", "a.tsv"):
        with pytest.raises(DataUnavailable, match="is not a regular file"):
            read_matrix(tmp_path / name)
