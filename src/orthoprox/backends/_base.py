"""What a backend must offer beyond the array API standard, built from the standard alone."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array

V = TypeVar("V")
_TO_HOST: dict[str, Any] = {"device": "cpu", "copy": True} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}
"""NumPy 2.0 cannot ask another device for a copy; it reads what is in the memory of the host."""


class Backend:
    """The operations; a library that can do better overrides one."""

    name: str = "standard"

    def compile(self, step: Callable[..., V], problem: Any) -> Callable[..., V]:
        """The step itself, unless the library can compile it for this problem."""
        return step

    def while_loop(self, keep_going: Callable[[V], Any], body: Callable[[V], V], value: V) -> V:
        """Repeat the body while the test holds."""
        while bool(keep_going(value)):
            value = body(value)
        return value

    def cond(self, test: Any, yes: Callable[..., V], no: Callable[..., V], *args: Any) -> V:
        """One of two functions of the same arguments, chosen by a value known only at run time."""
        return yes(*args) if bool(test) else no(*args)

    def top_k_mask(self, values: Array, k: int) -> Array:
        """A mask of the k largest entries of the whole array; among equals the first ones win."""
        xp = array_namespace(values)
        flat = xp.reshape(values, (-1,))
        order = xp.argsort(flat, descending=True, stable=True)
        ranks = xp.argsort(order, stable=True)
        return xp.reshape(ranks < k, values.shape)

    def clip(self, a: Array, low: Any, high: Any) -> Array:
        """Each entry, or the end of the interval that is nearer to it."""
        return array_namespace(a).clip(a, low, high)

    def to_numpy(self, a: Array) -> np.ndarray[Any, Any]:
        """A copy in the memory of the host."""
        try:
            return np.array(a)
        except (RuntimeError, TypeError):  # a device that NumPy cannot read: DLPack copies
            return np.array(np.from_dlpack(a, **_TO_HOST))

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        """An array of the same library, device and float type as ``like``."""
        xp = array_namespace(like)
        return xp.asarray(a, dtype=like.dtype, device=device(like), copy=True)

    def constant(self, a: Any) -> Any:
        """The same numbers without a record of how they were computed; a Python number as it is."""
        return a

    def quiet(self) -> contextlib.AbstractContextManager[Any]:
        """A context without floating-point warnings; the caller checks for numbers that are not finite."""
        return np.errstate(all="ignore")  # only NumPy, and libraries built on it, warn

    def finish(self, a: Array) -> None:
        """Wait until ``a`` is computed; libraries that compute at once have nothing to wait for."""

    def eps(self, a: Array) -> float:
        """The distance from 1 to the next number of the array's float type."""
        return float(array_namespace(a).finfo(a.dtype).eps)
