"""Reading tables: what is found out, what is left out, and where a sentence says that something is wrong."""

import bz2
import gzip
import lzma
import sys

import numpy as np
import pandas
import pytest
from scipy.io import mmwrite
from scipy.sparse import coo_array

from orthoprox.cli.tables import Choice, Raw, Reading, read_table
from orthoprox.cli.tables.clean import clean
from orthoprox.cli.tables.files import _of_frame
from orthoprox.cli.tables.numbers import parse
from orthoprox.datasets import DataUnavailable


@pytest.fixture
def read(tmp_path):
    """Write a file, read it as a table."""

    def read(content, name="a.csv", **options):
        if content is not None:
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        reading = {key: options.pop(key) for key in list(options) if key in Reading.__dataclass_fields__}
        return read_table(tmp_path / name, Reading(**reading), Choice(**options))

    return read


BODY = [[1.5, 2.0, -3.25], [4.0, 5.5, 6.0], [-7.0, 8.0, 0.5]]
COMMAS = "x;y;z\n1,5;2;-3,25\n4;5,5;6\n-7;8;0,5\n"
PLAIN = "x,y,z\n1.5,2,-3.25\n4,5.5,6\n-7,8,.5\n"
SAME = {
    "commas": PLAIN,
    "tabs": PLAIN.replace(",", "\t"),
    "bars": PLAIN.replace(",", "|"),
    "spaces": PLAIN.replace(",", "  "),
    "windows line ends": PLAIN.replace("\n", "\r\n"),
    "no last line end": PLAIN.rstrip(),
    "blank lines": PLAIN.replace("\n", "\n\n"),
    "quotes": '"x","y","z"\n"1.5","2","-3.25"\n"4","5.5","6"\n"-7","8",".5"\n',
    "decimal commas": COMMAS,
    "decimal commas in quotes": '"x","y","z"\n"1,5","2","-3,25"\n"4","5,5","6"\n"-7","8","0,5"\n',
    "byte order mark and semicolons": b"\xef\xbb\xbf" + COMMAS.encode(),
    "utf-16": PLAIN.encode("utf-16"),
    "commas at the end of lines": PLAIN.replace("\n", ",\n"),
    "commas at the end of lines but the first": PLAIN.replace("\n", ",\n").replace("z,", "z", 1),
    "utf-32": PLAIN.encode("utf-32"),
    "a space or a sign of money after the minus": "x,y,z\n$1.5,2,- 3.25\n$4,5.5,6\n-$ 7,8,.5\n",
    "accountants": "x,y,z\n1.50 €,2,(3.25)\n4.00 €,5.5,6\n-7.00 €,8,.5\n",
    "unicode minus": PLAIN.replace("-", "\u2212"),
    "lines above": "Export of today\nby me,\n\n" + PLAIN,
}


@pytest.mark.parametrize("how", SAME)
def test_one_table_in_many_ways(how, read):
    table = read(SAME[how])
    assert np.array_equal(table.X, BODY) and table.names == ("x", "y", "z")
    first, step = (5, 1) if how == "lines above" else (2 + (how == "blank lines"), 1 + (how == "blank lines"))
    assert table.rows.tolist() == [first + step * i for i in range(3)]  # as a spreadsheet counts them


def test_a_comma_is_a_mark_or_parts_thousands(read):
    assert read("a;b\n1,234;1\n2,345;5\n").X[:, 0].tolist() == [1.234, 2.345]  # semicolons are there for its sake
    assert read('a,b\n"1,234",1\n"2,345",5\n').X[:, 0].tolist() == [1234, 2345]
    assert read("a;b\n1 234,5;1\n2 345,6;5\n").X[:, 0].tolist() == [1234.5, 2345.6]
    assert read("a;b;c\n1.234;0,5;2\n2.345;1,5;7\n").X[:, 0].tolist() == [1234, 2345]  # b has told
    assert read(None, decimal=".", drop=("b",)).X[:, 0].tolist() == [1.234, 2.345]


def test_packed_and_r_tables(read, tmp_path):
    assert np.array_equal(read(gzip.compress(PLAIN.encode()), "a.tsv.gz").X, BODY)
    table = read(
        '"x" "y" "z"\n"ann" 1.5 2 -3.25\n"bob" 4 5.5 6\n"cy" -7 8 .5\n', "r.txt"
    )  # R gives names of rows no name
    assert np.array_equal(table.X, BODY) and table.index == ("ann", "bob", "cy") and table.names == ("x", "y", "z")


