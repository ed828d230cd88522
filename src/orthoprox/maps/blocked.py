"""Data that are read, or held by a cluster, block by block."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from array_api_compat import is_array_api_obj

from orthoprox._fields import DERIVED, cached_property, derive, require
from orthoprox._types import Array
from orthoprox.blocks import Rows, open_rows
from orthoprox.blocks._tasks import Adjoint, Apply, Centring, GramProduct
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import on_host
from orthoprox.maps._norm import check_norm, norm_bound, norm_in_passes

SCALES = (None, "unit", "standard")


@dataclass(frozen=True, eq=False)
class Blocked(LinearMap):
    """X -> B X, with the rows of B on disk or in the memory of a cluster.

    Every product is one pass over the data, and so is ``gram``, B'(B X). Means and scales come from one more pass and
    are implicit afterwards: what is centred or scaled is never stored. Products are done in NumPy and SciPy, also for X
    of another library.

    Parameters
    ----------
    rows : Rows, or what ``orthoprox.blocks.open_rows`` takes
    center : bool
        Whether to subtract the column means.
    scale : {None, "unit", "standard"} or array, shape (n,)
        What every column is divided by: its length, its standard deviation (with the divisor m - 1), or a number given
        for each. A column that is zero, or constant, stays so.
    norm : float, optional
        A bound on the largest singular value; computed when not given, which takes a dozen passes unless B'B is formed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.blocks import open_rows
    >>> from orthoprox.maps import Blocked
    >>> A = Blocked(open_rows(np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 8.0]])), center=True)
    >>> A(np.eye(2))
    array([[-2., -1.],
           [ 0., -1.],
           [ 2.,  2.]])
    """

    left: ClassVar[bool] = True

    data: Rows
    center: bool = False
    scale: Any = None
    norm: float = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", open_rows(self.data))
        object.__setattr__(self, "scale", self._divisors())
        derive(self, norm=self._bound)
        object.__setattr__(self, "norm", check_norm(self.norm, "Blocked"))

    def _divisors(self) -> Array | None:
        if self.scale is None:
            return None
        if is_array_api_obj(self.scale):
            n, given = self.columns, tuple(self.scale.shape)
            require(given == (n,), f"The scale must have one number for each of the {n} columns; given shape {given}.")
            return np.asarray(self.scale, dtype=np.float64)
        require(self.scale in SCALES, f"scale must be one of {SCALES} or an array; given {self.scale!r}.")
        found = self.data.moments
        squares = np.asarray(found.diagonal)
        if self.scale == "unit":
            lengths = np.sqrt(squares + found.rows * found.mean**2)
        else:
            lengths = np.sqrt(squares / max(found.rows - 1, 1))
        return np.ldexp(np.where(lengths > 0, lengths, 1.0), found.exponent)

    def _bound(self) -> float:
        n, like = self.columns, np.zeros((1, 1), dtype=np.float64)
        if self.data.forms:
            H = self.form_gram()
            return math.sqrt(norm_bound(H.__matmul__, H.__matmul__, n, n, like))
        return norm_in_passes(self.gram, n, math.sqrt(self.squares))

    @property
    def _centring(self) -> Centring | None:
        return self.data.centring if self.center else None

    @property
    def columns(self) -> int:  # type: ignore[override]
        return self.data.shape[1]

    @cached_property
    def column_squares(self) -> Array:
        """The sums of squares of all columns, shape (n,)."""
        found = self.data.moments
        squares = np.asarray(found.diagonal) + (0.0 if self.center else found.rows * found.mean**2)
        unit = np.ldexp(1.0, found.exponent)
        return squares * (unit if self.scale is None else unit / self.scale) ** 2

    @property
    def squares(self) -> float:
        """The sum of squares of all entries."""
        return math.fsum(self.column_squares)

    def __call__(self, X: Array) -> Array:
        return on_host(lambda V: self.data.stack(Apply(self._divided(V), self._centring)), X)

    def adjoint(self, Z: Array) -> Array:
        return on_host(lambda V: self._divided(self.data.total(Adjoint(V, self._centring))), Z)

    def gram(self, X: Array) -> Array:
        return on_host(lambda V: self._divided(self.data.total(GramProduct(self._divided(V), self._centring))), X)

    def form_gram(self) -> Array:
        found = self.data.second
        H = found.squares if self.center else found.squares + found.rows * np.outer(found.mean, found.mean)
        unit = np.ldexp(1.0, found.exponent)
        if self.scale is not None:
            return np.asarray(H * np.outer(unit / self.scale, unit / self.scale))
        return H if found.exponent == 0 else np.asarray(H * unit * unit)

    def _divided(self, V: Any) -> Any:
        return V if self.scale is None else V / self.scale[:, None]

    def rows(self, n: int) -> int:
        return self.data.shape[0]

    def cost(self, n: int) -> int:
        return self.data.source.entries

    def __repr__(self) -> str:
        return f"Blocked({self.data!r}, center={self.center})"
