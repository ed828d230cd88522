"""Data without their column means, never formed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from array_api_compat import device, is_array_api_obj

from orthoprox._fields import DERIVED, derive
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._base import LinearMap, as_map
from orthoprox.maps._host import beside, like_of
from orthoprox.maps._norm import check_norm, norm_bound


@dataclass(frozen=True, eq=False)
class Centred(LinearMap):
    """X -> (B - 1 mean') X, the data without their column means; the centred matrix is never formed.

    Parameters
    ----------
    B : LinearMap, array, sparse matrix or LinearOperator, shape (m, n)
        The data, one example in each row.
    mean : array, shape (n, 1), optional
        What to subtract from every row; the column means of B when it is not given.
    norm : float, optional
        A bound on the largest singular value of the centred matrix; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Centred
    >>> A = Centred(np.array([[1.0, 5.0], [3.0, 5.0]]))
    >>> A.mean
    array([[2.],
           [5.]])
    >>> A(np.eye(2))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    left: ClassVar[bool] = True

    B: LinearMap
    mean: Array = DERIVED
    norm: float = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "B", as_map(self.B))
        if self.B.columns is None or not self.B.left:
            raise ValueError(
                f"Only a product from the left with a known number of columns has column means; given {self.B!r}."
            )
        if self.mean is not DERIVED:
            object.__setattr__(self, "mean", beside(_check_mean(self.mean, self.columns), like_of(self.B)))
        derive(self, mean=self._column_means, norm=self._bound)
        object.__setattr__(self, "norm", check_norm(self.norm, "Centred"))

    def _column_means(self) -> Array:
        like, m = like_of(self.B), self.rows(self.columns)
        ones = array_namespace(like).ones((m, 1), dtype=like.dtype, device=device(like))
        return self.B.adjoint(ones) / m

    def _bound(self) -> float:
        like, m = like_of(self.B), self.rows(self.columns)
        xp = array_namespace(self.mean)
        # What rounding leaves of B(X) - 1 mean'X, which is all there is when the columns of B are constant.
        top = float(xp.max(xp.abs(self.mean))) or 1.0
        length = top * math.sqrt(float(xp.sum((self.mean / top) ** 2)))
        left_over = 4.0 * backend_of(like).eps(like) * math.sqrt(m) * length
        return left_over + norm_bound(self.__call__, self.adjoint, m, self.columns, like)

    @property
    def columns(self) -> int:  # type: ignore[override]
        n = self.B.columns
        assert n is not None  # checked when the map was made
        return n

    def __call__(self, X: Array) -> Array:
        return self.B(X) - beside(self.mean, X).T @ X

    def adjoint(self, Z: Array) -> Array:
        xp = array_namespace(Z)
        return self.B.adjoint(Z) - beside(self.mean, Z) * xp.sum(Z, axis=0, keepdims=True)

    def rows(self, n: int) -> int:
        return self.B.rows(n)

    def cost(self, n: int) -> int:
        return self.B.cost(n) + n

    def __repr__(self) -> str:
        return f"Centred({self.B!r})"


def _check_mean(mean: Any, n: int) -> Array:
    """The given mean as a column."""
    if not is_array_api_obj(mean) or tuple(mean.shape) not in ((n,), (n, 1)):
        given = tuple(mean.shape) if is_array_api_obj(mean) else type(mean).__name__
        raise ValueError(f"The mean must be an array of shape ({n}, 1), one number for each column; given {given}.")
    return array_namespace(mean).reshape(mean, (n, 1))
