"""The sum of the k largest magnitudes."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index

from orthoprox._checks import check_weight
from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import ConvexTerm


@dataclass(frozen=True)
class LargestK(ConvexTerm):
    r"""The sum :math:`w \|X\|_{[k]}` of the k largest magnitudes of the whole array.

    The l1 norm minus this term is zero exactly when X has at most k nonzero entries. With k at or above the number
    of entries it is the l1 norm.

    Parameters
    ----------
    k : int
        How many; positive.
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import LargestK
    >>> g = LargestK(2)
    >>> float(g.value(np.array([[3.0, -1.0, -4.0]])))
    7.0
    >>> g.subgradient(np.array([[3.0, -1.0, -4.0]]))
    array([[ 1.,  0., -1.]])
    """

    k: int
    weight: float = 1.0

    def __post_init__(self) -> None:
        try:
            k = index(self.k)
        except TypeError:
            raise TypeError(f"The k of LargestK must be a whole number; given {self.k!r}.") from None
        require(
            k > 0 and not isinstance(self.k, bool), f"The k of LargestK must be a positive number; given {self.k!r}."
        )
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "weight", check_weight(self.weight, "LargestK"))

    def value(self, X: Array) -> Scalar:
        xp = array_namespace(X)
        size = xp.abs(X)
        return self.weight * xp.sum(xp.where(backend_of(X).top_k_mask(size, self.k), size, 0.0))

    def subgradient(self, X: Array) -> Array:
        # Among equal magnitudes the first ones by index are chosen, so that runs can be repeated.
        xp = array_namespace(X)
        return xp.where(backend_of(X).top_k_mask(xp.abs(X), self.k), self.weight * backend_of(X).sign(X), 0.0)
