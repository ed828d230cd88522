"""NumPy: partial sorting for the k largest, and shorter ways to what small problems ask for all day."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from orthoprox._types import Array
from orthoprox.backends._base import Backend

V = TypeVar("V")


class NumPyBackend(Backend):
    """Arrays in the memory of the host.

    On arrays of a few hundred numbers a wrapper takes longer than the arithmetic inside it, so the operations of every
    iteration call NumPy as directly as they can.
    """

    name = "numpy"

    def cond(self, test: Any, yes: Callable[..., V], no: Callable[..., V], *args: Any) -> V:
        # What the host knows already is no choice of a program on a device.
        return yes(*args) if test else no(*args)

    def known(self, number: Any, like: Array) -> Any:
        return float(number)

    def dot(self, a: Array, b: Array) -> Array:
        return a.reshape(-1).dot(b.reshape(-1))

    def all_finite(self, a: Array) -> Any:
        return math.isfinite(a.sum())

    def eigh(self, S: Array) -> tuple[Array, Array]:
        values, vectors = np.linalg.eigh(S)
        return values, vectors

    def top_k_mask(self, values: Array, k: int) -> Array:
        flat = values.reshape(-1)
        if k <= 0 or k >= flat.size:
            return np.full(values.shape, k > 0)
        kth = _kth_largest(flat, k)
        mask = flat > kth
        missing = k - int(np.count_nonzero(mask))
        mask[np.flatnonzero(flat == kth)[:missing]] = True
        return mask.reshape(values.shape)

    def clip(self, a: Array, low: Any, high: Any) -> Array:
        return a.clip(low, high)

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        return np.array(a, dtype=like.dtype)

    def eps(self, a: Array) -> float:
        return _eps(a.dtype)


@functools.lru_cache(maxsize=16)
def _eps(dtype: Any) -> float:
    """Asked for in every projection, where looking it up would take as long as the arithmetic of a small one."""
    return float(np.finfo(dtype).eps)


def _kth_largest(flat: np.ndarray[Any, Any], k: int) -> Any:
    """The k-th largest value: a sample brackets it, and only what lies inside is sorted apart.

    Exact whatever the sample says: where the bracket misses, everything is partitioned.
    """
    size = flat.size
    if size >= _LARGE:
        stride = max(size // _SAMPLE, 16) | 1  # odd, so as not to stay in one column
        sample = np.sort(flat[::stride])
        place, share = round((1 - k / size) * sample.size), k / size
        margin = 2 + round(4 * (sample.size * share * (1 - share)) ** 0.5)
        low, high = sample[max(place - margin, 0)], sample[min(place + margin, sample.size - 1)]
        above = flat[flat > low]
        if above.size < k <= np.count_nonzero(flat >= low):
            return low  # as where most are zero
        rank, inside = k - int(np.count_nonzero(above > high)), above[above <= high]
        if 0 < rank <= inside.size:
            flat, k, size = inside, rank, inside.size
    return np.partition(flat, size - k)[size - k]


_SAMPLE = 2048
_LARGE = 4096
