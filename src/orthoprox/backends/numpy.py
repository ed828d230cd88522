"""NumPy: partial sorting for the k largest."""

from __future__ import annotations

from typing import Any

import numpy as np

from orthoprox._types import Array
from orthoprox.backends._base import Backend


class NumPyBackend(Backend):
    """Arrays in the memory of the host."""

    name = "numpy"

    def top_k_mask(self, values: Array, k: int) -> Array:
        flat = values.reshape(-1)
        if k <= 0 or k >= flat.size:
            return np.full(values.shape, k > 0)
        kth = np.partition(flat, flat.size - k)[flat.size - k]
        mask = flat > kth
        missing = k - int(np.count_nonzero(mask))
        mask[np.flatnonzero(flat == kth)[:missing]] = True
        return mask.reshape(values.shape)

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        return np.array(a, dtype=like.dtype)

    def eps(self, a: Array) -> float:
        return float(np.finfo(a.dtype).eps)