HEADERS = {
    "land,1990,1995,2000\nA,1,2,5\nB,3,4,4\nC,8,8,1\n": ("1990", "1995", "2000"),
    "1990,1991\n1.5,2\n3,4\n8,8\n": ("1990", "1991"),
    ",0,1,2\nu,1.5,2,2\nv,3,4,9\nw,5,1,1\n": ("0", "1", "2"),
    "3.5,2,1\n1.5,2,2\n3,4,9\n": ("A", "B", "C"),
    "2001,2002\n2003,2004\n2005,2009\n": ("A", "B"),
    "town,2020,2021,2022\nA,2001,2010,2017\nB,1990,1985,1994\nC,2004,2001,1999\n": ("2020", "2021", "2022"),
    "2001,2002,2003\n2002,2003,2004\n2010,2011,2012\n": ("A", "B", "C"),
    "1950,1975,2015\n1960,1958,1999\n1970,1993,2020\n": ("A", "B", "C"),
    "ann,3.5,2\nbob,1.5,4\ncy,4,9\n": ("B", "C"),
}


@pytest.mark.parametrize("text", HEADERS)
def test_names_are_found_even_where_they_are_years(text, read):
    assert read(text).names == HEADERS[text]


def test_a_byte_order_mark_is_no_part_of_a_name(read):
    mark = b"\xef\xbb\xbf"
    text = "größe,b\n1,2\n3,5\n"
    assert read(mark + text.encode(), encoding="utf-8").names == ("größe", "b")
    for encoding in (None, "latin-1"):  # a mark says UTF-8, and the text is not
        assert read(mark + text.encode("latin-1"), encoding=encoding).names == ("größe", "b")


def test_what_is_left_out_and_what_names_the_rows(read):
    text = "n,patient,phone,dose,seen,age,sex,flag,site id,empty,same,pain\n"
    for i, age in enumerate([31, 45, 28, 60]):
        text += f"{i + 1},p{i},+49 170 123456{i},{i + 2} mg,2024-01-0{i + 1},{age},{'mf'[i % 2]},"
        text += f"{'True' if i else 'False'},{900 - 13 * i},,5,{i * i}\n"
    table = read(text)
    assert table.names == ("age", "flag", "pain") and table.X[:, 1].tolist() == [0, 1, 1, 1]
    assert (table.index_name, table.index) == ("n", ("1", "2", "3", "4"))
    why = {one.name: one.why for one in table.left_out}
    assert why == {
        "patient": "text",
        "phone": "text",
        "dose": "text: numbers with units, such as '2 mg'; without them it could take part",
        "seen": "dates",
        "sex": "text: 'f' or 'm'; written as 0 and 1 it could take part",
        "site id": "an id: whole numbers, all different",
        "empty": "empty",
        "same": "constant: 5 everywhere",
    }
    assert {one.name: one.place for one in table.left_out}["site id"] == "column I"
    table = read(None, index="patient", drop=("pa*", "pain,flag"), only=("age", "pain", "site id", "patient"))
    assert table.names == ("age",) and table.index[0] == "p0"
    table = read(None, only=("age", "pain"))
    assert table.names == ("age", "pain") and table.index_name == "n"  # --only chooses features, and samples keep names
    assert read(None, only=("age", "pain"), drop=("n",)).index_name == "patient"


def test_a_word_for_an_empty_cell_counts_in_every_file_however_it_is_written(read, tmp_path):
    text = "a;b;c\n-999,00;1,5;x\n2;-999;y\n3;2,5;n.d.\n4;3;y\n5;n.d.;z\n"
    table = read(text, missing_words=("-999", "n.d."), missing="median")
    assert table.X.tolist() == [[3.5, 1.5], [2, 2.5], [3, 2.5], [4, 3], [5, 2.5]]
    A = np.array([[-999, 1.5], [2, np.inf], [3, 2.5], [3, -np.inf], [4, 8]])
    wanted = [[3, 1.5], [2, 2.5], [3, 2.5], [3, 2.5], [4, 8]]
    np.save(tmp_path / "a.npy", A)
    assert read(None, "a.npy", missing_words=("-999", "inf"), missing="median").X.tolist() == wanted
    np.save(tmp_path / "a.npy", A.astype(np.float32))
    assert read(None, "a.npy", missing_words=("-999", "inf"), missing="median").X.tolist() == wanted
    text = "a,b\n-999,1.5\n2,-Infinity\n3,2.5\n3,1e999\n4,8\n"
    assert read(text, missing_words=("-999", "inf"), missing="median").X.tolist() == wanted
    mmwrite(tmp_path / "a.mtx", coo_array([[1.0, 0], [2, 3], [0, 4], [-9, 1]]))
    assert read(None, "a.mtx", missing_words=("-9",), missing="drop-rows").X.toarray().tolist() == [
        [1, 0],
        [2, 3],
        [0, 4],
    ]
    words = pandas.Series(["n.d.", 1.5, "2", 3.5], dtype=object)
    raw = Raw({"a": words, "b": pandas.Series([1, 2, 3, 5])}, np.arange(4) + 2, {"a": 1, "b": 2})
    assert clean(raw, Choice(missing="drop-rows"), ("n.d.",)).X.tolist() == [[1.5, 2], [2, 3], [3.5, 5]]


