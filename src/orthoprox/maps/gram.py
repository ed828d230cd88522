"""A map followed by its adjoint."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._fields import DERIVED, derive
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap, as_map
from orthoprox.maps._host import like_of
from orthoprox.maps._norm import check_norm, check_square, norm_bound
from orthoprox.maps._there import beside_data
from orthoprox.maps.blocked import Blocked


@dataclass(frozen=True, eq=False)
class Gram(LinearMap):
    """X -> B'B X, by one product with B'B or by two with B, whichever is cheaper.

    Parameters
    ----------
    B : LinearMap, array, sparse matrix or LinearOperator, shape (m, n)
        The map.
    form : bool, optional
        Whether to form B'B. When it is not given: if its n * n entries are no more than the multiplications
        in one product with B.
    H : array, shape (n, n), optional
        B'B where it is known already; computed if it is formed, else None.
    norm : float, optional
        A bound on the squared norm of B; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Gram
    >>> A = Gram(np.ones((3, 2)))
    >>> A.formed, A(np.eye(2))
    (True, array([[3., 3.],
                  [3., 3.]]))
    """

    B: LinearMap
    form: bool | None = None
    H: Array | None = DERIVED
    norm: float = DERIVED

    def __post_init__(self) -> None:
        object.__setattr__(self, "B", as_map(self.B))
        n = self.B.columns
        if self.form and (n is None or not self.B.left):
            raise ValueError(
                f"Only a product from the left with a known number of columns has a Gram matrix; given {self.B!r}."
            )
        check_square(self.B.norm, like_of(self.B), "the data")
        derive(self, H=self._gram_matrix, norm=self._bound)
        object.__setattr__(self, "norm", check_norm(self.norm, "Gram"))

    def _gram_matrix(self) -> Array | None:
        n = self.B.columns
        if n is None or not self.B.left:
            return None
        if self.form is not None:
            wanted = self.form
        else:
            wanted = self.B.data.forms if isinstance(self.B, Blocked) else n * n <= self.B.cost(n)
        if not wanted:
            return None
        return self.B.form_gram()

    def _bound(self) -> float:
        if self.H is None:
            return self.B.norm**2
        n = int(self.H.shape[0])
        return norm_bound(self.__call__, self.__call__, n, n, self.H, lambda: self.B.norm**2)

    @property
    def formed(self) -> bool:
        """Whether products are with B'B."""
        return self.H is not None

    @property
    def left(self) -> bool:  # type: ignore[override]
        return self.B.left

    @property
    def columns(self) -> int | None:  # type: ignore[override]
        return self.B.columns

    def __call__(self, X: Array) -> Array:
        if self.H is None:
            return self.B.gram(X)
        # B'B lives where the data do, that of a sparse matrix in NumPy, and X may not
        H = self.H
        return H @ X if type(X) is type(H) else beside_data(lambda V: H @ V, X, H)

    def adjoint(self, Z: Array) -> Array:
        return self(Z)

    def rows(self, n: int) -> int:
        return n

    def cost(self, n: int) -> int:
        return n * n if self.formed else 2 * self.B.cost(n)

    def __repr__(self) -> str:
        return f"Gram({self.B!r}, formed={self.formed})"
