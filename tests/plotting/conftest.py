"""Figures that nobody sees, closed after every test."""

import pytest


@pytest.fixture(autouse=True)
def no_windows(monkeypatch):
    import matplotlib.pyplot as plt

    plt.switch_backend("agg")
    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a picture was shown"))
    before = dict(plt.rcParams)
    yield
    plt.close("all")
    assert dict(plt.rcParams) == before, "a picture changed the style of others"
