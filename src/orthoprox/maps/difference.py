"""Differences of neighbouring rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap


@dataclass(frozen=True)
class Difference(LinearMap):
    """X -> the rows X[i+1] - X[i]: n - 1 of them, or n when the last row has the first as its neighbour.

    Parameters
    ----------
    periodic : bool
        Whether the first row comes after the last.
    columns : int, optional
        The n of X; any n works if it is not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Difference
    >>> X = np.array([[1.0], [4.0], [9.0]])
    >>> Difference()(X)
    array([[3.],
           [5.]])
    >>> Difference(periodic=True)(X)
    array([[ 3.],
           [ 5.],
           [-8.]])
    """

    left: ClassVar[bool] = True

    periodic: bool = False
    columns: int | None = None

    def __post_init__(self) -> None:
        require(
            isinstance(self.periodic, bool),  # Difference(40) would be periodic, and nothing would tell
            f"periodic must be True or False; given {self.periodic!r}. A number of rows is Difference(columns=n).",
        )
        if self.columns is not None:
            self.rows(self.columns)

    @property
    def norm(self) -> float:  # type: ignore[override]
        # The least bound for all n: rows that change sign from one to the next.
        return 2.0

    def __call__(self, X: Array) -> Array:
        self.check(X.shape[0], "A Difference")
        if self.periodic:
            return array_namespace(X).roll(X, -1, axis=0) - X
        self.rows(X.shape[0])
        return X[1:, :] - X[:-1, :]

    def adjoint(self, Z: Array) -> Array:
        xp = array_namespace(Z)
        if self.periodic:
            return xp.roll(Z, 1, axis=0) - Z
        nothing = xp.zeros_like(Z[:1, :])
        return xp.concat([nothing, Z], axis=0) - xp.concat([Z, nothing], axis=0)

    def rows(self, n: int) -> int:
        least = 1 if self.periodic else 2
        require(n >= least, f"Differences of neighbouring rows need at least {least} rows; given {n}.")
        return n if self.periodic else n - 1

    def cost(self, n: int) -> int:
        return n
