"""Files of every format, damaged in every way: each is read or refused in a sentence, and none harms the process."""

from __future__ import annotations

import gzip
import io
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.io import mmwrite
from scipy.sparse import coo_array, save_npz

from fuzz.campaign import campaign
from fuzz.reader import Reader

pytestmark = pytest.mark.linux  # the process that reads has a limit of memory, and is asked with a time limit
A = np.round(np.random.default_rng(5).standard_normal((7, 5)), 3) * (np.random.default_rng(6).random((7, 5)) < 0.6)
A[0] = [1.0, 0.25, -3.0, 0.5, 2.0]  # every column has an entry
SPARSE = coo_array(A)


def saved(save, *arguments, **options):
    file = io.BytesIO()
    save(file, *arguments, **options)
    return file.getvalue()


def svmlight_text():
    rows = [" ".join([str(i), *(f"{j + 1}:{A[i, j]:.17g}" for j in range(5) if A[i, j])]) for i in range(7)]
    return "\n".join(rows).encode() + b"\n"


CSV = saved(np.savetxt, A, delimiter=",", header="a,b,c,d,e", comments="")
MARKET = saved(mmwrite, SPARSE)
BINARY = {
    "a.npy": saved(np.save, A),
    "dense.npz": saved(np.savez, X=A),
    "packed.npz": saved(np.savez_compressed, X=A, y=np.arange(3)),
    **{f"{form}.npz": saved(save_npz, SPARSE.asformat(form)) for form in ("csr", "csc", "coo", "dia")},
    "bsr.npz": saved(save_npz, coo_array(A[:6, :4]).tobsr((2, 2))),
    "a.mtx.gz": gzip.compress(MARKET),
    "a.svmlight.gz": gzip.compress(svmlight_text()),
    "images": struct.pack(">4i", 2051, 7, 1, 5) + bytes(range(35)),
}
TEXT = {
    "a.csv": CSV,
    "a.tsv": CSV.replace(b",", b"\t"),
    "a.mtx": MARKET,
    "dense.mtx": saved(mmwrite, A),
    "a.svmlight": svmlight_text(),
}
ARCHIVES = [name for name in BINARY if name.endswith(".npz")]
WORDS = [b"0", b"-1", b"1e300", b"-1e-320", b"1e999", b"nan", b"inf", b"99999999999", b"9" * 30, b"9" * 5000, b"1.5"]
WORDS += [b"x", b"", b"\xff", b"\x00", b"1:1", b"0:7", b",", b'"', b"#", b"%", b"\n", b"\n\n", b"coordinate", b"array"]
WORDS += [b"complex", b"pattern", b"skew-symmetric", b"1_0"]


@st.composite
def damaged_bytes(draw):
    """A file with some bits turned, cut off, or with a piece of it put somewhere else."""
    name = draw(st.sampled_from([*BINARY, *TEXT]))
    content = bytearray({**BINARY, **TEXT}[name])
    for _ in range(draw(st.integers(1, 4))):
        where, other = (draw(st.integers(0, len(content))) for _ in range(2))
        how = draw(st.sampled_from(["flip", "byte", "cut", "move", "repeat"]))
        size = draw(st.integers(1, 16))
        if how == "flip" and where < len(content):
            content[where] ^= 1 << draw(st.integers(0, 7))
        elif how == "byte":
            content[where : where + size] = draw(st.binary(min_size=size, max_size=size))
        elif how == "cut":
            del content[where:]
        elif how == "move":
            content[where : where + size] = content[other : other + size]
        else:
            content[where:where] = content[other : other + size]
    return name, bytes(content)


@st.composite
def damaged_text(draw):
    """A text with some of its words replaced by others."""
    name = draw(st.sampled_from(list(TEXT)))
    mark = {"a.csv": b",", "a.tsv": b"\t"}.get(name, b" ")
    lines = [line.split(mark) for line in TEXT[name].splitlines()]
    for _ in range(draw(st.integers(1, 3))):
        line = lines[draw(st.integers(0, len(lines) - 1))]
        line[draw(st.integers(0, len(line) - 1))] = draw(st.sampled_from(WORDS))
    return name, b"\n".join(mark.join(line) for line in lines)


