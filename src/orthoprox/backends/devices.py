"""Where arrays can live: a library and one of its devices, by name, or a sentence on what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from orthoprox._extras import extra
from orthoprox._types import Array

LIBRARIES = ("numpy", "torch", "jax", "cupy")
Mover = Callable[[np.ndarray[Any, Any]], Array]
"""NumPy array -> the same numbers elsewhere."""


class DeviceUnavailable(ValueError):
    """A device that was asked for is not there; the message says what is missing."""


def mover(device: str | None = None, library: str | None = None) -> Mover:
    """The function that moves NumPy arrays to a device of a library.

    Parameters
    ----------
    device : str, optional
        "cpu", "cuda", "cuda:1" and so on, or "auto": a GPU if there is one that PyTorch (or the library that is named)
        can use, and otherwise the CPU.
    library : str, optional
        "torch", "jax", "cupy" or "numpy". By default PyTorch for a GPU and NumPy for the CPU.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.backends.devices import mover
    >>> type(mover("cpu")(np.ones(2))).__name__
    'ndarray'
    """
    kind, index = _parse(device)
    if library is not None and library not in LIBRARIES:
        raise ValueError(f"library must be one of {', '.join(LIBRARIES)}; given {library!r}.")
    if kind == "auto":
        try:
            return _OPENERS[library or "torch"]("cuda", 0)
        except (DeviceUnavailable, ModuleNotFoundError):
            kind = "cpu"
    if library is None:
        library = "torch" if kind == "cuda" else "numpy"
    return _OPENERS[library](kind, index)


def _parse(device: str | None) -> tuple[str, int]:
    name = "cpu" if device is None else str(device)  # PyTorch's own devices have such names too
    found = re.fullmatch(r"(cpu|auto|cuda)(?::(\d{1,4}))?", name)
    if found is None or (found[1] != "cuda" and found[2] is not None):
        raise ValueError(f"device must be cpu, cuda, cuda:0 (and so on) or auto; given {device!r}.")
    return found[1], int(found[2] or 0)


def _numpy(kind: str, index: int) -> Mover:
    if kind == "cuda":
        raise DeviceUnavailable("NumPy has no GPU: give --library torch, jax or cupy, or leave the library out.")
    return np.asarray


def _torch(kind: str, index: int) -> Mover:
    torch = extra("torch", "torch", f"A run on {'a GPU' if kind == 'cuda' else 'PyTorch'}")
    if kind == "cuda":
        if torch.version.cuda is None and torch.version.hip is None:
            raise DeviceUnavailable(
                f"PyTorch {torch.__version__} was built without CUDA; install a build with it, as pytorch.org says."
            )
        if not torch.cuda.is_available():
            raise DeviceUnavailable("PyTorch finds no GPU that it can use; nvidia-smi says which ones there are.")
        _check_index(index, torch.cuda.device_count(), "PyTorch")
    if kind == "cpu":  # where an array that was not copied would share its memory
        return lambda a: torch.from_numpy(np.array(a, order="C"))
    place = torch.device(kind, index)
    return lambda a: torch.from_numpy(np.require(a, requirements=["C", "W"])).to(place)


def _jax(kind: str, index: int) -> Mover:
    jax = extra("jax", "jax", "A run on JAX")
    jax.config.update("jax_enable_x64", True)  # without it JAX makes float32 of float64
    try:
        devices = jax.devices(kind)
    except RuntimeError as error:
        raise DeviceUnavailable(
            f"JAX finds no device of the kind {kind!r} ({str(error).splitlines()[0]}); for a GPU install jax[cuda12]."
        ) from None
    _check_index(index, len(devices), "JAX")
    return lambda a: jax.device_put(a, devices[index])


def _cupy(kind: str, index: int) -> Mover:
    if kind == "cpu":
        raise DeviceUnavailable("CuPy has no CPU: give --device cuda with it, or leave the library out.")
    try:
        cupy = extra("cupy", "cupy", "A run on CuPy")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "A run on CuPy needs cupy, which is not installed: pip install cupy-cuda12x, for CUDA 12.", name="cupy"
        ) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise DeviceUnavailable(f"CuPy finds no GPU that it can use ({error}).") from None
    _check_index(index, count, "CuPy")

    def move(a: np.ndarray[Any, Any]) -> Array:
        with cupy.cuda.Device(index):
            return cupy.asarray(a)

    return move


def _check_index(index: int, count: int, library: str) -> None:
    if index >= count:
        raise DeviceUnavailable(f"{library} finds {count} of these devices, counted from 0; given number {index}.")


_OPENERS: dict[str, Callable[[str, int], Mover]] = {"numpy": _numpy, "torch": _torch, "jax": _jax, "cupy": _cupy}
