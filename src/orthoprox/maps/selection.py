"""A choice of rows, and a choice of entries."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import index
from typing import Any, ClassVar

import numpy as np
from array_api_compat import device, is_array_api_obj

from orthoprox._fields import DERIVED, cached_property, derive, require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import same_library
from orthoprox.maps._norm import check_norm


@dataclass(frozen=True)
class Selection(LinearMap):
    """X -> some rows of X, in a given order.

    Parameters
    ----------
    chosen : sequence of int
        The numbers of the rows, from 0 to ``columns - 1``. A row may be chosen several times; the adjoint then
        takes as many passes as the most frequent row has places.
    columns : int
        The n of X.
    norm : float, optional
        The root of the number of places of the most frequent row; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Selection
    >>> A = Selection([2, 0], columns=3)
    >>> A(np.array([[1.0], [4.0], [9.0]]))
    array([[9.],
           [1.]])
    >>> A.adjoint(np.array([[9.0], [1.0]]))
    array([[1.],
           [0.],
           [9.]])
    """

    left: ClassVar[bool] = True

    chosen: tuple[int, ...]
    columns: int
    norm: float = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", index(self.columns))
        object.__setattr__(self, "chosen", tuple(_row(i, self.columns) for i in self.chosen))
        require(len(self.chosen) > 0, "A Selection needs at least one row; given none.")
        derive(self, norm=lambda: math.sqrt(len(self._places)))
        object.__setattr__(self, "norm", check_norm(self.norm, "Selection"))

    # Index arrays hold no data, so they may be built on first use, even while a step is compiled.

    @cached_property
    def _index(self) -> np.ndarray[Any, Any]:
        return np.array(self.chosen, dtype=np.int32)

    @cached_property
    def _places(self) -> tuple[np.ndarray[Any, Any], ...]:
        """For each row of X its first place among the chosen ones, its second, and so on; m where there is none."""
        m = len(self.chosen)
        order = np.argsort(self._index, kind="stable")
        ordered = self._index[order]
        turn = np.arange(m) - np.searchsorted(ordered, ordered)  # how often the same row came before
        places = np.full((int(turn.max()) + 1, self.columns), m, dtype=np.int32)
        places[turn, ordered] = order
        return tuple(places)

    def __call__(self, X: Array) -> Array:
        self.check(X.shape[0], "A Selection")
        xp = array_namespace(X)
        return xp.take(X, self._moved(self._index, X), axis=0)

    def _moved(self, index: np.ndarray[Any, Any], like: Array) -> Array:
        """An index array where X is; moved once, because a device waits for each copy."""
        return backend_of(like).index(index, like, vars(self).setdefault("_kept", {}))

    def adjoint(self, Z: Array) -> Array:
        # Rows are gathered, not scattered: the standard has no addition at an index.
        require(Z.shape[0] == len(self.chosen), f"Wanted {len(self.chosen)} chosen rows; given {Z.shape[0]}.")
        xp = array_namespace(Z)
        padded = xp.concat([Z, xp.zeros_like(Z[:1, :])], axis=0)
        first, *more = (xp.take(padded, self._moved(place, Z), axis=0) for place in self._places)
        return sum(more, start=first)

    def rows(self, n: int) -> int:
        return len(self.chosen)

    def cost(self, n: int) -> int:
        return len(self.chosen)

    @property
    def tightness(self) -> float | None:
        return 1.0 if len(self._places) == 1 else None

    def __repr__(self) -> str:
        return f"Selection({len(self.chosen)} of {self.columns} rows)"


def _row(i: Any, n: int) -> int:
    """The number of a row, checked."""
    try:
        if isinstance(i, bool | np.bool_):  # NumPy 2.0 lets its own pass as a number
            raise TypeError
        number = index(i)
    except TypeError:
        raise TypeError(
            f"A Selection needs row numbers; given {i!r}. For a mask, pass numpy.flatnonzero(mask)."
        ) from None
    if not 0 <= number < n:
        raise ValueError(f"Row numbers go from 0 to {n - 1} when X has {n} rows; given {number}.")
    return number


@dataclass(frozen=True, eq=False)
class Entries(LinearMap):
    """X -> X with the entries outside a mask set to zero.

    Parameters
    ----------
    mask : array, shape (n, r)
        Booleans, or zeros and ones.
    norm : float, optional
        1.0, or 0.0 when the mask keeps nothing; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Entries
    >>> Entries(np.array([[True, False], [False, True]]))(np.ones((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """

    left: ClassVar[bool] = False

    mask: Array
    norm: float = DERIVED

    def __post_init__(self) -> None:
        mask = _check_mask(self.mask)
        object.__setattr__(self, "mask", mask)
        derive(self, norm=lambda: float(bool(array_namespace(mask).any(mask))))
        object.__setattr__(self, "norm", check_norm(self.norm, "Entries"))

    @property
    def columns(self) -> int:  # type: ignore[override]
        return int(self.mask.shape[0])

    def __call__(self, X: Array) -> Array:
        if tuple(X.shape) != tuple(self.mask.shape):
            raise ValueError(f"The mask of Entries has shape {tuple(self.mask.shape)}; given X of {tuple(X.shape)}.")
        xp, mask = array_namespace(X), self.mask
        if not same_library(mask, X):
            mask = xp.asarray(backend_of(mask).to_numpy(mask), device=device(X))
        return xp.where(mask, X, xp.zeros_like(X))

    def adjoint(self, Z: Array) -> Array:
        return self(Z)

    def rows(self, n: int) -> int:
        return n

    def cost(self, n: int) -> int:
        return n

    def __repr__(self) -> str:
        return f"Entries({self.mask.shape[0]} by {self.mask.shape[1]})"


def _check_mask(mask: Any) -> Array:
    """The mask as booleans."""
    if not is_array_api_obj(mask) or len(mask.shape) != 2 or 0 in mask.shape:
        given = f"shape {tuple(mask.shape)}" if is_array_api_obj(mask) else type(mask).__name__
        raise ValueError(f"The mask of Entries must be a non-empty array with two dimensions; given {given}.")
    xp = array_namespace(mask)
    if str(mask.dtype) != "object" and xp.isdtype(mask.dtype, "bool"):
        return mask
    chosen = mask == 1
    if not bool(xp.all(chosen | (mask == 0))):
        raise ValueError("The mask of Entries must hold booleans, or zeros and ones; given other numbers.")
    return chosen
