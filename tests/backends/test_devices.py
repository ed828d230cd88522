"""Devices by name: arrays there, or a sentence on what is missing."""

import json

import numpy as np
import pytest

from backends.conftest import load
from cli.helpers import invoke
from orthoprox.backends.devices import DeviceUnavailable, mover

pytestmark = pytest.mark.backends  # with array-api-strict too: they take long


def solved(tmp_path, name, *options):
    out = tmp_path / name
    outcome = invoke("solve", "sparse-pca", "randn-60-12", "-r", 3, "--quiet", "--out", out, *options)
    assert outcome.exit_code == 0, outcome.stderr
    return json.loads((out / "summary.json").read_text()), np.load(out / "loadings_sparse.npy")


@pytest.mark.parametrize("library", ["numpy", *(pytest.param(n, marks=pytest.mark.backends) for n in ("torch", "jax"))])
def test_the_command_gives_the_same_result_in_every_library(tmp_path, request, library):
    if library != "numpy":
        load(library, request.config)
    summary, X = solved(tmp_path, "there", "--library", library, "--device", "cpu")
    plain, X_plain = solved(tmp_path, "here")
    assert summary["arrays"].startswith(library)
    assert summary["objective"] == pytest.approx(plain["objective"], rel=1e-9)
    assert np.allclose(X, X_plain, atol=1e-6)
    auto, _ = solved(tmp_path, "auto", "--device", "auto")
    assert auto["objective"] == pytest.approx(plain["objective"], rel=1e-6)


def test_what_has_no_dense_data_is_not_moved(monkeypatch):
    monkeypatch.setattr("orthoprox.cli.solve.mover", lambda device, library: lambda a: a.tolist())
    outcome = invoke("solve", "compressed-modes", "16", "--device", "cuda")
    assert outcome.exit_code == 2
    assert "has no data to put on a device" in outcome.stderr


@pytest.mark.backends
def test_what_is_missing_for_a_gpu_is_said(torch, jax, monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(DeviceUnavailable, match="was built without CUDA; install a build with it"):
        mover("cuda")
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceUnavailable, match="finds no GPU that it can use"):
        mover("cuda:0", "torch")
    assert isinstance(mover("auto")(np.zeros(1)), np.ndarray)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    with pytest.raises(DeviceUnavailable, match="finds 2 of these devices, counted from 0; given number 2"):
        mover("cuda:2")
    monkeypatch.setattr(jax, "devices", lambda kind: (_ for _ in ()).throw(RuntimeError(f"Unknown backend {kind}")))
    with pytest.raises(DeviceUnavailable, match=r"JAX finds no device of the kind 'cuda' \(Unknown backend cuda\)"):
        mover("cuda", "jax")


@pytest.mark.backends
def test_arrays_go_to_the_gpu_that_was_named(torch):
    if not torch.cuda.is_available():
        pytest.skip("there is no GPU that PyTorch can use.")
    moved = mover("cuda:0")(np.arange(3.0))
    assert moved.is_cuda
    assert moved.dtype == torch.float64