def test_only_names_of_ids_are_taken_for_such(read):
    ids = ("id", "Patient ID", "site_id", "userId", "orderid", "sample nr.", "index", "key", "Unnamed: 0")
    others = ("paid", "uric acid", "COVID", "valid", "price index", "index of mass", "keyed", "now", "row2")
    table = read(",".join([*ids, *others]) + "\n" + "".join(",".join([str(7 * i * i)] * 18) + "\n" for i in (3, 1, 5)))
    assert table.names == others and table.index_name == "id" and {one.name for one in table.left_out} == {*ids[1:]}


def test_columns_with_another_decimal_mark_are_not_lost(read):
    for text, sentence in (
        (
            "a;b;c\n1,5;0.123;3\n2,5;0.456;4\n7,25;0.5;5\n",
            r"^Column B \('b'\) has decimal points, such as '0.123', and",
        ),
        ('a,b\n1.5,"0,123"\n2.5,"0,456"\n3.7,"0,5"\n', r"^Column A \('a'\) has decimal points, such as '1.5', and the"),
    ):
        with pytest.raises(ValueError, match=sentence + r".* give --decimal \., or leave the column out \(--drop"):
            read(text)
    table = read("who;paid\nA;900\nB;1.100\nC;2.000\n")
    assert table.notes == ("'paid' has 1.100, read as 1.1; if points part thousands, give --decimal ,",)
    assert read(None, decimal=",").X[:, 0].tolist() == [900, 1100, 2000]
    assert not read("who;size\nA;9\nB;1.100\nC;0.200\n").notes and not read("who;size\nA;9.375\nB;1.100\n").notes


def test_a_row_of_nothing_is_told_where_others_follow(read):
    assert read("a,b\n1,2\nNA,-\n3,4\n,\n\n5,9\n\n").notes == ("Rows 3, 5 to 6 are empty and left out.",)
    assert read("a,b\n1,2\n3,4\n5,9\n,\n\x1a").notes == ()


WRONG = {
    "a,b\n1,2\n<5,3\n4,5\n7,8\n": "Row 3, column A ('a') is '<5', where the other cells of the column are numbers. "
    "Mend the file, leave the column out (--drop a), or take it for an empty cell (--missing-word '<5').",
    "a,b\n1,2\n3,inf\n4,5\n": "Row 3, column B ('b') is infinite, or beyond what a float holds. Mend the file",
    "a,b\n1,2\n3,1e400\n4,5\n": "Row 3, column B ('b') is infinite, or beyond what a float holds. Mend the file",
    "a  b  c\n1  2  3\n4  5  6\n7  8  9  10\n": "a.csv has 4 cells in row 4, and 3 columns. Put texts with spaces",
    "a,b\n1,2\n5,3,4\n4,5\n7,8\n": "a.csv has 3 cells in row 3, and 2 columns. Put texts with commas",
    "a,b\n1,2,3\n4,5\n6,7\n8,9\n": "a.csv has 3 cells in row 2, and 2 columns.",
    'a,b\n1,2\n3,"2\n2,2\n': "a.csv has a quote that opens in row 3 and is never closed.",
    'a,b,t\n1,2,"x\ny"\n\n4,,\n7,8,u\n': "1 cell of 6 is empty or not a number: 'b' 1 (row 4, column B).",
    "a,b\n1,2\n": "The table has 1 sample, and a fit needs at least 2.",
    "a,b\nx,y\nz,w\n": "No column holds numbers to fit: there is 'a' (text), 'b' (text).",
    "a,b\n": "has names and no rows below them",
    "\n \n": "is empty: it has no rows",
    '"\t"\n': "has names and no rows below them",
    "a,b\n1,\0\n": "it holds zero bytes",
    "<!doctype html><html></html>": "is a web page and no table",
    '[{"a": 1, "b": 2}]': "is JSON and no table",
    'a,"b\n1,2\n2,3\n': "a.csv has a quote that opens in its names and is never closed.",
    "a,b\n2,2\n2,2\n": "All 2 columns of numbers are constant, 2 everywhere: there is no variance",
}


