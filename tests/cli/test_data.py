"""``orthoprox data``: list, fetch, check."""

import json
import sys

import pytest

from cli.helpers import into_a_closed_pipe, invoke
from datasets.helpers import ORIGINAL, PACKED, closed_port, serving, tiny
from orthoprox._fields import replace
from orthoprox.datasets import DATASETS


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    home = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.delenv("ORTHOPROX_DATA", raising=False)
    monkeypatch.setitem(DATASETS, "tiny", tiny())
    return home / "orthoprox"


def rows(text):
    return {line.split()[0]: line.split() for line in text.splitlines()}


def test_list_says_what_is_in_a_folder(tmp_path):
    table = rows(invoke("data", "list").stdout)
    assert set(DATASETS) < set(table)
    assert table["digits"][4] == "always" and table["mnist"][4:6] == ["to", "download"]
    for content, word in ((None, "no"), (PACKED, "yes"), (PACKED[1:], "damaged")):
        if content is not None:
            (tmp_path / "tiny.npz").write_bytes(content)
        listing = json.loads(invoke("data", "list", "--json", "--data-dir", tmp_path).stdout)
        assert {row["dataset"]: row["here"] for row in listing}["tiny"] == word
        assert len(listing) == len(DATASETS)


def test_fetch_into_a_folder_keeps_what_is_there_and_does_not_stop_at_failures(tmp_path, monkeypatch, cache):
    folder = tmp_path / "Daten ü"
    with serving(ORIGINAL) as (url, asked):
        monkeypatch.setitem(DATASETS, "tiny", tiny(url))
        assert invoke("data", "fetch", "tiny", "--data-dir", folder).exit_code == 0
        assert (folder / "tiny.mat").read_bytes() == ORIGINAL
        (folder / "tiny.npz").write_bytes(PACKED)
        done = invoke("data", "fetch", "tiny", "--data-dir", folder)
        assert done.stdout == f"tiny: {folder / 'tiny.npz'}\n" and len(asked) == 1
        monkeypatch.setitem(DATASETS, "tiny", tiny(closed_port()))
        monkeypatch.setitem(DATASETS, "other", tiny(url, name="other"))
        done = invoke("data", "fetch", "tiny", "other")
    assert done.exit_code == 3 and "could not be downloaded" in done.stderr
    assert done.stdout == f"other: {cache / 'tiny.mat'}\n"


@pytest.mark.parametrize(
    ("content", "names", "code", "state"),
    [
        (PACKED, ("tiny",), 0, "ok"),
        (PACKED, (), 0, "ok"),
        (PACKED[:-1], ("tiny",), 3, "damaged"),
        (PACKED[:-1], (), 3, "damaged"),
        (None, ("tiny",), 3, "missing"),
        (None, (), 0, "missing"),
        (PACKED, ("tiny", "mnist"), 3, "ok"),
    ],
)
def test_check(tmp_path, monkeypatch, content, names, code, state):
    if content is not None:
        (tmp_path / "tiny.npz").write_bytes(content)
    done = invoke("data", "check", *names, "--data-dir", tmp_path)
    assert done.exit_code == code
    assert rows(done.stdout)["tiny"][1] == state
    assert rows(done.stdout).keys() - {"dataset"} == (set(names) or set(DATASETS))
    monkeypatch.setenv("ORTHOPROX_DATA", str(tmp_path))  # names the folder too
    assert invoke("data", "check", *names).stdout == done.stdout


def test_bundled_data_are_compared_too(monkeypatch):
    digits = DATASETS["digits"]
    monkeypatch.setitem(DATASETS, "digits", replace(digits, origin=replace(digits.origin, sha256="0" * 64)))
    done = invoke("data", "check", "digits")
    assert done.exit_code == 3 and "damaged" in done.stdout


def test_without_pooch_a_folder_will_do(tmp_path, monkeypatch, cache):
    monkeypatch.setitem(sys.modules, "pooch", None)
    assert invoke("data", "list", "--data-dir", tmp_path).exit_code == 0
    table = rows(invoke("data", "list").stdout)
    assert table["mnist"][4:6] == ["to", "download"] and table["tiny"][4:6] == ["to", "download"]
    cache.mkdir()
    (cache / "tiny.mat").write_bytes(ORIGINAL)  # fetched when pooch was there
    assert rows(invoke("data", "list").stdout)["tiny"][4] == "yes"
    assert invoke("data", "fetch", "tiny").stdout == f"tiny: {cache / 'tiny.mat'}\n"
    done = invoke("data", "fetch", "mnist")
    assert done.exit_code == 1 and "orthoprox[data]" in done.stderr


@pytest.mark.posix  # Windows has another error for a pipe that nobody reads
def test_fetching_into_a_closed_pipe_ends_quietly():
    assert into_a_closed_pipe("data", "fetch", "digits", "randn")[1] == ""
