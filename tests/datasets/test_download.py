"""Downloads from a server of our own: good, wrong, cut off, refused."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from datasets.helpers import ORIGINAL, closed_port, serving, sha256, tiny
from orthoprox._fields import replace
from orthoprox.datasets import DATASETS, DataDamaged, DataUnavailable, load


def known(monkeypatch, url):
    monkeypatch.setitem(DATASETS, "tiny", tiny(url))


def test_a_file_is_downloaded_once_and_kept(monkeypatch, cache_of_the_test):
    with serving(ORIGINAL) as (url, asked):
        known(monkeypatch, url)
        first, second = load("tiny"), load("tiny-5-3")
        assert asked == ["/tiny.mat"]
    assert first.X.shape == (12, 8) and second.X.shape == (5, 3)
    assert first.checksum == sha256(ORIGINAL)
    assert [file.name for file in cache_of_the_test.iterdir()] == ["tiny.mat"]
    assert np.array_equal(load("tiny").X, first.X)  # the server is gone


def test_a_damaged_file_in_the_cache_is_downloaded_again(monkeypatch, cache_of_the_test):
    cache_of_the_test.mkdir()
    (cache_of_the_test / "tiny.mat").write_bytes(ORIGINAL[:-7])
    with serving(ORIGINAL) as (url, asked):
        known(monkeypatch, url)
        assert load("tiny").X.shape == (12, 8)
        assert len(asked) == 1
    assert (cache_of_the_test / "tiny.mat").read_bytes() == ORIGINAL


@pytest.mark.parametrize(
    ("content", "behaviour", "kind", "sentence"),
    [
        (
            ORIGINAL[:-1] + bytes([ORIGINAL[-1] ^ 1]),
            {},
            DataDamaged,
            "is damaged or a different file",
        ),
        (b"<html>Please log in</html>", {}, DataDamaged, "is damaged or a different file"),
        (ORIGINAL[:500], {}, DataDamaged, "is damaged or a different file"),
        (ORIGINAL[:500], {"missing_bytes": len(ORIGINAL) - 500}, DataUnavailable, "could not be downloaded"),
        (b"", {"status": 404}, DataUnavailable, "could not be downloaded .*404"),
    ],
    ids=["wrong", "page", "short", "cut off", "not found"],
)
def test_nothing_half_written_stays_behind(monkeypatch, cache_of_the_test, content, behaviour, kind, sentence):
    with serving(content, **behaviour) as (url, _):
        known(monkeypatch, url)
        with pytest.raises(DataUnavailable, match=sentence) as caught:
            load("tiny")
    assert caught.type is kind
    assert "put tiny.mat into a folder and name that folder (folder=, --data-dir or ORTHOPROX_DATA)" in str(
        caught.value
    )
    assert list(cache_of_the_test.iterdir()) == []


def of_two_files(url, other):
    """The origin of a dataset whose originals are two files."""
    origin = tiny(url).origin
    one = origin.public[0]
    return replace(origin, public=(one, type(one)("second.mat", one.sha256, other)))


def test_a_good_file_is_not_lost_to_a_bad_download(cache_of_the_test):
    """Of two files the first came; that stays, and the next attempt asks for the second only."""
    first, second = cache_of_the_test / "tiny.mat", cache_of_the_test / "second.mat"
    with serving(ORIGINAL) as (url, asked):
        both = of_two_files(url, closed_port())
        for _ in range(2):
            with pytest.raises(DataUnavailable, match="second.mat into a folder"):
                both.fetch()
            assert both.states(None) == [(first, "ok"), (second, "missing")]
        assert len(asked) == 1


def test_half_of_the_files_is_not_the_data(tmp_path):
    both = of_two_files(closed_port(), closed_port())
    (tmp_path / "tiny.mat").write_bytes(ORIGINAL)
    assert both.find(tmp_path) == []
    (tmp_path / "second.mat").write_bytes(ORIGINAL)
    assert both.find(tmp_path) == [tmp_path / "tiny.mat", tmp_path / "second.mat"]


def test_no_network(monkeypatch):
    known(monkeypatch, closed_port())
    with pytest.raises(DataUnavailable, match="could not be downloaded .*Check the network") as caught:
        load("tiny")
    assert caught.type is DataUnavailable and len(str(caught.value)) < 700


def test_a_cache_that_cannot_be_made(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with serving(ORIGINAL) as (url, _):
        known(monkeypatch, url)
        with pytest.raises(DataUnavailable, match=r"could not be downloaded to .*file/orthoprox"):
            load("tiny")


def test_into_a_folder(monkeypatch, tmp_path):
    with serving(ORIGINAL) as (url, _):
        known(monkeypatch, url)
        assert DATASETS["tiny"].origin.fetch(tmp_path) == [tmp_path / "tiny.mat"]
    assert load("tiny", folder=tmp_path).X.shape == (12, 8)


def test_without_its_library_the_extra_is_named(monkeypatch):
    known(monkeypatch, closed_port())
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'orthoprox\[data\]'"):
        load("tiny")


def test_every_public_file_has_an_address_and_a_checksum():
    stored = [dataset.origin for dataset in DATASETS.values() if hasattr(dataset.origin, "public")]
    assert len(stored) == 5
    for file in (file for origin in stored for file in origin.public):
        assert file.url.startswith("https://") and file.url.endswith("/" + file.name)
        assert len(file.sha256) == 64 and int(file.sha256, 16)
