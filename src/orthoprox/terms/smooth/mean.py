"""A mean of many smooth terms, of which a stochastic method takes one at a time."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

from orthoprox._checks import check_matrix, check_weight
from orthoprox._fields import cached_property, require, with_weight
from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product
from orthoprox.maps.sparse import is_sparse
from orthoprox.terms._base import SmoothTerm
from orthoprox.terms._sums import add_up
from orthoprox.terms.smooth.explained_variance import ExplainedVariance


@dataclass(frozen=True, eq=False)
class Mean(SmoothTerm):
    r"""The term :math:`\tfrac{w}{N} \sum_i f_i(X)`.

    To most solvers it is one smooth term. ``orthoprox.solvers.StochasticOADMM`` takes the gradient of one part,
    ``part(i)``, in place of that of all. It does so where the Mean is all of f: put other smooth terms into the parts.

    Parameters
    ----------
    parts : sequence of SmoothTerm
        The f_i, one for each batch of the data.
    weight : float
        The factor w.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import ExplainedVariance, Mean
    >>> B = np.random.default_rng(0).standard_normal((90, 4))
    >>> f, whole = Mean.of_rows(B, 20, weight=1 / 90), ExplainedVariance(B, weight=1 / 90)
    >>> len(f.parts), bool(np.allclose(f.gradient(np.eye(4)), whole.gradient(np.eye(4))))
    (5, True)
    """

    parts: tuple[SmoothTerm, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.parts, SmoothTerm):
            raise TypeError(f"A Mean needs a sequence of smooth terms; given one {type(self.parts).__name__}.")
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "weight", check_weight(self.weight, "Mean", nonnegative=False))
        require(len(self.parts) > 0, "A Mean needs at least one part; given none.")
        for part in self.parts:
            if not isinstance(part, SmoothTerm):
                raise TypeError(f"The parts of a Mean must be smooth terms; given {type(part).__name__}.")

    @classmethod
    def of_rows(cls, B: Any, rows: int, weight: float = 1.0) -> Mean:
        """The term ``-w/2 |BX|^2`` as a mean over blocks of rows.

        Parameters
        ----------
        B : array or SciPy sparse matrix
            The data; rows are examples. Shuffle them first if neighbours are alike.
        rows : int
            How many rows there are in a block; the last may be shorter.
        weight : float
            The factor w, for example 1 over the number of rows.
        """
        try:
            step = operator.index(rows)
        except TypeError:
            raise TypeError(f"rows must be a whole number, the rows of a block; given {rows!r}.") from None
        require(step >= 1, f"A block must have at least 1 row; given {step}.")
        B = B.tocsr() if is_sparse(B) else check_matrix(B, "B")
        starts = range(0, B.shape[0], step)
        return cls(tuple(ExplainedVariance(B[i : i + step, :], len(starts)) for i in starts), weight)

    def part(self, i: int) -> SmoothTerm:
        """The term w f_i: the mean of these over i is this one."""
        one = self.parts[i]
        return with_weight(one, self.weight * one.weight)

    @property
    def lipschitz(self) -> float | None:
        known = self._constants
        return None if known is None else abs(self.weight) * math.fsum(known) / len(known)

    @property
    def mean_square_lipschitz(self) -> float | None:
        """The root of the mean of the squared constants of the parts: how far their gradients may disagree."""
        known = self._constants
        return None if known is None else abs(self.weight) * math.hypot(*known) / math.sqrt(len(known))

    @cached_property
    def _constants(self) -> list[float] | None:
        known = [part.lipschitz for part in self.parts if part.lipschitz is not None]
        return known if len(known) == len(self.parts) else None

    @property
    def upper_curvature(self) -> float | None:
        known = [part.upper_curvature for part in self.parts if part.upper_curvature is not None]
        if self.weight < 0 or len(known) < len(self.parts):
            return self.lipschitz
        return self.weight * math.fsum(known) / len(known)

    @property
    def rotation_invariant(self) -> bool:
        return all(part.rotation_invariant for part in self.parts)

    def value(self, X: Array) -> Scalar:
        first, *rest = (part.value(X) for part in self.parts)
        return self.weight / len(self.parts) * sum(rest, start=first)

    def gradient(self, X: Array) -> Array:
        first, *rest = (part.gradient(X) for part in self.parts)
        return self.weight / len(self.parts) * sum(rest, start=first)

    @property
    def has_hessian(self) -> bool:
        return all(part.has_hessian for part in self.parts)

    def hessian(self, X: Array) -> Product | None:
        known = [product for product in (part.hessian(X) for part in self.parts) if product is not None]
        if len(known) < len(self.parts):
            return None
        return lambda V: self.weight / len(known) * add_up([product(V) for product in known])
