"""The sum of the Euclidean norms of rows or columns."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._fields import require
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ConvexTerm, ProximableTerm
from orthoprox.terms._derivative import GroupDerivative, ProxDerivative, group_dots


@dataclass(frozen=True)
class GroupL2(ProximableTerm, ConvexTerm):
    r"""The group norm :math:`w \sum_i \|y_i\|_2` over rows (or columns); its prox shrinks whole groups to zero.

    Parameters
    ----------
    by : {"rows", "columns"}
        What the groups are.
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import GroupL2
    >>> GroupL2("rows").prox(np.array([[3.0, 4.0], [0.3, 0.4]]), mu=1.0)
    array([[2.4, 3.2],
           [0. , 0. ]])
    """

    by: str = "rows"
    weight: float = 1.0

    def __post_init__(self) -> None:
        require(
            isinstance(self.by, str) and self.by in ("rows", "columns"),
            f'The groups of GroupL2 must be "rows" or "columns"; given {self.by!r}.',
        )
        object.__setattr__(self, "weight", check_weight(self.weight, "GroupL2"))

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * math.sqrt(shape[0] if self.by == "rows" else shape[1])

    def value(self, y: Array) -> Scalar:
        return self.weight * array_namespace(y).sum(self._norms(y))

    def prox(self, y: Array, mu: Scalar) -> Array:
        return y * self._shrinkage(self._norms(y), mu)

    def prox_and_value(self, y: Array, mu: Scalar) -> tuple[Array, Scalar]:
        norms = self._norms(y)
        scale = self._shrinkage(norms, mu)
        return y * scale, self.weight * array_namespace(y).sum(scale * norms)

    def _shrinkage(self, norms: Array, mu: Scalar) -> Array:
        """The factors by which the prox shortens groups of these lengths."""
        xp, t = array_namespace(norms), mu * self.weight
        stays = norms > t
        return xp.where(stays, 1.0 - t / xp.where(stays, norms, 1.0), 0.0)

    @property
    def has_prox_derivative(self) -> bool:
        return True

    def prox_derivative(self, y: Array, mu: Scalar) -> ProxDerivative:
        # A group b longer than t has the derivative (1 - t/|b|) I + (t/|b|^3) b b'; a shorter one has zero.
        xp = array_namespace(y)
        norms, t = self._norms(y), mu * self.weight
        stays = norms > t
        norms, nothing = xp.where(stays, norms, xp.ones_like(norms)), xp.zeros_like(norms)
        scale = xp.where(stays, 1.0 - t / norms, nothing)
        along = y * xp.where(stays, xp.sqrt(t / norms) / norms, nothing)
        return GroupDerivative(scale, along, self.by)

    def subgradient(self, y: Array) -> Array:
        return self._unit(y, self._norms(y))

    def _unit(self, y: Array, norms: Array) -> Array:
        """The groups at length w, those of length zero as they are."""
        xp = array_namespace(y)
        away = norms > 0
        return y * xp.where(away, self.weight / xp.where(away, norms, 1.0), 0.0)

    def subgradient_distance(self, y: Array, z: Array) -> Scalar:
        # One subgradient where the group is not zero; the ball of radius w where it is.
        xp = array_namespace(y)
        norms = self._norms(y)
        inside = xp.clip(self._norms(z) - self.weight, 0.0, None)
        return norm(xp.where(norms > 0, self._norms(z - self._unit(y, norms)), inside))

    def dots(self, a: Array, b: Array) -> Array:
        """The scalar products of the groups of a with those of b, along the axis that is kept."""
        return group_dots(a, b, self.by)

    def _norms(self, y: Array) -> Array:
        return array_namespace(y).sqrt(self.dots(y, y))
