"""The smoothly clipped absolute deviation."""

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
class SCAD(EntrywiseTerm):
    r"""The smoothly clipped absolute deviation, entry by entry.

    Its slope is :math:`\lambda` up to :math:`\lambda`, falls to zero at :math:`a\lambda` and stays zero. It is weakly
    convex with :math:`W = w/(a-1)`.

    Parameters
    ----------
    lam : float
        The slope at zero, and the length over which it stays; positive.
    a : float
        Where the slope reaches zero, in units of lam; greater than 1.
    weight : float
        The factor w that multiplies the sum.

    References
    ----------
    J. Fan and R. Li, Variable selection via nonconcave penalized likelihood and its oracle properties, JASA, 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import SCAD
    >>> SCAD(lam=1.0, a=3.0).prox(np.array([[4.0, 2.5, -1.5]]), mu=1.0)
    array([[ 4. ,  2. , -0.5]])
    """

    lam: float = 1.0
    a: float = 3.7
    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "lam", check_number(self.lam, "The lam of SCAD", above=0.0))
        object.__setattr__(self, "a", check_number(self.a, "The a of SCAD", above=1.0))
        object.__setattr__(self, "weight", check_weight(self.weight, "SCAD"))

    @property
    def weak_convexity(self) -> float:
        return self.weight / (self.a - 1)

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self.weight * self.lam * math.sqrt(math.prod(shape))

    def value(self, y: Array) -> Scalar:
        # The line up to a lam, less a parabola over the part from lam to a lam; constant from there on.
        xp = array_namespace(y)
        size = xp.clip(xp.abs(y), None, self.a * self.lam)
        bent = xp.clip(size - self.lam, 0.0, None)
        return self.weight * xp.sum(self.lam * size - bent * bent / (2 * (self.a - 1)))

    def prox(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        t, size = as_scalar(mu * self.weight, y), xp.abs(y)
        low, high, gap = self._pieces(t)
        soft = xp.clip(size - t * self.lam, 0.0, None)
        bent = ((self.a - 1) * size - (self.a * self.lam) * t) / gap
        return backend_of(y).sign(y) * xp.where(size <= low, soft, xp.where(size <= high, bent, size))

    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        xp = array_namespace(y)
        t, size = as_scalar(mu * self.weight, y), xp.abs(y)
        low, high, gap = self._pieces(t)
        soft = xp.astype(size >= t * self.lam, y.dtype)
        bent = ((self.a - 1) / gap) * xp.ones_like(y)
        return xp.where(size <= low, soft, xp.where(size <= high, bent, 1.0))

    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        xp = array_namespace(y)
        slope = self.weight * xp.clip((self.a * self.lam - xp.abs(y)) / (self.a - 1), 0.0, self.lam)
        return xp.where(y > 0, slope, -slope), xp.where(y < 0, -slope, slope)

    def _pieces(self, t: Array) -> tuple[Array, Array, Array]:
        """The magnitudes of y where the prox passes from soft to bent to none, and the divisor of the bent piece.

        While the prox problem is convex (t < a - 1) its slope is continuous and the pieces meet. Beyond, the bent
        piece is concave and vanishes; soft and none cost the same at the value given, which has one form where
        soft is not zero (t <= a + 1) and one where it is.
        """
        xp = array_namespace(t)
        lam, a = self.lam, self.a
        convex = t < a - 1
        jump = xp.where(t <= a + 1, (lam / 2) * (a + 1 + t), lam * xp.sqrt(t * (a + 1)))
        gap = xp.where(convex, (a - 1) - t, 1.0)
        return xp.where(convex, lam * (1 + t), jump), xp.where(convex, a * lam, jump), gap
