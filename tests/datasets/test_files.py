"""A user's own files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array, csr_array, save_npz

from orthoprox.datasets import DataDamaged, DataUnavailable, read_matrix

A = np.array([[0.0, 1.5, 2.0], [3.0, 0.0, 0.0]])


def saved(folder, name):
    file = folder / name
    match name:
        case "a.npy":
            np.save(file, A)
        case "one.npz":
            np.savez(file, anything=A)
        case "X.npz":
            np.savez(file, X=A, y=np.ones(2))
        case "sparse.npz" | "triples.npz":
            save_npz(file, (coo_array if name == "triples.npz" else csr_array)(A))
        case "a.csv":
            np.savetxt(file, A, delimiter=",")
        case "a.tsv":
            np.savetxt(file, A, delimiter="\t")
        case "a.mtx":
            mmwrite(file, coo_array(A))
        case "dense.mtx":
            mmwrite(file, A)
        case "a.svmlight" | "a.libsvm":
            file.write_text("1 2:1.5 3:2\n1 1:3\n")
        case "a.svmlight.gz":
            file.write_bytes(gzip.compress(b"1 2:1.5 3:2\n1 1:3\n"))
        case "A.CSV":
            file.write_text("0,1.5,2\n3,0,0\n")
    return file


SPARSE = ("sparse.npz", "triples.npz", "a.mtx", "a.svmlight", "a.libsvm", "a.svmlight.gz")


@pytest.mark.parametrize("name", ["a.npy", "one.npz", "X.npz", "a.csv", "A.CSV", "a.tsv", "dense.mtx", *SPARSE])
def test_every_format_gives_the_same_matrix_and_sparse_ones_stay_sparse(tmp_path, name):
    folder = tmp_path / "données ☃"
    folder.mkdir()
    B, names = read_matrix(saved(folder, name))
    assert names is None and B.dtype == np.float64
    assert (getattr(B, "format", None) == "csr") is (name in SPARSE)
    assert np.array_equal(B.toarray() if name in SPARSE else B, A)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, np.float16])
def test_other_numbers_become_floats_and_single_precision_stays(tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.ones((2, 2), dtype))
    assert read_matrix(tmp_path / "a.npy")[0].dtype == np.float64
    np.save(tmp_path / "a.npy", np.ones((2, 2), np.float32))
    assert read_matrix(tmp_path / "a.npy")[0].dtype == np.float32


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


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", b"", "shape"),
        ("a.csv", b"x,y\n", "shape"),
        ("a.csv", b"1,2\n3\n", "cannot be read as .csv"),
        ("a.csv", b"1,2\n3,x\n", "could not convert string 'x'"),
        ("a.csv", b"1,2\n3,\n", "cannot be read as .csv"),
        ("a.csv", b"x,y,z\n1,2\n", "3 names for 2 columns"),
        ("a.csv", b"\xff\xfe\x00", "cannot be read as .csv"),
        ("a.npy", b"\x93NUMPY", "cannot be read as .npy"),
        ("a.npy", b"", "cannot be read as .npy"),
        ("a.npz", b"PK\x03\x04 and no more", "cannot be read as .npz"),
        ("a.mtx", b"nothing of the kind\n", "cannot be read as .mtx"),
        ("a.svmlight", b"1 2:3 4\n", "line 1 of a.svmlight"),
        ("a.svmlight", b"", "shape"),
    ],
)
def test_a_file_with_something_else_in_it(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataDamaged, match=sentence):
        read_matrix(tmp_path / name)


@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        (np.ones(3), r"an array of shape \(3,\)"),
        (np.ones((2, 0)), r"an array of shape \(2, 0\)"),
        (np.ones((2, 2), complex), "real numbers; it holds dtype complex128"),
        (np.array([["a", "b"]]), "real numbers; it holds dtype <U1"),
    ],
)
def test_an_array_that_is_no_matrix_of_numbers(tmp_path, array, sentence):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(DataDamaged, match=sentence):
        read_matrix(tmp_path / "a.npy")


def test_objects_are_not_unpickled(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(DataDamaged, match="cannot be read as .npy"):
        read_matrix(tmp_path / "a.npy")


def test_an_archive_with_several_arrays_needs_one_called_X(tmp_path):
    np.savez(tmp_path / "a.npz", a=A, b=A)
    with pytest.raises(DataDamaged, match="it has a, b; expected a single array, or one named X"):
        read_matrix(tmp_path / "a.npz")


def test_no_file_and_no_known_ending(tmp_path):
    with pytest.raises(DataUnavailable, match="No such file") as caught:
        read_matrix(tmp_path / "a.csv")
    assert caught.type is DataUnavailable
    (tmp_path / "a.csv").mkdir()
    with pytest.raises(DataUnavailable, match="cannot be read"):
        read_matrix(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"its name must end in .npy, .npz"):
        read_matrix(tmp_path / "a.xlsx")
