"""A map whose rows are multiplied by numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import is_array_api_obj

from orthoprox._fields import DERIVED, derive, require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap, as_map
from orthoprox.maps._host import beside, like_of
from orthoprox.maps._norm import check_norm, norm_bound


@dataclass(frozen=True, eq=False)
class ScaledRows(LinearMap):
    """X -> diag(factors) B X: every row of the data times a number of its own. Nothing is formed.

    Parameters
    ----------
    B : LinearMap, array, sparse matrix or LinearOperator, shape (m, n)
        The data, one example in each row.
    factors : array, shape (m, 1)
        The numbers; all finite.
    norm : float, optional
        A bound on the largest singular value of the product; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import ScaledRows
    >>> ScaledRows(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[0.2], [0.5]]))(np.eye(2))
    array([[0.6, 0.8],
           [0. , 1. ]])
    """

    left: ClassVar[bool] = True

    B: LinearMap
    factors: Array
    norm: float = DERIVED

    def __post_init__(self) -> None:
        B = as_map(self.B)
        n = B.columns
        if n is None or not B.left:
            raise ValueError(f"Only a product from the left with a known number of columns has rows; given {B!r}.")
        m, s = B.rows(n), self.factors
        given = tuple(s.shape) if is_array_api_obj(s) else type(s).__name__
        require(given in ((m,), (m, 1)), f"The factors must be an array of shape ({m}, 1); given {given}.")
        xp = array_namespace(s)
        require(bool(xp.all(xp.isfinite(s))), "The factors must be finite; given NaN or infinite ones.")
        object.__setattr__(self, "B", B)
        object.__setattr__(self, "factors", beside(xp.reshape(s, (m, 1)), like_of(B)))
        derive(self, norm=lambda: norm_bound(self.__call__, self.adjoint, m, n, like_of(B)))
        object.__setattr__(self, "norm", check_norm(self.norm, "ScaledRows"))

    @property
    def columns(self) -> int:  # type: ignore[override]
        n = self.B.columns
        assert n is not None  # checked when the map was made
        return n

    def __call__(self, X: Array) -> Array:
        return beside(self.factors, X) * self.B(X)

    def adjoint(self, Z: Array) -> Array:
        return self.B.adjoint(beside(self.factors, Z) * Z)

    def rows(self, n: int) -> int:
        return self.B.rows(n)

    def cost(self, n: int) -> int:
        return self.B.cost(n) + self.rows(n)

    def __repr__(self) -> str:
        return f"ScaledRows({self.B!r})"
