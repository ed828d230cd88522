"""``orthoprox data``: list, fetch, check."""

from __future__ import annotations

import json

import pytest

from cli.helpers import into_a_closed_pipe, invoke, orthoprox
from datasets.helpers import ORIGINAL, PACKED, closed_port, serving, tiny
from orthoprox.datasets import DATASETS

ADD = "from datasets.helpers import tiny; from orthoprox.datasets import DATASETS; DATASETS['tiny'] = tiny({url!r})"


@pytest.fixture(autouse=True)
def cache(tmp_path_factory, monkeypatch):
    home = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.delenv("ORTHOPROX_DATA", raising=False)
    return home / "orthoprox"


def rows(text):
    return {line.split()[0]: line.split() for line in text.splitlines()}


def test_list_in_a_process_of_its_own():
    done = orthoprox("data", "list")
    assert done.returncode == 0, done.stderr
    found = rows(done.stdout)
    assert set(DATASETS) < set(found)
    assert found["digits"][4] == "always" and found["mnist"][4:6] == ["to", "download"]


def test_list_says_what_is_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "tiny", tiny())
    for content, word in ((None, "no"), (PACKED, "yes"), (PACKED[1:], "damaged")):
        if content is not None:
            (tmp_path / "tiny.npz").write_bytes(content)
        listed = json.loads(invoke("data", "list", "--json", "--data-dir", tmp_path).stdout)
        assert {row["dataset"]: row["here"] for row in listed}["tiny"] == word
        assert len(listed) == len(DATASETS)


def test_fetch_then_check_in_a_process_of_its_own(tmp_path, monkeypatch, cache):
    tests = __file__.rsplit("/cli/", 1)[0]
    with serving(ORIGINAL) as (url, asked):
        before = f"import sys; sys.path.insert(0, {tests!r}); " + ADD.format(url=url)
        done = orthoprox("data", "fetch", "tiny-5-3", "digits", before=before)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"tiny: {cache / 'tiny.mat'}\ndigits: nothing to fetch\n"
        assert (cache / "tiny.mat").read_bytes() == ORIGINAL
        checked = orthoprox("data", "check", "tiny", before=before)
        assert checked.returncode == 0 and rows(checked.stdout)["tiny"] == ["tiny", "ok", str(cache / "tiny.mat")]
        assert len(asked) == 1


def test_fetch_into_a_folder_and_what_is_there_stays(tmp_path, monkeypatch):
    folder = tmp_path / "Daten ü"
    with serving(ORIGINAL) as (url, asked):
        monkeypatch.setitem(DATASETS, "tiny", tiny(url))
        assert invoke("data", "fetch", "tiny", "--data-dir", folder).exit_code == 0
        assert (folder / "tiny.mat").read_bytes() == ORIGINAL
        (folder / "tiny.npz").write_bytes(PACKED)
        done = invoke("data", "fetch", "tiny", "--data-dir", folder)
        assert done.stdout == f"tiny: {folder / 'tiny.npz'}\n" and len(asked) == 1


def test_what_cannot_be_fetched_is_told_and_the_rest_is_fetched(monkeypatch, cache):
    with serving(ORIGINAL) as (url, _):
        monkeypatch.setitem(DATASETS, "tiny", tiny(closed_port()))
        monkeypatch.setitem(DATASETS, "other", tiny(url, name="other"))
        done = invoke("data", "fetch", "tiny", "other")
    assert done.exit_code == 3
    assert "could not be downloaded" in done.stderr
    assert done.stdout == f"other: {cache / 'tiny.mat'}\n"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("fetch",), 2, "Missing argument"),
        (("fetch", "tinny"), 2, "Did you mean 'tiny'?"),
        (("check", "tinny"), 2, "Did you mean 'tiny'?"),
        (("walk",), 2, "No such command 'walk'"),
    ],
)
def test_mistakes(monkeypatch, arguments, code, sentence):
    monkeypatch.setitem(DATASETS, "tiny", tiny())
    done = invoke("data", *arguments)
    assert done.exit_code == code and sentence in done.stderr


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
    monkeypatch.setitem(DATASETS, "tiny", tiny())
    if content is not None:
        (tmp_path / "tiny.npz").write_bytes(content)
    done = invoke("data", "check", *names, "--data-dir", tmp_path)
    assert done.exit_code == code
    assert rows(done.stdout)["tiny"][1] == state
    assert rows(done.stdout).keys() - {"dataset"} == (set(names) or set(DATASETS))


def test_the_environment_names_the_folder(tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "tiny", tiny())
    monkeypatch.setenv("ORTHOPROX_DATA", str(tmp_path))
    assert str(tmp_path / "tiny.npz") in invoke("data", "check", "tiny").stdout


def test_without_pooch_a_folder_will_do(tmp_path):
    block = "import sys; sys.modules['pooch'] = None"
    assert orthoprox("data", "list", "--data-dir", tmp_path, before=block).returncode == 0
    done = orthoprox("data", "fetch", "mnist", before=block)
    assert done.returncode == 1 and "orthoprox[data]" in done.stderr and "Traceback" not in done.stderr


def test_bundled_data_are_compared_too(monkeypatch):
    from orthoprox.datasets._base import LibraryOrigin

    digits = DATASETS["digits"]
    changed = type(digits)(**{**vars(digits), "origin": LibraryOrigin(digits.origin.read, "0" * 64)})
    monkeypatch.setitem(DATASETS, "digits", changed)
    done = invoke("data", "check", "digits")
    assert done.exit_code == 3 and "damaged" in done.stdout


def test_a_pipe_that_closes_early_is_no_traceback():
    assert into_a_closed_pipe("data", "fetch", "digits", "randn")[1] == ""
