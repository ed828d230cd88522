"""Readers for the formats in which data are published."""

from __future__ import annotations

import bz2
import gzip
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from scipy.sparse import csr_array, load_npz

from orthoprox.datasets._scipy import loadmat
from orthoprox.maps.sparse import is_sparse

IMAGES = 2051
"""The number with which an IDX file of images begins."""


def idx_images(path: Path) -> Any:
    """Images of an IDX file, compressed or not, one in each row."""
    with open_packed(path) as file:
        head, content = file.read(16), file.read()
    if len(head) < 16:
        raise ValueError("the file ends within its header")
    magic, images, height, width = struct.unpack(">4i", head)
    if magic != IMAGES:
        raise ValueError(f"an IDX file of images begins with {IMAGES}, not with {magic}")
    if len(content) != images * height * width:
        raise ValueError(f"{images} images of {height} by {width} are not {len(content)} bytes")
    return np.frombuffer(content, dtype=np.uint8).reshape(images, height * width)


def npz_array(path: Path, name: str) -> Any:
    """One array of a NumPy archive."""
    # our own handle is closed even when the archive is broken; the same below
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return arrays[name]


def npz_sparse(path: Path) -> Any:
    """A sparse matrix as SciPy saves it."""
    with path.open("rb") as file:
        return csr_array(load_npz(file))


def matlab(path: Path, variable: str) -> Any:
    """One variable of a MATLAB file."""
    A = loadmat(path, variable_names=[variable]).get(variable)
    if A is None:
        raise ValueError(f"it has no variable {variable}")
    return csr_array(A) if is_sparse(A) else A


def svmlight(paths: Sequence[Path], features: int | None = None) -> Any:
    """The rows of LIBSVM files, one below the other, as a sparse array; labels are left out.

    Indices begin at 1, unless a 0 occurs among them.
    """
    ends, indices, values = [0], list[int](), list[float]()
    for path in paths:
        with open_packed(path) as file:
            for number, line in enumerate(file, start=1):
                words = line.split(b"#", 1)[0].split()
                pairs = [word.split(b":") for word in words if b":" in word and not word.startswith(b"qid:")]
                try:
                    indices += [int(index) for index, _ in pairs]
                    values += [float(value) for _, value in pairs]
                    if sum(b":" not in word for word in words) > 1:  # more than the label
                        raise ValueError
                except ValueError:
                    raise ValueError(f"line {number} of {path.name} is not 'label index:value ...'") from None
                if words:
                    ends.append(len(indices))
    where = np.asarray(indices, dtype=np.int64)
    first = where.min(initial=1)
    if first < 0:
        raise ValueError(f"an index is negative: {first}")
    where = where - min(first, 1)
    n = int(where.max(initial=-1)) + 1
    if features is not None and n > features:
        raise ValueError(f"there are {n} features where {features} are expected")
    return csr_array((np.asarray(values), where, np.asarray(ends)), shape=(len(ends) - 1, features or n))


def open_packed(path: Path) -> BinaryIO:
    """Open a file for reading, decompressed if it is compressed."""
    with path.open("rb") as file:
        begin = file.read(3)
    open_file = gzip.open if begin.startswith(b"\x1f\x8b") else bz2.open if begin == b"BZh" else open
    return cast(BinaryIO, open_file(path, "rb"))
