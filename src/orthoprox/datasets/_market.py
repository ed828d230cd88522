"""The Matrix Market format.

SciPy's reader takes the beginning of a word for a number and ignores what follows it on the line, and a zero byte ends
the process; here every word has to be a number.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.sparse import coo_array, csr_array

from orthoprox._memory import check_memory
from orthoprox.datasets._formats import check_shape, unpack

FORMS, FIELDS = ("coordinate", "array"), ("real", "double", "integer", "pattern")
SIGNS = {"general": 0.0, "symmetric": 1.0, "skew-symmetric": -1.0}
"""The factor of an entry at its place across the diagonal."""


def market(path: Path) -> Any:
    """A matrix of a Matrix Market file, sparse or dense as it is there."""
    file = unpack(path)
    banner, matrix, form, field, symmetry = _head(file)
    if (banner, matrix) != ("%%matrixmarket", "matrix") or form not in FORMS or symmetry not in SIGNS:
        raise ValueError("it does not begin with '%%MatrixMarket matrix coordinate real general' or the like")
    if field not in FIELDS or (form, field) == ("array", "pattern"):
        raise ValueError(f"it must hold real numbers; it holds {field} ones")
    sizes = [int(word) for word in _sizes(file).split()]
    if len(sizes) != (3 if form == "coordinate" else 2) or min(sizes) < 0:
        raise ValueError(f"its line of sizes is not that of a matrix: {sizes}")
    if symmetry != "general" and sizes[0] != sizes[1]:
        raise ValueError(f"a {symmetry} matrix is square; its sizes are {sizes[:2]}")
    if form == "array":
        return _columns(file, (sizes[0], sizes[1]), SIGNS[symmetry])
    return _coordinates(file, (sizes[0], sizes[1]), sizes[2], 2 if field == "pattern" else 3, SIGNS[symmetry])


def _head(file: IO[bytes]) -> list[str]:
    words = file.readline().decode("ascii").lower().split()
    return words if len(words) == 5 else [""] * 5


def _sizes(file: IO[bytes]) -> bytes:
    """The first line that is neither a comment nor blank."""
    return next((line for line in file if line.strip() and not line.startswith(b"%")), b"")


def _numbers(file: IO[bytes], lines: int, words: int) -> Any:
    text = file.read()
    if not text.isascii() or b"\0" in text:
        raise ValueError("it holds bytes that are no text")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a word that is no number
        numbers = np.fromstring(text, sep=" ")
    if len(numbers) != lines * words:
        raise ValueError(f"it promises {lines} entries, {lines * words} numbers, and {len(numbers)} are there")
    return numbers.reshape(lines, words)


def _coordinates(file: IO[bytes], shape: tuple[int, int], entries: int, words: int, sign: float) -> Any:
    """Lines of row, column and value, or of row and column alone."""
    check_shape(shape)
    check_memory(words * entries, f"A sparse matrix of {entries} entries")
    body = _numbers(file, entries, words)
    rows, columns = body[:, 0], body[:, 1]
    values = body[:, 2] if words == 3 else np.ones(entries)
    # all of these are false for NaN
    for what, index, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if not np.all((index >= 1) & (index <= size) & (index == np.floor(index))):
            raise ValueError(f"a {what} is not a whole number from 1 to {size}")
    i, j = rows.astype(np.int64) - 1, columns.astype(np.int64) - 1
    A = csr_array(coo_array((values, (i, j)), shape=shape))
    across = i != j
    return A + csr_array(coo_array((sign * values[across], (j[across], i[across])), shape=shape)) if sign else A


def _columns(file: IO[bytes], shape: tuple[int, int], sign: float) -> Any:
    """Lines of one value, column after column; where there is symmetry, from the diagonal down."""
    m, n = shape
    check_memory(m * n, f"A matrix of shape {(m, n)}")
    j, i = np.triu_indices(n, 1 if sign < 0 else 0) if sign else np.indices((n, m)).reshape(2, -1)
    values = _numbers(file, len(i), 1)[:, 0]
    A = np.zeros((m, n))
    if sign:
        A[j, i] = sign * values
    A[i, j] = values
    return A
