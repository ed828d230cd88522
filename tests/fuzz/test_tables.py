"""Tables of text, right and wrong: the numbers come back with every digit, or a sentence says why not."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas
from hypothesis import given
from hypothesis import strategies as st

from fuzz.campaign import campaign
from orthoprox.cli.tables import Choice, Reading, read_table
from orthoprox.datasets import DataUnavailable

WAYS = st.sampled_from([(",", "."), (";", "."), (";", ","), ("\t", "."), ("\t", ","), ("|", ",")])
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"])
NUMBERS = st.floats(-1e300, 1e300, allow_subnormal=True)
CELLS = [
    "1",
    "2.5",
    "1,5",
    "1.234,5",
    "12%",
    "€",
    "abc",
    "NA",
    "",
    "?",
    "inf",
    "True",
    "2024-01-02",
    '"',
    '"x\ny"',
    "'",
]
CELLS += ["1990", "  ", "\t", ";", ",", "|", "\r", "\n", "é", "\u2212", "9" * 30, "0x10", "(5)", "1e400", "\x0b", "\0"]


def read(content: bytes, reading: Reading | None = None, choice: Choice | None = None):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.csv"
        path.write_bytes(content)
        return read_table(path, reading or Reading(), choice or Choice())


@campaign(20)
@given(
    st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=8, unique=True),
    WAYS,
    ENCODINGS,
    st.sampled_from(["\n", "\r\n"]),
)
def test_numbers_come_back_with_every_digit(rows, way, encoding, end):
    """Written by pandas with any separator and decimal mark; texts beside them hold both signs."""
    separator, decimal = way
    frame = pandas.DataFrame(rows, columns=["größe", "b"])
    frame["sure"] = 0.5 + 1.25 * np.arange(len(frame)) ** 2  # a column in which the decimal mark is beyond doubt
    frame.insert(0, "who", [f'n{i}; "x", | y' for i in range(len(frame))])
    text = frame.to_csv(sep=separator, decimal=decimal, index=False, lineterminator=end)
    wanted = frame.drop(columns="who").loc[:, lambda numbers: (numbers != numbers.iloc[0]).any()]
    table = read(text.encode(encoding))
    assert table.names == tuple(wanted.columns) and np.array_equal(table.X, wanted)
    assert table.index == tuple(frame["who"]) and table.rows.tolist() == list(range(2, len(frame) + 2))


@campaign(40)
@given(
    st.lists(st.lists(st.sampled_from(CELLS) | NUMBERS.map(repr), max_size=5), max_size=7),
    st.sampled_from([",", ";", "\t", "|", " "]),
    st.builds(
        Reading,
        header=st.sampled_from([None, True, False]),
        decimal=st.sampled_from([None, ".", ","]),
        separator=st.sampled_from([None, ",", ";", "\t", r"\s+"]),
    ),
    st.builds(Choice, transpose=st.booleans(), missing=st.sampled_from([None, "drop-rows", "median", "drop-columns"])),
)
def test_a_mess_is_a_table_of_finite_numbers_or_a_sentence(rows, separator, reading, choice):
    content = "\n".join(separator.join(row) for row in rows).encode()
    said = ""
    try:
        table = read(content, reading, choice)
    except (ValueError, DataUnavailable) as error:
        said = str(error)
    if said:
        assert said.endswith((".", "?")) and len(said) > 20
        return
    m, n = table.X.shape
    assert np.all(np.isfinite(table.X)) and m > 1 and n > 0
    assert len(set(table.names)) == len(table.names) == len(table.columns) == n
    assert len(table.index) == len(table.rows) == m
