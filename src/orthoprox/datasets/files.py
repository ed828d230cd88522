"""A user's own matrix, from any of the usual files."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from orthoprox.datasets._errors import DataDamaged, DataUnavailable
from orthoprox.datasets._formats import npy_array, npz_array, npz_names, npz_sparse, svmlight
from orthoprox.datasets._market import market
from orthoprox.datasets._places import letters

Read = tuple[Any, "list[str] | None"]


def read_matrix(path: str | PathLike[str]) -> tuple[Any, list[str] | None]:
    r"""A matrix from a file, samples in rows, and the names of its columns where the file has them.

    Parameters
    ----------
    path : path
        ``.npy``, ``.npz`` (an array, or a sparse matrix as SciPy saves it), ``.csv`` or ``.tsv`` (with or without a
        line of names), ``.mtx``, ``.svmlight`` or ``.libsvm`` (labels are left out); the last three also packed
        with gzip.

    Returns
    -------
    matrix : array or SciPy sparse array
        Of floats. Sparse files stay sparse.
    names : list of str or None

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from orthoprox.datasets import read_matrix
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "small.csv"
    ...     _ = file.write_text("height,width\n1,2\n3,4\n")
    ...     read_matrix(file)
    (array([[1., 2.],
           [3., 4.]]), ['height', 'width'])
    """
    file = Path(path)
    ending = file_ending(file)
    if not ending:
        raise ValueError(f"{file} is not a file we can read: its name must end in {', '.join(READERS)}.")
    if os.path.lexists(file) and not os.path.isfile(file):  # opening a pipe could wait for ever
        raise DataUnavailable(f"{file} is not a regular file. Save the data in one of their own.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what matters in a file is reported below
            A, names = READERS[ending](file)
            _check_kind(file, A)
            return (A if A.dtype in (np.float32, np.float64) else A.astype(np.float64)), names
    except (MemoryError, DataUnavailable):
        raise
    except OSError as error:
        raise DataUnavailable(f"{file} cannot be read ({error.strerror or error}).") from error
    except Exception as error:  # every format has its own errors for broken files
        words = " ".join(str(error).split()).rstrip(".")
        advice = "Check its content or save it again."
        if ending.partition(".gz")[0] in (".csv", ".tsv"):
            advice = "Every cell must be a number here; the command orthoprox fit reads tables with text and gaps."
        raise DataDamaged(f"{file} cannot be read as {ending} ({words}). {advice}") from error


def _check_kind(file: Path, A: Any) -> None:
    """Refuse what is not a matrix of real numbers."""
    if len(A.shape) != 2 or 0 in A.shape:
        raise DataDamaged(
            f"{file} must hold a matrix, samples in rows; it holds an array of shape {tuple(A.shape)}. Save a matrix."
        )
    if not np.isdtype(A.dtype, ("bool", "integral", "real floating")):
        raise DataDamaged(f"{file} must hold real numbers; it holds dtype {A.dtype}. Convert it first.")


def file_ending(path: str | PathLike[str]) -> str:
    """The known ending of a file name, or an empty text."""
    name = Path(path).name.lower()
    return next((ending for ending in READERS if name.endswith(ending)), "")


def looks_like_file(text: str) -> bool:
    """Whether the name of data is that of a file rather than of a dataset."""
    return bool(file_ending(text)) or "/" in text or os.sep in text or os.path.isfile(text)


def _npy(path: Path) -> Read:
    with path.open("rb") as file:
        return npy_array(file, os.fstat(file.fileno()).st_size), None


def _npz(path: Path) -> Read:
    names = npz_names(path)
    if "format" in names and "shape" in names:
        return npz_sparse(path), None
    if "X" not in names and len(names) != 1:
        raise ValueError(f"it has {', '.join(names) or 'nothing'}; expected a single array, or one named X")
    return npz_array(path, "X" if "X" in names else names[0]), None


def _table(separator: str) -> Callable[[Path], Read]:
    def read(path: Path) -> Read:
        with path.open(encoding="utf-8-sig", newline="") as file:
            first = [word.strip() for word in next(csv.reader(file, delimiter=separator), [""])]
            names = None if any(map(_is_number, first)) else first
            if names is None:
                file.seek(0)
            try:
                A = np.loadtxt(file, delimiter=separator, ndmin=2, comments=None, quotechar='"')
            except ValueError as error:
                file.seek(0)
                fault = _first_fault(csv.reader(file, delimiter=separator), names is not None)
                raise ValueError(fault or str(error)) from error
        if names is not None and A.size and len(names) != A.shape[1]:
            raise ValueError(f"it has {len(names)} names for {A.shape[1]} columns")
        return A, names

    return read


def _first_fault(records: Iterable[list[str]], names: bool) -> str:
    """The first cell that is no number, or row that is shorter or longer, in the words of a spreadsheet."""
    width = 0
    for row, record in enumerate(records, start=1):
        if (row == 1 and names) or not record:
            continue
        for column, word in enumerate(record, start=1):
            if not _is_number(word):
                return f"row {row}, column {letters(column)} is {repr(word) if word.strip() else 'empty'}"
        width = width or len(record)
        if len(record) != width:
            return f"row {row} has {len(record)} cell{'' if len(record) == 1 else 's'}, and those above it {width}"
    return ""


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _market(path: Path) -> Read:
    return market(path), None


def _svmlight(path: Path) -> Read:
    return svmlight([path]), None


READERS: dict[str, Callable[[Path], Read]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": _table(","),
    ".tsv": _table("\t"),
    ".mtx": _market,
    ".mtx.gz": _market,
    ".svmlight": _svmlight,
    ".libsvm": _svmlight,
    ".svmlight.gz": _svmlight,
    ".libsvm.gz": _svmlight,
}
"""How to read a file, by its ending."""
