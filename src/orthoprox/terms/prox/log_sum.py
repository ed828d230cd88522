"""The sum of logarithms."""

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
class LogSum(EntrywiseTerm):
    r"""The logarithmic penalty :math:`w \sum_{ij} \log(1 + |y_{ij}|/\epsilon)`.

    It is weakly convex with :math:`W = w/\epsilon^2`.

    Parameters
    ----------
    eps : float
        The size of entry at which the penalty starts to bend; positive.
    weight : float
        The factor w.

    References
    ----------
    E. Candes, M. Wakin and S. Boyd, Enhancing sparsity by with_weight l1 minimization, J. Fourier Anal. Appl., 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import LogSum
    >>> LogSum(eps=1.0).prox(np.array([[1.5, 0.5]]), mu=1.0)
    array([[1., 0.]])
    """

    eps: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "eps", check_number(self.eps, "The eps of LogSum", above=0.0))
        object.__setattr__(self, "weight", check_weight(self.weight, "LogSum"))

    @property
    def weak_convexity(self) -> float:
        return self.weight / self.eps**2

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight / self.eps * math.sqrt(math.prod(shape))

    def value(self, y: Array) -> Scalar:
        xp = array_namespace(y)
        return self.weight * xp.sum(xp.log1p(xp.abs(y) / self.eps))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        v, _ = self._sizes(xp.abs(y), as_scalar(mu * self.weight, y))
        return backend_of(y).sign(y) * v

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        # From (v - y)(v + eps) + t = 0: the slope is (v + eps) / root.
        xp = array_namespace(y)
        v, root = self._sizes(xp.abs(y), as_scalar(mu * self.weight, y))
        moves = root > 0
        return xp.where(moves, (v + self.eps) / xp.where(moves, root, 1.0), 0.0)

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        slope = self.weight / (xp.abs(y) + self.eps)
        return xp.where(y > 0, slope, -slope), xp.where(y < 0, -slope, slope)

    def _sizes(self, u: Array, t: Array) -> tuple[Array, Array]:
        """The minimiser v >= 0 of ``t log(1 + v/eps) + (v - u)^2 / 2``, and the root in its formula.

        The stationary points solve ``v^2 + (eps - u) v + t - u eps = 0``; only the larger one can be a minimum. It is
        compared with 0, which is a local minimum too when ``u eps <= t``. Where 0 wins, the root is given as 0.
        """
        xp = array_namespace(u)
        e, side = self.eps, xp.sqrt(t)
        root = xp.sqrt(xp.clip(u + e - 2 * side, 0.0, None) * (u + e + 2 * side))
        # Two ways to write the larger solution; each is used where it adds numbers of one sign.
        near = u < e
        v = xp.where(near, 2 * (u * e - t) / xp.where(near, e - u + root, 1.0), (u - e + root) / 2)
        v = xp.clip(v, 0.0, None)
        better = t * xp.log1p(v / e) < v * (u - v / 2)
        kept = (u * e >= t) | ((u + e >= 2 * side) & better)
        return xp.where(kept, v, 0.0), xp.where(kept, root, 0.0)
