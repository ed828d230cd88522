"""The identity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from orthoprox._types import Array
from orthoprox.maps._base import LinearMap


@dataclass(frozen=True)
class Identity(LinearMap):
    """X -> X, for X of any size; X itself, not a copy.

    Examples
    --------
    >>> from orthoprox.maps import Identity
    >>> Identity().norm
    1.0
    """

    left: ClassVar[bool] = True

    @property
    def norm(self) -> float:  # type: ignore[override]
        return 1.0

    @property
    def tightness(self) -> float:
        return 1.0

    @property
    def columns(self) -> None:  # type: ignore[override]
        return None

    def __call__(self, X: Array) -> Array:
        return X

    def adjoint(self, Z: Array) -> Array:
        return Z

    def rows(self, n: int) -> int:
        return n

    def cost(self, n: int) -> int:
        return 0
