"""Where a table begins: remarks of programs above it, names in more rows than one, and what is packed."""

import io
import zipfile

import numpy as np
import pytest

from orthoprox.cli.tables import Choice, Reading, read_table
from orthoprox.datasets import DataUnavailable

BODY = [[1.5, 2.0, -3.25], [4.0, 5.5, 6.0], [-7.0, 8.0, 0.5]]
ROWS = "1.5,2,-3.25\n4,5.5,6\n-7,8,.5\n"


@pytest.fixture
def read(tmp_path):
    def read(content, name="a.csv", **reading):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(tmp_path / name, Reading(**reading), Choice())

    return read


def spaced(text):
    return text.replace(",", " ")


def semicolons(text):
    return text.replace(",", ";")


TOPS = {
    "more remarks than rows": ("# by hand\n" * 9 + semicolons("x,y,z\n" + ROWS), ("x", "y", "z"), "they begin with #"),
    "a remark with commas": ("# on Monday, with care\nx,y,z\n" + ROWS, ("x", "y", "z"), "it begins with #"),
    "a remark as wide": ("# I, you, they\n\nx,y,z\n" + ROWS, ("x", "y", "z"), "it begins with #"),
    "both kinds": ("! GEO\nmy data\nx,y,z\n" + ROWS, ("x", "y", "z"), "they have fewer cells or begin with !"),
    "names that NumPy marks": (spaced("# x,y,z\n" + ROWS), ("x", "y", "z"), ""),
    "a name that begins so": ("##v4\n#n,y,z\n" + ROWS, ("#n", "y", "z"), "Row 1 stands above the table and is left"),
    "a share": ("% x,y,z\n" + ROWS, ("% x", "y", "z"), ""),
    "units": ("x,y,z\nkg,m,\n" + ROWS, ("x kg", "y m", "z"), "Rows 1 to 2 were taken for names, such as 'x kg'."),
    "groups": ("blood,,skin\nNa,Cl,pH\n" + ROWS, ("blood Na", "blood Cl", "skin pH"), "Rows 1 to 2 were"),
    "groups and units": ("a,,b\nx,y,z\nkg,-,s\n" + ROWS, ("a x kg", "a y", "b z s"), "Rows 1 to 3 were"),
    "a line for spreadsheets": ("sep=;\r\n" + semicolons("x,y,z\n" + ROWS), ("x", "y", "z"), ""),
}


@pytest.mark.parametrize("how", TOPS)
def test_what_stands_above_the_numbers(how, read):
    text, names, note = TOPS[how]
    table = read(text)
    assert np.array_equal(table.X, BODY) and table.names == names
    assert [note in said for said in table.notes] == ([True] if note else [])
    first = text.splitlines().index(text.splitlines()[-3]) + 1 - text.startswith("sep=")
    assert table.rows.tolist() == [first, first + 1, first + 2]  # as a spreadsheet counts them


def test_rows_of_data_are_not_taken_for_names(read):
    for word in ("NA", "lost"):  # of one sample nothing is known
        table = read(f"x,y,z\n{word},{word},{word}\n" + ROWS, missing_words=("lost",))
        assert table.names == ("x", "y", "z") and table.notes == ("Row 2 is empty and left out.",)
    with pytest.raises(ValueError, match=r"Row 2, column A \('x'\) is 'oops'"):  # one word may be a mistake
        read("x,y,z\noops,1,2\n" + ROWS)
    table = read("# n,y,z\n1,2,3\n" + ROWS)
    assert table.names == ("# n", "y", "z") and table.X[0].tolist() == [1, 2, 3]
    table = read("# n,y,z\n1,2,3\n" + ROWS, header=False)
    assert table.names == ("A", "B", "C") and table.X[0].tolist() == [1, 2, 3]
    assert read("# by hand\n" * 9 + ROWS).names == ("A", "B", "C")
    assert read("n,y,z\n" + "".join(f"#{i},{i * i},{i % 2}\n" for i in range(5))).index[1] == "#1"


def test_names_in_a_workbook_may_look_like_empty_cells(read, tmp_path):
    book = pytest.importorskip("openpyxl").Workbook()
    for row in (["blood", None, "body"], ["Na", "K", "height"], ["mmol/l", "mmol/l", "cm"], *BODY):
        book.active.append(row)
    book.save(tmp_path / "b.xlsx")
    table = read((tmp_path / "b.xlsx").read_bytes(), "b.xlsx")
    assert table.names == ("blood Na mmol/l", "blood K mmol/l", "body height cm") and np.array_equal(table.X, BODY)


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("__", "/"), text)
    return out.getvalue()


def test_one_table_in_an_archive(read):
    assert np.array_equal(read(zipped(one="x,y,z\n" + ROWS), "a.csv.zip").X, BODY)
    with pytest.raises(DataUnavailable, match="holds 2 files, not one. Unpack it, and name the table"):
        read(zipped(one=ROWS, two=ROWS), "a.csv.zip")
    with pytest.raises(DataUnavailable, match=r"a.csv.zip cannot be read \(File is not a zip file\)"):
        read(b"hello", "a.csv.zip")
    locked = zipped(one=ROWS).replace(b"\x14\x00\x00\x00", b"\x14\x00\x01\x00")  # the bit that says so
    with pytest.raises(DataUnavailable, match="cannot be unpacked here .*encrypted.* Unpack it, and name the table"):
        read(locked, "a.csv.zip")
    with pytest.raises(ValueError, match="A table of text could be called a.csv.zip."):
        read(zipped(one=ROWS), "a.zip")
    for name in ("a.xlsx.gz", "a.parquet.zip", "a.mtx.bz2"):
        with pytest.raises(ValueError, match="is packed, and .* files are read as they are. Unpack it"):
            read(zipped(one=ROWS), name)
