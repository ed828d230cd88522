"""Files in folders: found, checked, read, refused; downloads from a server of our own."""

import contextlib
import os
import sys

import numpy as np
import pytest

from datasets.helpers import ORIGINAL, PACKED, closed_port, counts, mat_bytes, npz_bytes, serving, sha256, tiny
from orthoprox._fields import replace
from orthoprox.datasets import DATASETS, DataDamaged, DataUnavailable, load, why_unavailable
from orthoprox.datasets._stored import FileOrigin


@pytest.fixture(autouse=True)
def known(monkeypatch):
    monkeypatch.setitem(DATASETS, "tiny", tiny())


@pytest.mark.parametrize(("name", "content"), [("tiny.npz", PACKED), ("tiny.mat", ORIGINAL)])
def test_our_file_and_the_original_give_the_same(tmp_path, name, content):
    folder = tmp_path / "Daten für Übung 数据"
    folder.mkdir()
    (folder / name).write_bytes(content)
    data = load("tiny", folder=folder)
    A = np.delete(counts(), 2, axis=1)
    A = A / np.linalg.norm(A, axis=0)
    assert np.allclose(data.X, A - A.mean(axis=0), rtol=0, atol=1e-15)
    assert data.checksum == sha256(content)
    assert list(data.columns) == [0, 1, 3, 4, 5, 6, 7, 8]
    assert (data.source, data.licence) == ("made here", "none")
    origin = DATASETS["tiny"].origin
    assert origin.states(folder) == [(folder / name, "ok")]
    (folder / "tiny.npz").write_bytes(PACKED[1:])  # which goes before the original
    assert origin.states(folder) == [(folder / "tiny.npz", "damaged")]


def test_a_folder_that_is_named_is_the_only_place(tmp_path, monkeypatch, cache_of_the_test):
    cache_of_the_test.mkdir()
    (cache_of_the_test / "tiny.mat").write_bytes(ORIGINAL)
    assert load("tiny").X.shape == (12, 8)  # from the cache, with no network
    with pytest.raises(DataUnavailable, match=r"has neither tiny.npz nor tiny.mat. Put one there.* --data-dir"):
        load("tiny", folder=tmp_path)
    (tmp_path / "tiny.npz").write_bytes(PACKED)
    monkeypatch.setenv("ORTHOPROX_DATA", str(tmp_path))
    assert load("tiny").checksum == sha256(PACKED)  # the environment goes before the cache, the argument before both
    with pytest.raises(DataUnavailable, match="is not a folder"):
        load("tiny", folder=tmp_path / "other")


@pytest.mark.parametrize(("name", "content"), [("tiny.npz", PACKED), ("tiny.mat", ORIGINAL)])
def test_a_damaged_file_is_refused_and_stays_as_it_is(tmp_path, name, content):
    for damaged in (content[:-1], content + b"x", content[:99] + bytes([content[99] ^ 1]) + content[100:], b""):
        (tmp_path / name).write_bytes(damaged)
        with pytest.raises(DataDamaged, match=f"a different file: expected sha256 .*found {sha256(damaged)}"):
            load("tiny", folder=tmp_path)
        assert [file.name for file in tmp_path.iterdir()] == [name]
        assert (tmp_path / name).read_bytes() == damaged