@st.composite
def damaged_arrays(draw):
    """A NumPy archive that is sound, with arrays that are not."""
    name = draw(st.sampled_from(ARCHIVES))
    with np.load(io.BytesIO(BINARY[name])) as file:
        arrays = dict(file)
    for _ in range(draw(st.integers(1, 3))):
        entry = draw(st.sampled_from(list(arrays)))
        new = draw(st.sampled_from(CHANGES))(arrays[entry], draw(st.integers(-(2**70), 2**70)))
        arrays.pop(entry) if new is None and len(arrays) > 1 else arrays.update(
            {entry: arrays[entry] if new is None else new}
        )
    return name, saved(np.savez, allow_pickle=True, **arrays)


def with_entry(array, number):
    """One entry replaced; large and small numbers alike."""
    new = np.array(array)
    if new.size and new.dtype.kind in "iuf":
        scale = number >> (abs(number) % 70)
        info = np.iinfo(new.dtype) if new.dtype.kind in "iu" else np.finfo(new.dtype)
        new.reshape(-1)[number % new.size] = min(max(scale, info.min), info.max)
    return new


CHANGES = [
    with_entry,
    with_entry,
    lambda array, number: array[::-1] if array.ndim else array,
    lambda array, number: array[: number % (len(array) + 1)] if array.ndim else array,
    lambda array, number: np.concatenate([array, array]) if array.ndim else array,
    lambda array, number: array.reshape(-1),
    lambda array, number: array.astype(
        "f8" if array.dtype.kind in "iu" else "f4" if array.dtype.kind == "f" else object
    ),
    lambda array, number: array.astype("U"),
    lambda array, number: np.array([{"number": number}], dtype=object),
    lambda array, number: np.array(["csr", "csc", "coo", "dia", "bsr", "lil"][number % 6].encode()),
    lambda array, number: array.astype(complex) if array.dtype.kind in "iuf" else array,
    lambda array, number: None,
]


@st.composite
def damaged_headers(draw):
    """A .npy file, alone or in an archive, whose header promises something else."""
    side = st.sampled_from([0, 1, 2, 5, 7, 35, 36, -1, -5, 10**6, 10**12, 2**31, 2**62, 2**64, 2.5, "5", None])
    shape = draw(st.one_of(st.lists(side, max_size=3).map(tuple), side))
    descr = draw(
        st.sampled_from(["<f8", ">f8", "<f4", "<i8", "|b1", "<c16", "|O", "<U4", "|V8", "<M8[s]", "<f16", "x"])
    )
    fields = {"descr": descr, "fortran_order": draw(st.sampled_from([False, True, 1])), "shape": shape}
    if draw(st.booleans()):
        fields.pop(draw(st.sampled_from(list(fields))))
    text = (repr(fields) + " " * draw(st.integers(0, 60)) + "\n").encode()
    version = draw(st.sampled_from([1, 1, 1, 2, 3, 9]))
    length = struct.pack("<H" if version == 1 else "<I", max(0, len(text) + draw(st.sampled_from([0, 0, 0, -3, 9]))))
    content = b"\x93NUMPY" + bytes([version, 0]) + length + text + A.tobytes()
    if draw(st.booleans()):
        return "a.npy", content
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(draw(st.sampled_from(["X.npy", "X", "y.npy"])), content)
    return "a.npz", file.getvalue()


@pytest.fixture(scope="module")
def reader():
    asked = Reader()
    yield asked
    asked.close()


@pytest.fixture(scope="module")
def folder():
    with tempfile.TemporaryDirectory() as place:
        yield Path(place)


@pytest.mark.parametrize("name", [*BINARY, *TEXT])
def test_the_files_are_good_before_they_are_damaged(name, folder, reader):
    (folder / name).write_bytes({**BINARY, **TEXT}[name])
    answer = reader.read(folder / name, kind="raw" if Path(name).suffix else "images")
    assert "loaded" in answer, answer
    if answer["loaded"] is not None:
        assert np.array_equal(answer["loaded"], A[:6, :4] if name == "bsr.npz" else A)


@campaign(150)
@given(
    file=st.one_of(damaged_bytes(), damaged_text(), damaged_arrays(), damaged_headers()),
    prepare=st.sampled_from(["raw", "center", "paper"]),
)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(file, prepare, folder, reader):
    name, content = file
    path = folder / name
    path.write_bytes(content)
    answer = reader.read(path, kind=prepare if path.suffix else "images")
    assert "crash" not in answer, answer["crash"]
    if answer.get("by") in ("DataUnavailable", "DataDamaged"):
        assert answer["refused"].startswith(f"{path} ") and answer["refused"].endswith(".")
    elif answer.get("by"):
        assert not path.suffix or answer["refused"].startswith("The data must be finite; given ")
