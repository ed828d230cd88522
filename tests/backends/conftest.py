"""The array libraries on which the same code must give the same numbers."""

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import array_api_strict
import numpy as np
import pytest
from array_api_compat import array_namespace

from orthoprox.backends import backend_of
from orthoprox.driver import _batch

STAGE = pytest.mark.backends
"""PyTorch and JAX are tried in a second stage, by ``pytest -m backends``, and CuPy too where it is installed."""
OTHERS = ["torch", "jax", *(["cupy"] if importlib.util.find_spec("cupy") else [])]
NAMES = ["strict", *(pytest.param(name, marks=STAGE) for name in OTHERS)]


@dataclass(frozen=True)
class Library:
    """An array library, and how NumPy arrays become arrays of it."""

    name: str
    module: Any
    asarray: Callable[[Any], Any]

    def owns(self, a: Any) -> bool:
        """Whether an array belongs to this library."""
        own = array_namespace(self.asarray(np.zeros(1)))
        return array_namespace(a) is own

    def numpy(self, a: Any) -> Any:
        return backend_of(a).to_numpy(a)

    def __repr__(self) -> str:
        return self.name


def wanted_stage(config: pytest.Config) -> bool:
    """Whether somebody asked for the second stage by name."""
    expression = config.getoption("markexpr", default="") or ""
    return "backends" in expression and "not backends" not in expression


def imported(name: str, config: pytest.Config) -> Any:
    """The library; skipped where it is absent, but not when its stage was asked for."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:
        sentence = f"{name} is not installed, so what needs it was not tried: pip install 'orthoprox[{name}]'."
        if wanted_stage(config):
            pytest.fail(sentence, pytrace=False)
        pytest.skip(sentence)


def load(name: str, config: pytest.Config) -> Library:
    if name == "strict":
        newest = array_api_strict.__array_api_version__
        array_api_strict.set_array_api_strict_flags(api_version=newest, boolean_indexing=False)
        return Library(name, array_api_strict, array_api_strict.asarray)
    module = imported(name, config)
    if name == "cupy" and not module.is_available():
        pytest.skip("CuPy finds no GPU that it can use.")
    if name in ("torch", "cupy"):
        return Library(name, module, module.tensor if name == "torch" else module.asarray)
    module.config.update("jax_enable_x64", True)  # without it JAX has no float64
    backend = importlib.import_module("orthoprox.backends.jax")
    backend.ENOUGH = backend.FEW = 0  # compile at once, however short the run
    return Library(name, module, module.numpy.asarray)


@pytest.fixture
def together(monkeypatch) -> list[int]:
    """How many runs went together, batch by batch."""
    seen: list[int] = []
    run = _batch.Batch.run

    def counted(self: Any) -> Any:
        found = run(self)
        seen.append(len(found))
        return found

    monkeypatch.setattr(_batch.Batch, "run", counted)
    return seen


@pytest.fixture(params=NAMES)
def library(request: pytest.FixtureRequest) -> Library:
    return load(request.param, request.config)


@pytest.fixture
def torch(request: pytest.FixtureRequest) -> Any:
    return load("torch", request.config).module


@pytest.fixture
def jax(request: pytest.FixtureRequest) -> Any:
    return load("jax", request.config).module