@pytest.mark.parametrize("text", WRONG)
def test_a_sentence_says_where(text, read):
    with pytest.raises((ValueError, DataUnavailable)) as caught:
        read(text)
    assert WRONG[text] in str(caught.value)


def test_archives_that_are_damaged_or_have_another_name_are_named(read):
    whole = {"gz": gzip.compress(PLAIN.encode()), "xz": lzma.compress(PLAIN.encode()), "bz2": bz2.compress(b"a,b\n1,2")}
    for ending, packed in whole.items():
        for damaged in (packed[:-9], packed[:11] + bytes(9) + packed[20:], PLAIN.encode()):
            with pytest.raises(DataUnavailable, match=rf"a\.csv\.{ending} cannot be read \(.*\)"):
                read(damaged, f"a.csv.{ending}")
        with pytest.raises(DataUnavailable, match=rf"is packed, and no table of text yet. Call it a\.csv\.{ending}\."):
            read(packed)
    with pytest.raises(DataUnavailable, match=r"is a workbook or another archive. Call it a\.xlsx if it is a workbook"):
        read(b"PK\x03\x04\x14\x00\x06\x00")


def test_texts_may_be_long_and_an_encoding_that_does_not_fit_is_a_sentence(read):
    table = read("a,b,t\n" + "".join(f'{i},{i * i},"{"x" * 200_000}"\n' for i in range(3)), only=("a", "b"))
    assert table.names == ("b",) and table.X.tolist() == [[0], [1], [4]]
    with pytest.raises(DataUnavailable, match=r"a\.csv has a quote that opens in row 2 and is never closed\."):
        read('a,b\n1,"2\n' + "2,5\n" * 80_000)
    for encoding in ("utf-8", "utf-16"):
        with pytest.raises(DataUnavailable, match=rf"is not in the encoding {encoding} \(.*\)\. Leave --encoding out"):
            read("a,b\n1,\xfc\n".encode("latin-1"), encoding=encoding)


def test_a_covariance_matrix_is_not_taken_for_samples_without_a_word(read):
    said = lambda text: any("--covariance" in note for note in read(text).notes)
    assert said(",x,y,z\nx,4,1.5,0\ny,1.5,9,-2\nz,0,-2,1\n")
    assert said("x,y,z\n1,.5,0\n.5,1,.25\n0,.2500001,1\n")
    assert not said("x,y,z\n1,.5,0\n.5,1,.25\n0,.3,1\n")  # not symmetric
    assert not said(",x,y,z\nx,0,3,4\ny,3,0,5\nz,4,5,0\n")  # distances
    assert not said("x,y,z\n1,2,0\n2,1,.25\n0,.25,1\n")  # a correlation of 2
    assert not said("x,y,z\n1,.5,0\n.5,-1,.25\n0,.25,1\n")


def test_places_of_a_transposed_table_are_those_of_the_file(read):
    text = "gene\ts1\ts2\ts3\nA\t1\t2\t3\nB\t4\t\t9\nC\t5\t5\t1\n"
    with pytest.raises(ValueError, match=r"'B' 1 \(row 3, column C\)\. .* keeps 2 of 3 samples \(columns\)"):
        read(text, "g.tsv", transpose=True)
    table = read(None, "g.tsv", transpose=True, missing="drop-columns")
    assert table.names == ("A", "C") and [(one.name, one.place) for one in table.left_out] == [("B", "row 3")]
    assert np.array_equal(table.X, [[1, 5], [2, 5], [3, 1]]) and table.index == ("s1", "s2", "s3")
    text = "gene\ts1\ts2\nA\t1\t2\nA\t4\t9\n"
    for only in ((), ("s*",)):  # names that are the same are names too, also where --only passes them over
        assert read(text, "g.tsv", transpose=True, only=only).names == ("A", "A (2)")


