"""What tests of commands share."""

import numpy as np
import pytest

from cli import messy
from cli.helpers import NAMES, columns


@pytest.fixture
def no_figures(monkeypatch):
    """Figures take longer than small runs."""
    monkeypatch.setattr("orthoprox.cli.outcome.draw_run", lambda *_: b"a picture")
    monkeypatch.setattr("orthoprox.experiments.outputs.draw", lambda *_, **__: [])


@pytest.fixture
def no_pictures(monkeypatch):
    """Pictures take longer than small fits."""
    monkeypatch.setattr("orthoprox.cli.fit.outcome.draw_pictures", lambda _: {})


@pytest.fixture
def frame():
    """A table with two groups of features, the last in another unit."""
    return columns(np.abs(messy.numbers()) * [1, 1, 1, 1, 500], NAMES)
