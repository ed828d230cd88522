"""Readers for the formats in which data are published. None executes anything from a file."""

from __future__ import annotations

import bz2
import gzip
import io
import math
import struct
import zipfile
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import numpy as np
from scipy.sparse import csr_array, load_npz

from orthoprox._memory import check_memory
from orthoprox.datasets._scipy import loadmat
from orthoprox.maps.sparse import is_sparse

IMAGES = 2051
"""The number with which an IDX file of images begins."""
HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
"""NumPy writes the third version for named fields only, which are no matrix."""
PIECE = 2**20
"""Bytes decompressed at a time."""


def idx_images(path: Path) -> Any:
    """Images of an IDX file, compressed or not, one in each row."""
    file = unpack(path)
    head, content = file.read(16), file.read()
    if len(head) < 16:
        raise ValueError("the file ends within its header")
    magic, images, height, width = struct.unpack(">4i", head)
    if magic != IMAGES:
        raise ValueError(f"an IDX file of images begins with {IMAGES}, not with {magic}")
    if len(content) != images * height * width:
        raise ValueError(f"{images} images of {height} by {width} are not {len(content)} bytes")
    return np.frombuffer(content, dtype=np.uint8).reshape(images, height * width)


def npy_array(file: IO[bytes], size: int) -> Any:
    """The array in an opened .npy file of this size."""
    check_npy(file, size)
    file.seek(0)
    return np.lib.format.read_array(file, allow_pickle=False)


def check_npy(file: IO[bytes], size: int) -> None:
    """Refuse a .npy file that holds something other than numbers, or that asks for more memory than it can fill."""
    version = np.lib.format.read_magic(file)
    if version not in HEADERS:
        raise ValueError(f"its version {version} is not that of an array of numbers")
    shape, _, dtype = HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects, which are never read")
    if min(shape, default=0) < 0:
        raise ValueError(f"its header has a negative size: {shape}")
    promised, left = math.prod(shape) * dtype.itemsize, size - file.tell()
    if promised > left:
        raise ValueError(f"its header promises {promised} bytes, and {left} are there")
    check_memory(promised // 8, f"An array of shape {shape}")  # a packed file of a few bytes can claim any size


def npz_names(path: Path) -> list[str]:
    """The names of the arrays in a NumPy archive."""
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def npz_array(path: Path, name: str) -> Any:
    """One array of a NumPy archive."""
    # our own handle is closed even when the archive is broken; the same below
    with path.open("rb") as file, zipfile.ZipFile(file) as archive, archive.open(f"{name}.npy") as member:
        return npy_array(member, archive.getinfo(f"{name}.npy").file_size)


def npz_sparse(path: Path) -> Any:
    """A sparse matrix as SciPy saves it."""
    with path.open("rb") as file:
        with zipfile.ZipFile(file) as archive:
            for info in archive.infolist():  # SciPy takes them on trust
                with archive.open(info) as member:
                    check_npy(member, info.file_size)
        check_shape(npz_array(path, "shape").tolist())
        file.seek(0)
        return by_rows(load_npz(file))


def by_rows(A: Any) -> Any:
    """The same matrix by rows, if its indices lie within its shape: SciPy trusts them, and a wrong one is a crash."""
    check_shape(A.shape)
    if A.format in ("csr", "csc", "bsr"):
        if np.any(np.diff(A.indptr.astype(np.int64)) < 0):  # not looked at below where the last is 0
            raise ValueError("its index pointers decrease")
        A.check_format(full_check=True)
    # from diagonals of odd lengths straight to rows SciPy writes beyond its memory
    return csr_array(A.tocoo() if A.format == "dia" else A)


def check_shape(shape: Sequence[int]) -> None:
    """Refuse a sparse matrix with more rows or columns than can be held, however few of its entries are stored."""
    check_memory(sum(shape), f"Rows and columns of a sparse matrix of shape {tuple(shape)}")


def matlab(path: Path, variable: str) -> Any:
    """One variable of a MATLAB file."""
    A = loadmat(path, variable_names=[variable]).get(variable)
    if A is None:
        raise ValueError(f"it has no variable {variable}")
    if A.dtype.kind not in "biuf":
        raise ValueError(f"its variable {variable} has no real numbers, but {A.dtype}")
    return by_rows(A) if is_sparse(A) else A


def svmlight(paths: Sequence[Path], features: int | None = None) -> Any:
    """The rows of LIBSVM files, one below the other, as a sparse array; labels are left out.

    Indices begin at 1, unless a 0 occurs among them.
    """
    ends, indices, values = array("q", [0]), array("q"), array("d")
    for path in paths:
        for number, line in enumerate(unpack(path), start=1):
            words = line.split(b"#", 1)[0].split()
            pairs = [word.split(b":") for word in words if b":" in word and not word.startswith(b"qid:")]
            try:
                indices.extend([int(index) for index, _ in pairs])
                values.extend([float(value) for _, value in pairs])
                if sum(b":" not in word for word in words) > 1:  # more than the label
                    raise ValueError
            except (ValueError, OverflowError):
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
    shape = (len(ends) - 1, features or n)
    check_shape(shape)
    return csr_array((np.asarray(values), where, np.asarray(ends)), shape=shape)


def unpack(path: Path) -> io.BytesIO:
    """The content of a file, decompressed if it is compressed and if it can be held."""
    with path.open("rb") as file:
        begin = file.read(3)
    open_file = gzip.open if begin.startswith(b"\x1f\x8b") else bz2.open if begin == b"BZh" else open
    content = io.BytesIO()
    with cast(BinaryIO, open_file(path, "rb")) as file:
        while piece := file.read(PIECE):
            content.write(piece)
            check_memory(content.tell() // 8, f"The content of {path.name}")
    content.seek(0)
    return content
