"""Columns with different caps: C clipped at one level for all, and that again at a level for each column."""

from __future__ import annotations

import numpy as np

from orthoprox._types import Array
from orthoprox.allowance import Allowance
from orthoprox.bounds._eigen import rough_sum, upper_sum
from orthoprox.bounds._threshold import search, shrink

_RATIO = 0.5**0.25
_LEVELS = 12
_EPS = float(np.finfo(np.float64).eps)


def best_levels(C: Array, allowance: Allowance) -> tuple[float, tuple[float, ...]]:
    """A lam and a level for each cap for which the bound is small.

    With lam = 0 nothing is gained by sparsity; with the largest lam, U = C and each column has a bound of its own.
    """
    top = float(np.max(np.abs(C)))
    found = []
    for step in range(_LEVELS):
        lam = top * _RATIO**step
        U = np.clip(C, -lam, lam)
        levels = {k: _level(U, lam, k) for k in set(allowance.caps)}
        value = rough_sum(C - U, allowance.r) + sum(_single(U, levels[k], k) for k in allowance.caps)
        found.append((value, lam, tuple(levels[k] for k in allowance.caps)))
    return min(found)[1:]


def levels_value(C: Array, lam: float, levels: tuple[float, ...], allowance: Allowance) -> float:
    """The bound that they prove, rounded up."""
    U = np.clip(C, -lam, lam)
    parts = [upper_sum(C - U, allowance.r)]
    for level, cap in zip(levels, allowance.caps, strict=True):
        parts += [upper_sum(shrink(U, level), 1), level * cap * (1 + 2 * _EPS)]
    return sum(parts) + 2 * len(parts) * _EPS * sum(map(abs, parts))


def _level(U: Array, lam: float, k: int) -> float:
    return search(lambda level: _single(U, level, k), [lam * _RATIO ** (2 * step) for step in range(_LEVELS)], 6)


def _single(U: Array, level: float, k: int) -> float:
    """What one column with k nonzeros can have of U."""
    return rough_sum(shrink(U, level), 1) + level * k
