"""A quadratic form."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from array_api_compat import is_array_api_obj

from orthoprox._checks import check_weight
from orthoprox._fields import DERIVED, derive, require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.maps import LinearMap, Matrix, Sparse, as_map
from orthoprox.terms._base import QuadraticTerm

_SMALL = 512  # up to this size the extreme eigenvalues are computed


@dataclass(frozen=True, eq=False)
class Quadratic(QuadraticTerm):
    r"""The quadratic form :math:`\tfrac{w}{2} \langle X, QX \rangle` with a symmetric Q.

    For :math:`\langle X, HX \rangle` without the half, write ``Quadratic(H, weight=2)``.

    Parameters
    ----------
    Q : array, sparse matrix, LinearOperator or LinearMap
        Square and symmetric. Of operators, and of maps other than Matrix and Sparse, it is taken on trust.
    weight : float
        The factor w.
    eigenvalues : pair of floats, optional
        A number not above the smallest eigenvalue of Q and one not below the largest; computed for a dense Q of at
        most 512 rows. With them ``upper_curvature`` is exact, otherwise it is the Lipschitz constant.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Quadratic
    >>> f = Quadratic(np.diag([2.0, -4.0]))
    >>> float(f.value(np.array([[1.0], [1.0]])))
    -1.0
    """

    Q: Any
    weight: float = 1.0
    eigenvalues: tuple[float, float] | None = DERIVED

    def __post_init__(self) -> None:
        Q = as_map(self.Q, "Q")
        n = Q.columns
        if n is not None:
            require(Q.rows(n) == n, f"Q must be square; given one of {Q.rows(n)} rows and {n} columns.")
        if isinstance(Q, (Matrix, Sparse)):
            _check_symmetric(Q)
        object.__setattr__(self, "Q", Q)
        object.__setattr__(self, "weight", check_weight(self.weight, "Quadratic", nonnegative=False))
        derive(self, eigenvalues=lambda: _extremes(Q))

    @property
    def lipschitz(self) -> float:
        norm: float = self.Q.norm
        return abs(self.weight) * norm

    @property
    def upper_curvature(self) -> float:
        if self.eigenvalues is None:
            return self.lipschitz
        smallest, largest = self.eigenvalues
        return min(self.lipschitz, max(0.0, self.weight * smallest, self.weight * largest))

    @property
    def rotation_invariant(self) -> bool:
        return bool(self.Q.left)

    @property
    def left(self) -> bool:
        return bool(self.Q.left)

    def product(self, X: Array) -> Array:
        return self.weight * self.Q(X)

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        return array_namespace(X).sum(X * HX) / 2

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        return HX


def _check_symmetric(Q: Matrix | Sparse) -> None:
    B = Q.B
    difference, largest = _largest(B - B.T), _largest(B)
    eps = _eps(B)
    # What rounding leaves in a product such as P D P' is let through.
    require(
        difference <= min(100 * B.shape[0] * eps, math.sqrt(eps)) * largest,
        f"Q must be symmetric; given one that differs from its transpose by up to {difference:g}. "
        "The symmetric (Q + Q.T) / 2 gives the same function.",
    )


def _largest(B: Any) -> float:
    if is_array_api_obj(B):
        xp = array_namespace(B)
        return float(xp.max(xp.abs(B)))
    return float(abs(B).max())


def _eps(B: Any) -> float:
    entries = B if is_array_api_obj(B) else B.data
    return backend_of(entries).eps(entries)


def _extremes(Q: LinearMap) -> tuple[float, float] | None:
    """The extreme eigenvalues of a small dense matrix, moved outwards by what rounding may have done."""
    if not isinstance(Q, Matrix) or Q.columns > _SMALL:
        return None
    values = array_namespace(Q.B).linalg.eigvalsh(Q.B)
    smallest, largest = float(values[0]), float(values[-1])
    margin = Q.columns * _eps(Q.B) * max(abs(smallest), abs(largest))
    return smallest - margin, largest + margin