def test_files_that_are_not_there_or_not_tables(read, tmp_path):
    (tmp_path / "patients.csv").write_text("a,b\n1,2\n")
    for name, words in {
        "patient.csv": "Did you mean 'patients.csv'?",
        "": "is a folder. Name the file of the table in it.",
    }.items():
        with pytest.raises(DataUnavailable, match=words.replace("?", r"\?")):
            read(None, name)
    with pytest.raises(ValueError, match="A table of text could be called b.csv"):
        read("1,2", "b")
    with pytest.raises(ValueError, match="Did you mean 'weight'"):
        read("weight,b\n1,2\n3,4\n", drop=("weigh",))


def test_a_workbook(read, tmp_path, monkeypatch):
    pytest.importorskip("openpyxl")
    frame = pandas.DataFrame(BODY, columns=[1990, 1991, 1992], index=["u", "v", "w"])
    with pandas.ExcelWriter(tmp_path / "b.xlsx") as book:
        pandas.DataFrame({"note": ["see the other sheet"]}).to_excel(book, sheet_name="Read me", index=False)
        frame.assign(day=pandas.Timestamp("2024-01-01")).to_excel(book, sheet_name="Data", startrow=2)
    with pytest.raises(ValueError, match="Only the sheet 'Read me' was read; --sheet names another: 'Data'"):
        read(None, "b.xlsx")
    table = read(None, "b.xlsx", sheet="Data")
    assert np.array_equal(table.X, BODY) and table.names == ("1990", "1991", "1992") and table.index == ("u", "v", "w")
    assert table.rows.tolist() == [4, 5, 6] and [one.why for one in table.left_out] == ["dates"]
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ModuleNotFoundError, match=r"orthoprox\[excel\]"):
        read(None, "b.xlsx")


def test_words_in_a_workbook_are_numbers_as_in_a_file_of_text(read, tmp_path):
    pytest.importorskip("openpyxl")
    days = [pandas.Timestamp(2024, 1, day) for day in (1, 2, 3, 4)]
    text, gaps = ["1.084,5", "2,5", "3,25", "9"], [1.5, "-", 3, "n/a"]
    frame = pandas.DataFrame({"day": days, days[0]: text, "gaps": gaps, "same": [1, 5, 2.5, 7]})
    frame.to_excel(tmp_path / "b.xlsx", index=False)
    table = read(None, "b.xlsx", missing="median")
    assert table.X[:, 0].tolist() == [1084.5, 2.5, 3.25, 9] and table.X[:, 1].tolist() == [1.5, 2.25, 3, 2.25]
    assert table.names == ("2024-01-01", "gaps", "same") and table.index[0] == "2024-01-01"
    with pytest.raises(ValueError, match="decimal commas.*give --decimal ,"):
        read(None, "b.xlsx", missing="median", decimal=".")
    frame.columns = list(map(str, frame.columns))
    raw = _of_frame(frame, tmp_path / "b.parquet", Reading())  # a frame of Arrow holds such words too
    assert raw.decimal == "," and clean(raw, Choice(missing="median")).X.tolist() == table.X.tolist()


@pytest.mark.parametrize(("levels", "name"), [(["year", "town"], "year, town"), ([None, None], "index")])
def test_the_levels_of_an_index_name_the_rows_together(levels, name, tmp_path):
    index = pandas.MultiIndex.from_product([[2001, 2002], ["Bonn", "Ulm"]], names=levels)
    frame = pandas.DataFrame({"a": [1.0, 2, 4, 8], "b": [1.0, 3, 9, 27]}, index=index)
    table = clean(_of_frame(frame, tmp_path / "b.parquet", Reading()), Choice())
    assert table.names == ("a", "b") and table.X.tolist() == frame.to_numpy().tolist()
    assert table.index_name == name and table.index[1] == "2001, Ulm"


def test_counts_of_cells_have_their_names_beside_them(read, tmp_path):
    A = coo_array(np.array([[1, 0, 2, 0], [0, 3, 0, 1], [4, 0, 0, 5]]))
    mmwrite(tmp_path / "s1_matrix.mtx", A)
    (tmp_path / "s1_features.tsv").write_text("ENSG1\tTP53\tgene\nENSG2\tMYC\tgene\nENSG3\tMYC\tgene\n")
    (tmp_path / "s1_barcodes.tsv.gz").write_bytes(gzip.compress(b"AAAC\nAAAG\nAAAT\nAACC\n"))
    for options in ({}, {"transpose": True}):  # the form of the files says it already
        table = read(None, "s1_matrix.mtx", **options)
        assert table.names == ("TP53", "MYC", "MYC (2)") and table.index == ("AAAC", "AAAG", "AAAT", "AACC")
        assert np.array_equal(table.X.toarray(), A.toarray().T)
        assert table.notes[0] == "Samples are in columns, as s1_features.tsv says."


