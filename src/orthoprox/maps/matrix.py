"""A dense matrix from the left."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import ClassVar

from orthoprox._checks import check_matrix
from orthoprox._fields import DERIVED, cached_property, derive
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._base import LinearMap
from orthoprox.maps._norm import check_norm, entry_bound, norm_bound
from orthoprox.maps._there import beside_data
from orthoprox.maps._tightness import probe_tightness


@dataclass(frozen=True, eq=False)
class Matrix(LinearMap):
    """X -> B X, with B a dense array of any library.

    The product is done where B lives, also for an X of another library, and returned in the library of X.

    Parameters
    ----------
    B : array, shape (m, n)
        Real floating-point numbers, all finite. It is not copied.
    norm : float, optional
        A bound on the largest singular value of B; computed when not given.
    name : str
        What error messages call B.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Matrix
    >>> A = Matrix(np.array([[3.0, 0.0, 0.0], [0.0, 2.0, 0.0]]))
    >>> A(np.ones((3, 1)))
    array([[3.],
           [2.]])
    >>> round(A.norm, 6)
    3.0
    """

    left: ClassVar[bool] = True

    B: Array
    norm: float = DERIVED
    name: InitVar[str] = "B"

    def __post_init__(self, name: str) -> None:
        check_matrix(self.B, name)
        m, n = self.B.shape
        derive(self, norm=lambda: norm_bound(self.__call__, self.adjoint, m, n, self.B, lambda: _ceiling(self.B)))
        object.__setattr__(self, "norm", check_norm(self.norm, "Matrix"))

    @property
    def columns(self) -> int:  # type: ignore[override]
        return int(self.B.shape[1])

    def __call__(self, X: Array) -> Array:
        return self.B @ X if type(X) is type(self.B) else beside_data(lambda V: self.B @ V, X, self.B)

    def adjoint(self, Z: Array) -> Array:
        return self.B.T @ Z if type(Z) is type(self.B) else beside_data(lambda V: self.B.T @ V, Z, self.B)

    def form_gram(self) -> Array:
        return self.B.T @ self.B

    def rows(self, n: int) -> int:
        return int(self.B.shape[0])

    def cost(self, n: int) -> int:
        return int(self.B.shape[0] * self.B.shape[1])

    @cached_property
    def tightness(self) -> float | None:
        return probe_tightness(self, self.B)

    def __repr__(self) -> str:
        return f"Matrix({self.B.shape[0]} by {self.B.shape[1]})"


def _ceiling(B: Array) -> float:
    """A bound from sums of absolute values, a few rows at a time so that B is never copied whole."""
    xp = array_namespace(B)
    m, n = B.shape
    top = max(float(xp.max(B)), -float(xp.min(B)))
    squares, row, columns = 0.0, 0.0, 0.0 * B[0, :]
    step = max(1, 2**22 // n)
    for first in range(0, m, step):
        part = xp.abs(B[first : first + step, :]) / top
        squares += float(xp.sum(part * part))
        row = max(row, float(xp.max(xp.sum(part, axis=1))))
        columns = columns + xp.sum(part, axis=0)
    return entry_bound(top, squares, row, float(xp.max(columns)), max(m, n), backend_of(B).eps(B))
