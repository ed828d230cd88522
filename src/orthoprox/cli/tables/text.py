"""Tables of text: CSV and its relatives."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import itertools
import lzma
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from orthoprox._extras import extra
from orthoprox.cli.tables.layout import Layout, Records, beyond_remarks, empty_rows, find_layout, usual_width
from orthoprox.cli.tables.numbers import BLANK, THOUSANDS, find_decimal, parse
from orthoprox.cli.tables.places import count
from orthoprox.cli.tables.table import Raw, Reading
from orthoprox.datasets import DataDamaged


def _open_zip(path: Path, mode: str) -> Any:
    """The one file in an archive, closed with it; what a Mac adds does not count."""
    archive = zipfile.ZipFile(path)
    names = [name for name in archive.namelist() if not name.endswith("/") and not name.startswith("__MACOSX/")]
    if len(names) != 1:
        archive.close()
        raise DataDamaged(f"{path} holds {count(len(names), 'file')}, not one. Unpack it, and name the table.")
    with archive:  # the file in it keeps what it needs
        try:
            return archive.open(names[0])
        except RuntimeError as error:
            words = str(error).rstrip(".")
            raise DataDamaged(f"{path} cannot be unpacked here ({words}). Unpack it, and name the table.") from error


OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, ".zip": _open_zip}
BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
"""What is raised where a packed file is cut or damaged."""
ARCHIVE = re.compile(
    rb"(?P<gz>\x1f\x8b)|(?P<bz2>BZh.1AY&SY)|(?P<xz>\xfd7zXZ)|(?P<xlsx>PK\x03\x04)|(?P<xls>\xd0\xcf\x11\xe0)"
)
"""How a file begins that is no text, whatever its name says."""
SEPARATORS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas"}
"""Those that stand in texts least often come first: of two that fit as well the first is chosen."""
SPACES = r"\s+"
DECLARED = re.compile(r"\"?sep=.\"?\r?\n", re.IGNORECASE)
"""The line that tells a spreadsheet the separator; a spreadsheet hides it and counts rows from the next."""
_WORD = re.compile(r'"[^"]*"|\S+')
SAMPLE = 2**18
"""Characters from which the separator and the names are found."""
PIECE = 2**20
BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",  # begins as that of UTF-16 does
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODINGS = ("utf-8", "cp1252", "latin-1")
csv.field_size_limit(2**31 - 1)  # a text may be long, and one that never ends is told by pandas, with its row
WORDS = 1000
"""Cells of a column from which the decimal mark is found."""


def read_text(path: Path, reading: Reading) -> Raw:
    """The columns of a table of text, and how it was read."""
    _refuse_archive(path)
    encoding = reading.encoding or find_encoding(path)
    try:
        with open_text(path, encoding) as file:
            sample = file.read(SAMPLE)
            complete = not file.read(1)
    except UnicodeError as error:
        raise DataDamaged(_not_encoded(path, encoding, error)) from error
    if not sample.strip():
        raise DataDamaged(f"{path} is empty: it has no rows. Export the table again.")
    if sample.lstrip()[:9].lower().startswith(("<!doctype", "<html", "<?xml", "<table")):
        raise DataDamaged(f"{path} is a web page and no table. Open it in a browser: it may ask you to log in.")
    if sample.lstrip().startswith(("{", "[{", "[[")):
        raise DataDamaged(f"{path} is JSON and no table. Save it as one, as with pandas.read_json and to_csv.")
    if "\0" in sample:
        raise DataDamaged(
            f"{path} is no table of text: it holds zero bytes. Check how it was saved; if as UTF-16, give --encoding "
            "utf-16-le."
        )
    separator = reading.separator or find_separator(sample, complete)
    records = sample_records(sample, separator, complete)
    layout = find_layout(records, reading.header, reading.missing_words)
    if layout.first >= len(records) and complete:
        if any("\n" in word for word in records[-1]):
            raise DataDamaged(
                f"{path.name} has a quote that opens in its names and is never closed. Close it, or remove it."
            )
        raise DataDamaged(f"{path} has names and no rows below them. Export the table again.")
    frame = read_frame(path, encoding, separator, layout, reading)
    decimal = reading.decimal or find_decimal(words_of(frame[j] for j in frame.columns), separator)
    if decimal == ",":
        frame = read_frame(path, encoding, separator, layout, reading, dtype=str)
    names, rows = dict(enumerate(layout.names)), layout.first + 1 + np.arange(len(frame))
    notes = list(layout.notes)
    if decimal == "." and reading.decimal is None and separator != ",":
        notes += _doubts(records[layout.first :], layout.names)
    kept = frame.notna().any(axis=1).to_numpy()
    notes += empty_rows(rows, kept)
    frame, rows = frame[kept], rows[kept]
    empty = {j for j, name in names.items() if name.startswith("column ") and not frame[j].notna().any()}
    columns = {name: frame[j] for j, name in names.items() if j not in empty}
    facts = {
        "encoding": encoding,
        "separator": "spaces" if separator == SPACES else SEPARATORS.get(separator, separator),
        "decimal": decimal,
        "header": layout.header,
    }
    return Raw(columns, rows, {name: j + 1 for j, name in names.items()}, facts, tuple(notes), decimal)


def _refuse_archive(path: Path) -> None:
    with _open(path) as file:
        found = ARCHIVE.match(file.read(16))
    if found is None:
        return
    ending = str(found.lastgroup)
    if ending.startswith("xls"):
        raise DataDamaged(f"{path} is a workbook or another archive. Call it {path.stem}.{ending} if it is a workbook.")
    raise DataDamaged(f"{path} is packed, and no table of text yet. Call it {path.name}.{ending}.")


def _doubts(records: Records, names: Sequence[str]) -> list[str]:
    """A note on a column whose points may part thousands: three digits follow each, and some cells have none."""
    for j, name in enumerate(names):
        words = [record[j].strip() for record in records if j < len(record)]
        points = [word for word in words if "." in word]
        if points and all(map(THOUSANDS.fullmatch, points)) and any(word.isdigit() for word in words):
            return [
                f"{name!r} has {points[0]}, read as {float(points[0]):g}; if points part thousands, give --decimal ,"
            ]
    return []


def read_frame(path: Path, encoding: str, separator: str, layout: Layout, reading: Reading, dtype: Any = None) -> Any:
    """The rows below the names, by pandas; blank ones too, so that rows keep their numbers."""
    pandas = extra("pandas", "fit", "Reading a table")
    with open_text(path, encoding) as file, warnings.catch_warnings():
        for _ in itertools.islice(records_of(iter(file.readline, ""), separator), layout.first):
            pass
        try:
            warnings.simplefilter("error", pandas.errors.ParserWarning)  # it would leave cells out
            return pandas.read_csv(
                file,
                sep=separator,
                header=None,
                names=range(len(layout.names)),
                index_col=False,
                dtype=dtype,
                skip_blank_lines=False,
                skipinitialspace=True,
                na_values=[*BLANK, *reading.missing_words],
                low_memory=False,
                **_exact(pandas),
            )
        except pandas.errors.EmptyDataError:
            raise DataDamaged(f"{path} has names and no rows below them. Export the table again.") from None
        except (pandas.errors.ParserError, pandas.errors.ParserWarning, ValueError, UnicodeError) as error:
            raise DataDamaged(why_not(path, encoding, separator, layout, error)) from error


def _exact(pandas: Any) -> dict[str, str]:
    """What makes pandas read every digit: since 3.1 it does so by itself."""
    release = tuple(int(part) for part in pandas.__version__.split(".")[:2])
    return {"float_precision": "round_trip"} if release < (3, 1) else {}


def why_not(path: Path, encoding: str, separator: str, layout: Layout, error: Exception) -> str:
    """The sentence for a file that pandas cannot take apart: the first row with too many cells, if it is that."""
    if isinstance(error, UnicodeError):
        return _not_encoded(path, encoding, error)
    width = len(layout.names)
    if found := re.search(r"EOF inside string starting at row (\d+)", str(error)):
        row = layout.first + 1 + int(found[1])
        return f"{path.name} has a quote that opens in row {row} and is never closed. Close it, or remove it."
    with open_text(path, encoding) as file:
        try:
            for number, record in enumerate(records_of(file, separator), start=1):
                if len(record) > width and number > layout.first:
                    return (
                        f"{path.name} has {len(record)} cells in row {number}, and {count(width, 'column')}. Put texts "
                        f"with {SEPARATORS.get(separator, 'spaces')} in them into quotes, or name another --separator."
                    )
        except csv.Error:
            return f"{path.name} has a quote that is never closed. Find it in a text editor."
    words = " ".join(str(error).split()).rstrip(".")
    return f"{path.name} cannot be read as a table of text ({words}). Check its content or save it again."


def _not_encoded(path: Path, encoding: str, error: UnicodeError) -> str:
    return f"{path} is not in the encoding {encoding} ({error}). Leave --encoding out, or name another."


def find_encoding(path: Path) -> str:
    """The encoding of a file: what it says itself, else UTF-8 if it is that, else that of Windows."""
    with _open(path) as file:
        head = file.read(4)
    for mark, name in BOMS.items():
        if head.startswith(mark):
            return name
    for name in ENCODINGS[:-1]:
        decoder = codecs.getincrementaldecoder(name)()
        try:
            with _open(path) as file:
                while piece := file.read(PIECE):
                    decoder.decode(piece)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            continue
        return name
    return ENCODINGS[-1]


def find_separator(sample: str, complete: bool) -> str:
    """The separator with which most rows have one number of cells, at least two."""
    best, most = ",", 0.0
    for separator in (*SEPARATORS, SPACES):
        try:
            records = [record for record in beyond_remarks(sample_records(sample, separator, complete)) if record]
        except csv.Error:
            continue
        width = usual_width(records)
        share = sum(len(record) == width for record in records) / max(len(records), 1)
        if separator == SPACES and not (most == 0 and (_is_even(records, width) or _hold_numbers(records, width))):
            continue
        if width > 1 and share > most + 1e-9:
            best, most = separator, share
    return best


def _is_even(records: Records, width: int) -> bool:
    """Whether all rows have as many cells; the first may have one fewer, as R writes it."""
    return len(records) > 1 and len(records[0]) in (width, width - 1) and all(len(row) == width for row in records[1:])


def _hold_numbers(records: Records, width: int) -> bool:
    """Whether most rows have as many cells, and most of these hold numbers; 1 234 is one number and no two cells."""
    rows = [record for record in records if len(record) == width > 2]
    words = [word for row in rows for word in row]
    return 2 * len(rows) > len(records) and 2 * sum(parse(word) is not None for word in words) > len(words)


def sample_records(sample: str, separator: str, complete: bool) -> Records:
    """The rows of the beginning of a file, without the last one where it goes on."""
    records = list(records_of(io.StringIO(sample, newline=""), separator))
    return records if complete or len(records) < 2 else records[:-1]


def records_of(lines: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The cells of every row, blank rows too."""
    if separator == SPACES:
        return ([word.strip('"') for word in _WORD.findall(line)] for line in lines)
    return csv.reader(lines, delimiter=separator, skipinitialspace=True)


def open_text(path: Path, encoding: str) -> IO[str]:
    """The file as text, unpacked if it is packed, from behind ``sep=`` and the mark of UTF-8.

    Files in other encodings have that mark too.
    """
    file = _open(path)
    if file.read(len(codecs.BOM_UTF8)) != codecs.BOM_UTF8:
        file.seek(0)
    try:
        text = io.TextIOWrapper(file, encoding=encoding, newline="")
    except LookupError:
        raise ValueError(f"--encoding must be one that Python knows, such as utf-8; given {encoding!r}.") from None
    start = text.tell()
    try:
        if not DECLARED.fullmatch(text.readline(10)):
            text.seek(start)
    except UnicodeError:
        text.close()
        raise
    return text


def _open(path: Path) -> Any:
    return OPENERS.get(path.suffix.lower(), open)(path, "rb")


def words_of(columns: Iterable[Any]) -> Iterator[list[str]]:
    """The first words of every column that pandas did not take for numbers."""
    for column in columns:
        if column.dtype.kind not in "biufcM":
            yield [word for word in column.dropna().head(WORDS) if isinstance(word, str)]
