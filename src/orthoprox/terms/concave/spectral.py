"""The largest singular value."""

from __future__ import annotations

from dataclasses import dataclass

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.terms._base import ConvexTerm


@dataclass(frozen=True)
class SpectralNorm(ConvexTerm):
    r"""The largest singular value :math:`w\,\sigma_1(X)`.

    Parameters
    ----------
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import SpectralNorm
    >>> float(SpectralNorm(2.0).value(np.array([[3.0, 0.0], [0.0, -4.0]])))
    8.0
    """

    weight: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", check_weight(self.weight, "SpectralNorm"))

    def value(self, X: Array) -> Scalar:
        return self.weight * array_namespace(X).linalg.svdvals(X)[0]

    def subgradient(self, X: Array) -> Array:
        # The outer product of a leading pair of singular vectors; at zero, zero.
        xp = array_namespace(X)
        U, S, Vh = xp.linalg.svd(X, full_matrices=False)
        return xp.where(S[0] > 0, self.weight * (U[:, :1] @ Vh[:1, :]), 0.0)
