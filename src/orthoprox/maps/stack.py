"""Several maps of the same X as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import index
from typing import Any

from orthoprox._fields import derive, require
from orthoprox._linalg import root_of_squares
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap, _Combination, as_map, common_columns


@dataclass(frozen=True, eq=False, init=False)
class Stack(_Combination):
    """X -> the rows of A_1(X), then those of A_2(X), and so on.

    Parameters
    ----------
    *maps : LinearMap
        The maps, as arguments or as one list or tuple; arrays, sparse matrices and LinearOperators are wrapped.
    columns : int, optional
        The n of X; needed only when none of the maps knows it.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Difference, Identity, Stack
    >>> A = Stack(Identity(), Difference(), columns=3)
    >>> A(np.array([[1.0], [4.0], [9.0]])).T
    array([[1., 4., 9., 3., 5.]])
    """

    maps: tuple[LinearMap, ...]
    columns: int

    def __init__(self, *given: Any, columns: int | None = None, maps: Sequence[Any] = ()) -> None:
        if len(given) == 1 and isinstance(given[0], (list, tuple)):
            given = tuple(given[0])
        object.__setattr__(self, "maps", tuple(as_map(A, "A map of a Stack") for A in (*given, *maps)))
        object.__setattr__(self, "columns", columns)
        require(len(self.maps) > 0, "A Stack needs at least one map; given none.")
        derive(self, columns=self._known_columns)
        object.__setattr__(self, "columns", index(self.columns))
        for A in self.maps:
            A.check(self.columns, f"{A!r} in a Stack")

    def _known_columns(self) -> int:
        n = common_columns(self.maps, "stack")
        if n is None:
            raise ValueError("None of the maps of the Stack knows the number of rows of X; give it as columns=.")
        return n

    @property
    def members(self) -> tuple[LinearMap, ...]:
        return self.maps

    @property
    def norm(self) -> float:  # type: ignore[override]
        return root_of_squares(A.norm for A in self.maps)

    def __call__(self, X: Array) -> Array:
        self.check(X.shape[0], "A Stack")
        return array_namespace(X).concat([A(X) for A in self.maps], axis=0)

    def adjoint(self, Z: Array) -> Array:
        first, *rest = (A.adjoint(part) for A, part in zip(self.maps, self.split(Z), strict=True))
        return sum(rest, start=first)

    def split(self, Y: Array) -> tuple[Array, ...]:
        """The parts of Y that belong to the maps, in their order."""
        m = self.rows(self.columns)
        require(Y.shape[0] == m, f"Splitting needs the {m} rows of the Stack; given {Y.shape[0]}.")
        ends = accumulate((A.rows(self.columns) for A in self.maps), initial=0)
        return tuple(Y[start:end, :] for start, end in pairwise(ends))

    def rows(self, n: int) -> int:
        return sum(A.rows(n) for A in self.maps)
