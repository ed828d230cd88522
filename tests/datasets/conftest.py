"""Tests of data find neither the user's folder nor the user's cache."""

import pytest


@pytest.fixture(autouse=True)
def cache_of_the_test(tmp_path_factory, monkeypatch):
    """An empty cache, and no folder in the environment."""
    home = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    monkeypatch.delenv("ORTHOPROX_DATA", raising=False)
    return home / "orthoprox"
