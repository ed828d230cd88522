"""Every other file of a table: Excel, Parquet, Arrow, AnnData, and matrices without names."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

from orthoprox._extras import extra
from orthoprox._fields import replace
from orthoprox.blocks.hdf5 import Hdf5Blocks
from orthoprox.cli.tables.layout import distinct_names, empty_rows, find_layout
from orthoprox.cli.tables.numbers import BLANK, find_decimal
from orthoprox.cli.tables.places import count, listed
from orthoprox.cli.tables.table import Raw, Reading
from orthoprox.cli.tables.text import open_text, words_of
from orthoprox.datasets import DataDamaged, read_matrix
from orthoprox.maps.sparse import is_sparse

ENGINES = {".xlsx": "openpyxl", ".xlsm": "openpyxl", ".xls": "xlrd", ".ods": "odf", ".xlsb": "pyxlsb"}
HEAD = 500
"""Rows of a sheet from which its names are found."""


def read_sheet(path: Path, reading: Reading) -> Raw:
    """A sheet of a workbook."""
    pandas = extra("pandas", "fit", "Reading a table")
    _need_engine(ENGINES[path.suffix.lower()], path.suffix)
    try:
        book = pandas.ExcelFile(path)
    except (ValueError, KeyError, zipfile.BadZipFile, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise DataDamaged(
            f"{path} is no workbook, whatever its name says. Save it again; if it is a table of text, call it "
            f"{path.stem}.csv."
        ) from error
    with book:
        sheets = [str(name) for name in book.sheet_names]
        name = _sheet(sheets, reading.sheet)
        frame = pandas.read_excel(book, sheet_name=name, header=None, na_values=[*BLANK, *reading.missing_words])
        # what stands for an empty cell may be a name: Na
        head = pandas.read_excel(book, sheet_name=name, header=None, nrows=HEAD, na_filter=False).astype(object)
    if frame.empty:
        more = f" It has the sheets {listed(map(repr, sheets))}; --sheet names one." if len(sheets) > 1 else ""
        raise DataDamaged(f"The sheet {name!r} of {path.name} is empty.{more}")
    records = head.where(head.notna(), "").astype(str).to_numpy().tolist()
    layout = find_layout([_as_words(record) for record in records], reading.header, reading.missing_words)
    if layout.first >= len(frame):
        raise DataDamaged(f"The sheet {name!r} of {path.name} has names and no rows below them.")
    notes = list(layout.notes)
    if len(sheets) > 1 and reading.sheet is None:
        others = listed(repr(other) for other in sheets if other != name)
        notes.append(f"Only the sheet {name!r} was read; --sheet names another: {others}.")
    rows = np.arange(layout.first, len(frame)) + 1
    frame = frame.iloc[layout.first :]
    kept = frame.notna().any(axis=1).to_numpy()
    notes += empty_rows(rows, kept)
    frame, rows = frame[kept].infer_objects(), rows[kept]
    columns = {
        word: frame.iloc[:, j]
        for j, word in enumerate(layout.names)
        if not word.startswith("column ") or frame.iloc[:, j].notna().any()
    }
    numbers = {word: j + 1 for j, word in enumerate(layout.names)}
    decimal = reading.decimal or find_decimal(words_of(columns.values()), None)
    return Raw(columns, rows, numbers, {"sheet": name, "header": layout.header}, tuple(notes), decimal)


def _as_words(record: list[str]) -> list[str]:
    """Cells as a file of text has them: a header of years is read as 1990.0, one of days with an hour."""
    return [word.removesuffix(".0").removesuffix(" 00:00:00") for word in record]


def _sheet(sheets: list[str], wanted: str | None) -> str:
    if wanted is None:
        return sheets[0]
    if wanted in sheets:
        return wanted
    if wanted.isdecimal() and 1 <= int(wanted) <= len(sheets):
        return sheets[int(wanted) - 1]
    raise ValueError(f"There is no sheet {wanted!r}: --sheet must be one of {listed(map(repr, sheets))}, or a number.")


def _need_engine(module: str, ending: str) -> None:
    if module == "openpyxl":
        extra(module, "excel", f"Reading {ending} files")
        return
    package = {"odf": "odfpy"}.get(module, module)
    try:
        extra(module, "excel", f"Reading {ending} files")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"Reading {ending} files needs {package}, which is not installed: pip install {package}. Or save the table "
            "as .xlsx or .csv.",
            name=package,
        ) from None


def read_arrow(path: Path, reading: Reading) -> Raw:
    """A file of Parquet, Feather or Arrow."""
    pandas = extra("pandas", "fit", "Reading a table")
    extra("pyarrow", "storage", f"Reading {path.suffix} files")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            frame = pandas.read_parquet(path, engine="pyarrow")
        else:
            frame = _feather(path)
    except (ValueError, OSError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        words = " ".join(str(error).split()).rstrip(".")
        raise DataDamaged(f"{path} cannot be read as {path.suffix} ({words}). Save it again.") from error
    return _of_frame(frame, path, reading)


def _feather(path: Path) -> Any:
    """A file of Arrow, in its format for files or in that for streams."""
    feather, ipc = (extra(f"pyarrow.{name}", "storage", "Reading Arrow files") for name in ("feather", "ipc"))
    try:
        return feather.read_feather(path)
    except ValueError:  # Arrow's own errors are such
        with path.open("rb") as file, ipc.open_stream(file) as stream:
            return stream.read_pandas()


def _of_frame(frame: Any, path: Path, reading: Reading) -> Raw:
    """The columns of a frame, with an index that has something to say as the first."""
    index = False
    if frame.index.nlevels > 1:  # its levels name the rows together, and none is a feature
        words = [", ".join(map(str, key)) for key in frame.index]
        name = ", ".join(str(level) for level in frame.index.names if level is not None)
        frame = frame.set_axis(words).rename_axis(name or None)
    if not frame.index.equals(type(frame.index)(range(len(frame)))):
        frame, index = frame.reset_index(), True
    if frame.empty:
        raise DataDamaged(f"{path} is empty: it has {count(len(frame), 'row')} and {count(frame.shape[1], 'column')}.")
    names, notes = distinct_names([str(name) for name in frame.columns])
    columns = {name: frame.iloc[:, j] for j, name in enumerate(names)}
    rows, numbers = np.arange(len(frame)) + 2, {name: j + 1 for j, name in enumerate(names)}
    decimal = reading.decimal or find_decimal(words_of(columns.values()), None)
    return Raw(columns, rows, numbers, {}, tuple(notes), decimal, index=names[0] if index else None)


def read_annotated(path: Path, reading: Reading) -> Raw:
    """The matrix X of an AnnData file, with the names of its variables and observations."""
    source = Hdf5Blocks(path)
    parts = [source.read(i) for i in range(source.count)]
    A = scipy.sparse.vstack(parts, format="csr") if source.sparse else np.concatenate(parts)
    raw, labels = of_matrix(A, source.names), names_of_samples(path)
    return replace(raw, labels=labels) if len(labels) == A.shape[0] else raw


def names_of_samples(path: Path) -> tuple[str, ...]:
    """The names of the observations of an AnnData file; none where it has none."""
    h5py = extra("h5py", "storage", "Reading HDF5")
    with h5py.File(path, "r") as file:
        obs = file.get("obs")
        key = None if obs is None or not hasattr(obs, "attrs") else obs.attrs.get("_index", "index")
        words = obs[key][:] if key is not None and key in obs else []
    return tuple(word.decode() if isinstance(word, bytes) else str(word) for word in words)


def read_array(path: Path, reading: Reading) -> Raw:
    """A matrix without names: .npy, .npz, .mtx, .svmlight."""
    A, names = read_matrix(path)
    if (found := names_beside(path, A.shape)) is None:
        return of_matrix(A, names)
    features, barcodes, said = found
    raw = of_matrix(A, barcodes)
    notes = (*raw.notes, f"Samples are in columns, as {said} says.")
    return replace(raw, labels=features, labels_name="feature", transposed=True, notes=notes)


def names_beside(path: Path, shape: tuple[int, int]) -> tuple[tuple[str, ...], tuple[str, ...], str] | None:
    """Names of rows and columns in the files that stand beside the matrix of counts of cells, features in rows.

    These are ``features.tsv`` (or ``genes.tsv``), where the second column is the symbol, and ``barcodes.tsv``, packed
    or not, with what stands before ``matrix.mtx`` before their names too. The last word is the name of the first file.
    """
    prefix, found, _ = path.name.partition("matrix.mtx")
    if not found:
        return None
    features = _first_there(path, [f"{prefix}features", f"{prefix}genes"])
    barcodes = _first_there(path, [f"{prefix}barcodes"])
    if features is None or barcodes is None:
        return None
    with open_text(features, "utf-8") as file:
        words = [line.rstrip("\r\n").split("\t") for line in file]
    with open_text(barcodes, "utf-8") as file:
        cells = tuple(line.split("\t")[0].strip() for line in file)
    genes = tuple(line[1] if len(line) > 1 else line[0] for line in words)
    return (genes, cells, features.name) if (len(genes), len(cells)) == shape else None


def _first_there(path: Path, names: list[str]) -> Path | None:
    there = (path.with_name(name + ending) for name in names for ending in (".tsv", ".tsv.gz"))
    return next((one for one in there if one.is_file()), None)


def of_matrix(A: Any, names: Any) -> Raw:
    """The columns of a matrix; a sparse one stays sparse."""
    pandas = extra("pandas", "fit", "Reading a table")
    m, n = A.shape
    given = [f"x{j}" for j in range(n)] if names is None else [str(name) for name in names]
    words, notes = distinct_names(given)
    rows, numbers = np.arange(m) + 1, {name: j + 1 for j, name in enumerate(words)}
    if is_sparse(A):
        return Raw({}, rows, numbers, {}, tuple(notes), matrix=scipy.sparse.csr_array(A))
    columns = {name: pandas.Series(A[:, j]) for j, name in enumerate(words)}
    return Raw(columns, rows, numbers, {}, tuple(notes), is_array=True)