def test_numbers_in_words():
    said = {"1,234.5": 1234.5, "1'000": 1000, "12 %": 12, "$5": 5, "7-": -7, "1e3": 1000, "1 000": 1000, "12a": None}
    said |= {"+49 170 1234567": None, "1,234'567": None, "1 000,5": None}
    assert {word: parse(word) for word in [*said, "1,5", "٣"]} == {**said, "1,5": None, "٣": None}
    assert [parse(word, ",") for word in ("1.234,5", "1.5", "-0,25", "1 000,5")] == [1234.5, None, -0.25, 1000.5]
    assert parse("0,125") is parse("0.125", ",") is None  # the other mark, and no thousands


@pytest.mark.parametrize(
    ("name", "option", "value"),
    [("a.csv", "sheet", "2"), ("a.csv.gz", "sheet", "2"), ("a.npy", "decimal", ","), ("a.parquet", "header", False)],
)
def test_options_of_another_kind_of_file_are_refused(name, option, value, read):
    with pytest.raises(ValueError, match=f"^--{option} is for .*, and has no meaning for {name}. Leave it out"):
        read("anything", name, **{option: value})


def test_numbers_that_may_mean_empty_cells_are_named(read):
    text = "age,income,answer,change\n31,2500,4,-3\n-99,2100,5,2\n44,999999,1,-99\n52,3000,2,-30\n-99,999999,9,40\n"
    first, second = read(text).notes
    assert first.startswith("-99 stands in 2 cells of 'age', far from") and first.endswith("give --missing-word -99.")
    assert second.startswith("999999 stands in 2 cells of 'income'")  # 9 of 1 to 5 is near, -99 of 'change' as well
    assert not read(text, missing_words=("-99", "999999"), missing="median").notes[1:]  # what took the medians
    assert not read("a,b\n99,1\n99,2\n3,4\n", missing_words=()).notes  # one other value tells nothing


def test_a_last_row_that_sums_up_the_others_is_named(read):
    text = "day,rent,food\nMon,1.25,3\nTue,2.5,-4\nWed,3,7.5\n"
    assert not read(text).notes
    assert read(text + "end,6.75,6.5\n").notes[0].startswith("Row 5 ('end'), the last sample, is the sum of all others")
    assert read(text + "Total:,60,7\n").notes[0].startswith("Row 5 ('Total:'), the last sample, is a total or a mean")
    text = "rent,food\n1.25,3\n2.5,-4\n,7.5\n3.75,6.5\n"
    assert read(text, missing="median").notes[0].startswith("Row 5, the last sample, is the sum of all others")
    text = "gene,u,v,all\na,1,2,3\nb,5,1,6\n"
    assert read(text, transpose=True).notes[0].startswith("Column D ('all'), the last sample, is the sum")
    assert not read("a,b\n1e-9,2e-9\n3e-9,1e-9\n2e-9,7e-9\n").notes
    assert not read("a\n1.5\n2\n3.5\n").notes  # one feature may add up by chance
    assert not read("a,b\n1,-1\n-1,1\n1,1\n-1,-1\n0,0\n").notes  # a design with its centre


def test_a_last_row_is_a_total_though_cells_are_empty_sums_cancel_and_its_name_is_in_a_column_of_text(read):
    text = "town,shop,rent,food,change,share\nBonn,a,1.25,3,0.1,20\nBonn,b,2.5,-4,0.2,40\nUlm,a,3,7.5,-0.3,41\n"
    note = read(text + "end,,6.75,6.5,0,\n", missing="median").notes[0]  # 0.1 + 0.2 - 0.3 is 5.6e-17
    assert note.startswith("Row 5, the last sample, is the sum of all others")
    for name in ("Total", "Mean:"):
        note = read(text + f"{name},,60,7,1,50\n").notes[0]
        assert note.startswith(f"Row 5 ({name!r}), the last sample, is a total or a mean by its name")
    assert not read(text + "Ulm,b,60,7,1,50\n").notes
