"""Libraries that only the second stage has."""

import importlib

import pytest


def need(name, config):
    """The library; skipped where it is absent, but not when its stage was asked for."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        sentence = f"{name} is not installed, so what needs it was not tried."
        expression = config.getoption("markexpr", default="") or ""
        if "backends" in expression and "not backends" not in expression:
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)
