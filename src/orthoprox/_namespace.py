"""The namespace of an array's library."""

from __future__ import annotations

from typing import Any

import array_api_compat
import array_api_compat.numpy as numpy_namespace
import numpy as np

_OF_NUMPY = (np.ndarray, np.float64, np.float32)


def array_namespace(*arrays: Any) -> Any:
    """The same as ``array_api_compat.array_namespace``, ten times faster for NumPy: small problems call it all day."""
    for array in arrays:
        if type(array) not in _OF_NUMPY:
            return array_api_compat.array_namespace(*arrays)
    return numpy_namespace
