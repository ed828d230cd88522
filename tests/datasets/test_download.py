"""Downloads from a server of our own: good, wrong, cut off, refused."""

import contextlib
import sys

import numpy as np
import pytest

from datasets.helpers import ORIGINAL, closed_port, serving, sha256, tiny
from orthoprox._fields import replace
from orthoprox.datasets import DATASETS, DataDamaged, DataUnavailable, load


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