def test_an_unchecked_file_is_read_as_it_is_or_refused(tmp_path):
    (tmp_path / "tiny.npz").write_bytes(npz_bytes(np.eye(4)))
    with pytest.raises(DataDamaged):
        load("tiny", folder=tmp_path)
    assert load("tiny", folder=tmp_path, check=False, raw=True).X.shape == (4, 4)
    for content in (b"", b"no archive", PACKED[: len(PACKED) // 2]):
        (tmp_path / "tiny.npz").write_bytes(content)
        with pytest.raises(DataDamaged, match="tiny.npz cannot be read .*Download the file again"):
            load("tiny", folder=tmp_path, check=False)
    (tmp_path / "tiny.npz").unlink()
    (tmp_path / "tiny.mat").write_bytes(mat_bytes(np.eye(4)))
    with pytest.raises(DataDamaged, match="tiny.mat is damaged or a different file.*Download it again.$"):
        load("tiny", folder=tmp_path, check=False)  # SciPy crashes on some damaged ones


def test_reading_writes_nothing(tmp_path, cache_of_the_test):
    (tmp_path / "tiny.npz").write_bytes(PACKED)
    tmp_path.chmod(0o555)
    before = os.stat(tmp_path).st_mtime_ns
    try:
        assert load("tiny-5-3", folder=tmp_path).X.shape == (5, 3)
    finally:
        tmp_path.chmod(0o755)
    assert os.stat(tmp_path).st_mtime_ns == before
    assert not cache_of_the_test.exists()


@pytest.mark.posix
@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="The administrator may read everything.")
def test_a_file_that_may_not_be_read(tmp_path):
    (tmp_path / "tiny.npz").write_bytes(PACKED)
    (tmp_path / "tiny.npz").chmod(0)
    with pytest.raises(DataUnavailable, match="cannot be read"):
        load("tiny", folder=tmp_path)


def test_why_unavailable_looks_and_does_not_read(tmp_path, monkeypatch, cache_of_the_test):
    monkeypatch.setattr(FileOrigin, "matrix", lambda *_: pytest.fail("data were read"))
    assert "neither tiny.npz nor tiny.mat" in why_unavailable("tiny-5-3", folder=tmp_path)
    assert "could not be downloaded" in why_unavailable("tiny")
    for folder in (tmp_path, cache_of_the_test):
        (folder / "tiny.mat").write_bytes(b"not looked into")
    assert why_unavailable("tiny-5-3", folder=tmp_path) is None is why_unavailable("tiny")
    assert why_unavailable("digits-50-20") is None is why_unavailable("randn-50-20")
    monkeypatch.setitem(DATASETS, "tiny", tiny(complete=50))
    assert "The original has 50" in why_unavailable("tiny-13-3", folder=tmp_path)
    for name, sentence in {
        **{"tiny-51": "at most 12", "tiny-5-10": "at most 9", "tiny-0": "at least 1"},
        **{"randn": "give samples", "tinny": "Did you mean 'tiny'"},
    }.items():
        with pytest.raises(ValueError, match=sentence):
            why_unavailable(name, folder=tmp_path)


@pytest.fixture
def serve(monkeypatch):
    """A server of the file of ``tiny``; gives the list of what it was asked for."""

    @contextlib.contextmanager
    def serve(content=ORIGINAL, **behaviour):
        with serving(content, **behaviour) as (url, asked):
            monkeypatch.setitem(DATASETS, "tiny", tiny(url))
            yield asked

    return serve


def test_a_file_is_downloaded_once_and_kept(serve, cache_of_the_test, tmp_path):
    with serve() as asked:
        first, second = load("tiny"), load("tiny-5-3")
        assert asked == ["/tiny.mat"]
    assert first.X.shape == (12, 8) and second.X.shape == (5, 3)
    assert first.checksum == sha256(ORIGINAL)
    assert [file.name for file in cache_of_the_test.iterdir()] == ["tiny.mat"]
    assert np.array_equal(load("tiny").X, first.X)  # the server is gone
    (cache_of_the_test / "tiny.mat").write_bytes(ORIGINAL[:-7])
    with serve() as asked:  # a damaged file is downloaded again
        assert np.array_equal(load("tiny").X, first.X) and len(asked) == 1
        assert DATASETS["tiny"].origin.fetch(tmp_path) == [tmp_path / "tiny.mat"]
    assert (cache_of_the_test / "tiny.mat").read_bytes() == (tmp_path / "tiny.mat").read_bytes() == ORIGINAL
    assert np.array_equal(load("tiny", folder=tmp_path).X, first.X)


@pytest.mark.parametrize(
    ("content", "behaviour", "kind", "sentence"),
    [
        (ORIGINAL[:-1] + bytes([ORIGINAL[-1] ^ 1]), {}, DataDamaged, "is damaged or a different file"),
        (b"<html>Please log in</html>", {}, DataDamaged, "is damaged or a different file"),
        (ORIGINAL[:500], {}, DataDamaged, "is damaged or a different file"),
        (ORIGINAL[:500], {"missing_bytes": len(ORIGINAL) - 500}, DataUnavailable, "could not be downloaded"),
        (b"", {"status": 404}, DataUnavailable, "could not be downloaded .*404"),
    ],
    ids=["wrong", "page", "short", "cut off", "not found"],
)
def test_nothing_half_written_stays_behind(serve, cache_of_the_test, content, behaviour, kind, sentence):
    with serve(content, **behaviour), pytest.raises(kind, match=sentence) as caught:
        load("tiny")
    assert caught.type is kind
    assert "put tiny.mat into a folder and name that folder (folder=, --data-dir or ORTHOP" in str(caught.value)
    assert list(cache_of_the_test.iterdir()) == []


def test_without_a_network_a_cache_or_the_library(serve, monkeypatch, tmp_path):
    monkeypatch.setitem(DATASETS, "tiny", tiny(closed_port()))
    with pytest.raises(DataUnavailable, match="could not be downloaded .*Check the network") as caught:
        load("tiny")
    assert caught.type is DataUnavailable and len(str(caught.value)) < 700
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with serve(), pytest.raises(DataUnavailable, match=r"could not be downloaded to .*file/orthoprox"):
        load("tiny")
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'orthoprox\[data\]'"):
        load("tiny")


def test_a_dataset_of_two_files_needs_both(cache_of_the_test, tmp_path):
    first, second = cache_of_the_test / "tiny.mat", cache_of_the_test / "second.mat"
    with serving(ORIGINAL) as (url, asked):
        origin = tiny(url).origin
        both = replace(origin, public=(*origin.public, replace(origin.public[0], name=second.name, url=closed_port())))
        for _ in range(2):  # a file that came stays, and the next attempt asks for the other only
            with pytest.raises(DataUnavailable, match="second.mat into a folder"):
                both.fetch()
            assert both.states(None) == [(first, "ok"), (second, "missing")]
        assert len(asked) == 1
    (tmp_path / "tiny.mat").write_bytes(ORIGINAL)
    assert both.find(tmp_path) == []
    (tmp_path / "second.mat").write_bytes(ORIGINAL)
    assert both.find(tmp_path) == [tmp_path / "tiny.mat", tmp_path / "second.mat"]
