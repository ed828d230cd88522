"""Readers of published formats, on files made here."""

import bz2
import gzip
import struct

import numpy as np
import pytest
from scipy.io import savemat
from scipy.sparse import csc_array, csr_array, save_npz

from orthoprox.datasets import DATASETS
from orthoprox.datasets._formats import idx_images, matlab, svmlight

IMAGES = np.arange(3 * 2 * 5, dtype=np.uint8).reshape(3, 2, 5)


def idx(images=IMAGES, magic=2051):
    return struct.pack(">4i", magic, *images.shape) + images.tobytes()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_images(tmp_path, pack):
    file = tmp_path / "images"
    file.write_bytes(pack(idx()))
    assert np.array_equal(idx_images(file), IMAGES.reshape(3, 10))


def alike(name, folder, *originals):
    """Whether a dataset reads the same from its packed file and from the originals."""
    origin = DATASETS[name].origin
    one, two = origin.unpack(folder / "packed.npz"), origin.read([folder / original for original in originals])
    assert type(one) is type(two)
    return np.array_equal(*(A if isinstance(A, np.ndarray) else A.toarray() for A in (one, two)))


def test_datasets_read_both_of_their_files_alike(tmp_path):
    np.savez(tmp_path / "packed.npz", images=IMAGES)
    (tmp_path / "original.gz").write_bytes(gzip.compress(idx()))
    assert alike("mnist", tmp_path, "original.gz")
    A = np.array([[0, 1, 2], [3, 0, 0]])
    savemat(tmp_path / "a.mat", {"fea": csc_array(A.astype(float)), "X": A + 0.5})
    save_npz(tmp_path / "packed.npz", csr_array(A.astype(np.uint8)))
    assert alike("tdt2", tmp_path, "a.mat") and matlab(tmp_path / "a.mat", "fea").format == "csr"
    with pytest.raises(ValueError, match="no variable Y"):
        matlab(tmp_path / "a.mat", "Y")
    np.savez(tmp_path / "packed.npz", X=A + 0.5)
    assert alike("arabidopsis", tmp_path, "a.mat") and alike("leukemia", tmp_path, "a.mat")
    (tmp_path / "a").write_text("7 2:0.12345\n")
    (tmp_path / "b").write_text("3 1:0.1 55197:0.3\n")
    entries = np.array([0.12345, 0.1, 0.3], np.float32), (np.array([0, 1, 1]), np.array([1, 0, 55196]))
    save_npz(tmp_path / "packed.npz", csr_array(entries, shape=(2, 55197)))
    assert alike("sector", tmp_path, "a", "b")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (idx()[:10], "within its header"),
        (idx(magic=2049), "begins with 2051, not with 2049"),
        (idx()[:-1], "3 images of 2 by 5 are not 29 bytes"),
        (idx() + b"x", "are not 31 bytes"),
    ],
)
def test_broken_images(tmp_path, content, sentence):
    (tmp_path / "images").write_bytes(content)
    with pytest.raises(ValueError, match=sentence):
        idx_images(tmp_path / "images")


def lines(tmp_path, text, name="a.svmlight"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def test_rows_of_libsvm(tmp_path):
    file = lines(tmp_path, "1 1:0.5 3:-2e1 # a comment 9:9\n\n# only a comment\n-1\n2 qid:4 2:3\n")
    assert np.array_equal(svmlight([file]).toarray(), [[0.5, 0, -20], [0, 0, 0], [0, 3, 0]])
    assert svmlight([file], 7).shape == (3, 7)
    with pytest.raises(ValueError, match="3 features where 2 are expected"):
        svmlight([file], 2)
    zero, one = lines(tmp_path, "1 0:5 2:6\n"), lines(tmp_path, "1 1:7\n", "b.svmlight")  # where indices begin
    assert np.array_equal(svmlight([zero, one]).toarray(), [[5, 0, 6], [0, 7, 0]])
    assert np.array_equal(svmlight([one, one]).toarray(), [[7], [7]])


@pytest.mark.parametrize("bad", ["1 a:2", "1 2:b", "1 2:3:4", "1 2", "1 2 3:4", "1 -3:1 4:4"])
def test_a_line_that_is_none(tmp_path, bad):
    sentence = "an index is negative: -3" if "-" in bad else "line 2 of a.svmlight is not"
    with pytest.raises(ValueError, match=sentence):
        svmlight([lines(tmp_path, f"1 1:1\n{bad}\n")])
