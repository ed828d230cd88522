"""What tests of commands share."""

import pytest


@pytest.fixture
def no_figures(monkeypatch):
    """Figures take longer than small runs."""
    monkeypatch.setattr("orthoprox.cli.outcome.draw_run", lambda *_: b"a picture")
    monkeypatch.setattr("orthoprox.experiments.outputs.draw", lambda *_, **__: [])
