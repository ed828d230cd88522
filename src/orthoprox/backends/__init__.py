"""The little that the array API standard leaves out, one small file per array library."""

from __future__ import annotations

import numpy as np
from array_api_compat import is_jax_array, is_numpy_array, is_torch_array

from orthoprox._types import Array
from orthoprox.backends._base import Backend
from orthoprox.backends._compiling import compile_seconds
from orthoprox.backends._speculation import either, known, larger, speculation
from orthoprox.backends.numpy import NumPyBackend

__all__ = ["Backend", "backend_of", "compile_seconds", "either", "known", "larger", "speculation"]

_STANDARD = Backend()
_NUMPY = NumPyBackend()


def backend_of(array: Array) -> Backend:
    """The backend an array belongs to; libraries without a file of their own get the standard one."""
    if type(array) is np.ndarray or is_numpy_array(array):  # the first is all that most calls need
        return _NUMPY
    if is_torch_array(array):
        from orthoprox.backends.torch import TORCH

        return TORCH
    if is_jax_array(array):
        from orthoprox.backends.jax import JAX

        return JAX
    return _STANDARD
