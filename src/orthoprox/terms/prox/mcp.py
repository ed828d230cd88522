"""The minimax concave penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import EntrywiseTerm
from orthoprox.terms._parameters import as_scalar, check_number


@dataclass(frozen=True)
class MCP(EntrywiseTerm):
    r"""The minimax concave penalty: :math:`\lambda|y| - y^2/(2\gamma)` up to :math:`\gamma\lambda`, then constant.

    It is weakly convex with :math:`W = w/\gamma`. Unlike the l1 norm it leaves large entries alone.

    Parameters
    ----------
    lam : float
        The slope at zero; positive.
    gamma : float
        How slowly the slope falls to zero; positive.
    weight : float
        The factor w that multiplies the sum.

    References
    ----------
    C.-H. Zhang, Nearly unbiased variable selection under minimax concave penalty, Annals of Statistics, 2010.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import MCP
    >>> MCP(lam=1.0, gamma=2.0).prox(np.array([[3.0, 1.5, 0.5]]), mu=1.0)
    array([[3., 1., 0.]])
    """

    lam: float = 1.0
    gamma: float = 3.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", check_number(self.lam, "The lam of MCP", above=0.0))
        object.__setattr__(self, "gamma", check_number(self.gamma, "The gamma of MCP", above=0.0))
        object.__setattr__(self, "weight", check_weight(self.weight, "MCP"))

    @property
    def weak_convexity(self) -> float:
        return self.weight / self.gamma

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * self.lam * math.sqrt(math.prod(shape))

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        size = xp.clip(xp.abs(y), None, self.gamma * self.lam)
        return self.weight * xp.sum(size * (self.lam - size / (2 * self.gamma)))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        t, size = as_scalar(mu * self.weight, y), xp.abs(y)
        firm, gap = self._firm(t)
        shrunk = xp.clip((self.gamma / gap) * (size - t * self.lam), 0.0, None)
        # Firm thresholding while the problem is convex; beyond, the better of 0 and y.
        v = xp.where(firm, xp.minimum(shrunk, size), xp.where(size > self._jump(t), size, 0.0))
        return backend_of(y).sign(y) * v

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        t, size = as_scalar(mu * self.weight, y), xp.abs(y)
        firm, gap = self._firm(t)
        outer = xp.where(firm, self.gamma * self.lam, self._jump(t))
        slope = xp.where(size >= t * self.lam, (self.gamma / gap) * xp.ones_like(y), 0.0)
        return xp.where(size >= outer, 1.0, xp.where(firm, slope, 0.0))

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        slope = self.weight * xp.clip(self.lam - xp.abs(y) / self.gamma, 0.0, None)
        return xp.where(y > 0, slope, -slope), xp.where(y < 0, -slope, slope)

    def _firm(self, t: Array) -> tuple[Array, Array]:
        """Whether the prox problem is strictly convex, and gamma - t where it is."""
        xp = array_namespace(t)
        firm = t < self.gamma
        return firm, xp.where(firm, self.gamma - t, 1.0)

    def _jump(self, t: Array) -> Array:
        """Where y and 0 cost the same: ``t gamma lam^2 = y^2``."""
        return self.lam * array_namespace(t).sqrt(t * self.gamma)
