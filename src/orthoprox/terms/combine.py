"""Sums of terms, sums over the parts of a stacked map, and translations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from operator import index

from orthoprox._checks import check_matrix, check_weight
from orthoprox._fields import require
from orthoprox._linalg import root_of_squares
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product
from orthoprox.terms._base import ConvexTerm, ProximableTerm, QuadraticTerm, SmoothTerm
from orthoprox.terms._derivative import ProxDerivative, StackedDerivative
from orthoprox.terms._parameters import check_broadcasts
from orthoprox.terms._sums import add_up, affine_gradient, affine_value, check_parts, total, total_upper
from orthoprox.terms.zero import Zero


def sum_smooth(terms: Iterable[SmoothTerm]) -> SmoothTerm:
    """The sum of smooth terms: quadratic when all of them are, the term itself when there is one, Zero for none.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import ExplainedVariance, Linear, sum_smooth
    >>> type(sum_smooth([ExplainedVariance(np.eye(2)), Linear(np.ones((2, 1)))])).__name__
    'QuadraticSum'
    """
    flat: list[SmoothTerm] = []
    for term in terms:
        if isinstance(term, (SmoothSum, QuadraticSum)):
            flat.extend(term.weight * part for part in term.parts)
        elif not isinstance(term, Zero):
            flat.append(term)
    if len(flat) < 2:
        return flat[0] if flat else Zero()
    quadratic = tuple(term for term in flat if isinstance(term, QuadraticTerm))
    return QuadraticSum(quadratic) if len(quadratic) == len(flat) else SmoothSum(tuple(flat))


def sum_convex(terms: Iterable[ConvexTerm]) -> ConvexTerm:
    """The sum of convex terms: the term itself when there is one, Zero for none.

    Examples
    --------
    >>> from orthoprox.terms import L1, Zero, sum_convex
    >>> sum_convex([L1(), Zero()])
    L1(weight=1.0)
    """
    flat = [term for term in terms if not isinstance(term, Zero)]
    if len(flat) < 2:
        return flat[0] if flat else Zero()
    return ConvexSum(tuple(flat))


@dataclass(frozen=True, eq=False)
class QuadraticSum(QuadraticTerm):
    """The sum of quadratic terms, times a weight.

    Parameters
    ----------
    parts : sequence of QuadraticTerm
        The terms.
    weight : float
        The factor; it may be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Linear, Quadratic, QuadraticSum
    >>> f = QuadraticSum((Quadratic(np.eye(2)), Linear(np.ones((2, 1)))))
    >>> float(f.value(np.array([[1.0], [1.0]])))
    3.0
    """

    parts: tuple[QuadraticTerm, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_parts(self, QuadraticTerm, nonnegative=False)

    @property
    def lipschitz(self) -> float | None:
        return total([abs(self.weight) * f for f in self.parts])

    @property
    def upper_curvature(self) -> float | None:
        return total_upper([self.weight * f for f in self.parts])

    @property
    def rotation_invariant(self) -> bool:
        return all(f.rotation_invariant for f in self.parts)

    @property
    def left(self) -> bool:
        return all(f.left for f in self.parts)

    def product(self, X: Array) -> Array:
        return self.weight * add_up([f.product(X) for f in self.parts])

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        return array_namespace(X).sum(X * HX) / 2 + self.weight * affine_value(self.parts, X)

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        return HX + self.weight * affine_gradient(self.parts, X)


@dataclass(frozen=True, eq=False)
class SmoothSum(SmoothTerm):
    """The sum of smooth terms, times a weight. Its product is that of its quadratic terms together.

    Parameters
    ----------
    parts : sequence of SmoothTerm
        The terms.
    weight : float
        The factor; it may be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import Quadratic, Smooth, SmoothSum
    >>> f = SmoothSum((Quadratic(np.eye(2)), Smooth(lambda X: (X**4).sum() / 4, lambda X: X**3)))
    >>> float(f.value(np.array([[1.0], [2.0]])))
    6.75
    """

    parts: tuple[SmoothTerm, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_parts(self, SmoothTerm, nonnegative=False)

    @property
    def lipschitz(self) -> float | None:
        return total([abs(self.weight) * f for f in self.parts])

    @property
    def upper_curvature(self) -> float | None:
        return total_upper([self.weight * f for f in self.parts])

    @property
    def rotation_invariant(self) -> bool:
        return all(f.rotation_invariant for f in self.parts)

    def value(self, X: Array) -> Scalar:
        return self.weight * add_up([f.value(X) for f in self.parts])

    def gradient(self, X: Array) -> Array:
        return self.weight * add_up([f.gradient(X) for f in self.parts])

    def value_and_gradient(self, X: Array) -> tuple[Scalar, Array]:
        values, gradients = zip(*(f.value_and_gradient(X) for f in self.parts), strict=True)
        return self.weight * add_up(values), self.weight * add_up(gradients)

    @property
    def has_hessian(self) -> bool:
        return all(f.has_hessian for f in self.parts)

    def hessian(self, X: Array) -> Product | None:
        parts = [f.hessian(X) for f in self.parts]
        known = [part for part in parts if part is not None]
        return (lambda V: self.weight * add_up([part(V) for part in known])) if len(known) == len(parts) else None

    @property
    def left(self) -> bool:
        return all(f.left for f in self._sorted()[0])

    def product(self, X: Array) -> Array | None:
        quadratic, _ = self._sorted()
        return self.weight * add_up([f.product(X) for f in quadratic]) if quadratic else None

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        quadratic, others = self._sorted()
        if not quadratic:
            return self.value(X)
        rest = add_up([affine_value(quadratic, X), *(f.value(X) for f in others)])
        return array_namespace(X).sum(X * HX) / 2 + self.weight * rest

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        quadratic, others = self._sorted()
        if not quadratic:
            return self.gradient(X)
        return HX + self.weight * add_up([affine_gradient(quadratic, X), *(f.gradient(X) for f in others)])

    def _sorted(self) -> tuple[tuple[QuadraticTerm, ...], tuple[SmoothTerm, ...]]:
        quadratic = tuple(f for f in self.parts if isinstance(f, QuadraticTerm))
        return quadratic, tuple(f for f in self.parts if not isinstance(f, QuadraticTerm))


@dataclass(frozen=True, eq=False)
class ConvexSum(ConvexTerm):
    """The sum of convex terms, times a weight.

    Parameters
    ----------
    parts : sequence of ConvexTerm
        The terms.
    weight : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, ConvexSum, LargestK
    >>> float(ConvexSum((L1(), LargestK(1))).value(np.array([[3.0, -4.0]])))
    11.0
    """

    parts: tuple[ConvexTerm, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_parts(self, ConvexTerm)

    def value(self, X: Array) -> Scalar:
        return self.weight * add_up([g.value(X) for g in self.parts])

    def subgradient(self, X: Array) -> Array:
        return self.weight * add_up([g.subgradient(X) for g in self.parts])


@dataclass(frozen=True, eq=False)
class SeparableSum(ProximableTerm):
    """Several terms, each of its own rows of y: what stands after a stacked map.

    Parameters
    ----------
    parts : sequence of ProximableTerm
        The terms, in the order of the rows.
    rows : sequence of int
        How many rows each of them has.
    weight : float
        The factor that multiplies the sum.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, NegativePart, SeparableSum
    >>> h = SeparableSum((L1(), NegativePart()), rows=(1, 2))
    >>> h.prox(np.array([[3.0], [-3.0], [1.0]]), mu=1.0).T
    array([[ 2., -2.,  1.]])
    """

    parts: tuple[ProximableTerm, ...]
    rows: tuple[int, ...]
    weight: float = 1.0

    def __post_init__(self) -> None:
        check_parts(self, ProximableTerm)
        rows = tuple(index(m) for m in self.rows)
        require(
            len(rows) == len(self.parts) and all(m > 0 for m in rows),
            f"SeparableSum needs one positive number of rows for each of its {len(self.parts)} parts; given {rows}.",
        )
        object.__setattr__(self, "rows", rows)

    @property
    def weak_convexity(self) -> float:
        return max(h.weak_convexity for h in self._weighted())

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        pairs = zip(self._weighted(), self.rows, strict=True)
        return root_of_squares(h.lipschitz_constant((m, *shape[1:])) for h, m in pairs)

    def value(self, y: Array) -> Scalar:
        return add_up([h.value(block) for h, block in self._blocks(y)])

    def prox(self, y: Array, mu: Scalar) -> Array:
        return array_namespace(y).concat([h.prox(block, mu) for h, block in self._blocks(y)], axis=0)

    @property
    def has_prox_derivative(self) -> bool:
        return all(h.has_prox_derivative for h in self.parts)

    def prox_derivative(self, y: Array, mu: Scalar) -> ProxDerivative | None:
        parts = tuple(h.prox_derivative(block, mu) for h, block in self._blocks(y))
        known = tuple(part for part in parts if part is not None)
        rows = tuple(range(*ends) for ends in pairwise(accumulate(self.rows, initial=0)))
        return StackedDerivative(known, rows) if len(known) == len(parts) else None

    def subgradient(self, y: Array) -> Array:
        return array_namespace(y).concat([h.subgradient(block) for h, block in self._blocks(y)], axis=0)

    def subgradient_distance(self, y: Array, z: Array) -> Scalar:
        pairs = zip(self._blocks(y), self._blocks(z), strict=True)
        squares = [h.subgradient_distance(block, other) ** 2 for (h, block), (_, other) in pairs]
        return array_namespace(y).sqrt(add_up(squares))

    def _weighted(self) -> tuple[ProximableTerm, ...]:
        return self.parts if self.weight == 1 else tuple(self.weight * h for h in self.parts)

    def _blocks(self, y: Array) -> list[tuple[ProximableTerm, Array]]:
        total = sum(self.rows)
        require(y.shape[0] == total, f"The parts of SeparableSum have {total} rows together; given {y.shape[0]}.")
        ends = pairwise(accumulate(self.rows, initial=0))
        return [(h, y[start:end, :]) for h, (start, end) in zip(self._weighted(), ends, strict=True)]


@dataclass(frozen=True, eq=False)
class Shifted(ProximableTerm):
    """A term of the difference from a fixed array: h(y - by), times a weight.

    Parameters
    ----------
    h : ProximableTerm
        The term.
    by : array
        What is taken from y; of its shape, or one that extends to it.
    weight : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, Shifted
    >>> Shifted(L1(), np.array([[1.0, 2.0]])).prox(np.array([[3.0, 2.5]]), mu=1.0)
    array([[2., 2.]])
    """

    h: ProximableTerm
    by: Array
    weight: float = 1.0

    def __post_init__(self) -> None:
        require(isinstance(self.h, ProximableTerm), f"Shifted needs a term with a prox; given {type(self.h).__name__}.")
        check_matrix(self.by, "The array by of Shifted")
        object.__setattr__(self, "weight", check_weight(self.weight, "Shifted"))

    @property
    def weak_convexity(self) -> float:
        return self._weighted().weak_convexity

    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        return self._weighted().lipschitz_constant(shape)

    def value(self, y: Array) -> Scalar:
        return self._weighted().value(self._moved(y))

    def prox(self, y: Array, mu: Scalar) -> Array:
        return self._beside(y) + self._weighted().prox(self._moved(y), mu)

    @property
    def has_prox_derivative(self) -> bool:
        return self.h.has_prox_derivative

    def prox_derivative(self, y: Array, mu: Scalar) -> ProxDerivative | None:
        return self._weighted().prox_derivative(self._moved(y), mu)

    def subgradient(self, y: Array) -> Array:
        return self._weighted().subgradient(self._moved(y))

    def subgradient_distance(self, y: Array, z: Array) -> Scalar:
        return self._weighted().subgradient_distance(self._moved(y), z)

    def _weighted(self) -> ProximableTerm:
        term: ProximableTerm = self.weight * self.h
        return term

    def _moved(self, y: Array) -> Array:
        return y - self._beside(y)

    def _beside(self, y: Array) -> Array:
        """What is taken from y, in the float type of y."""
        check_broadcasts(self.by, y, "The array by of Shifted")
        return array_namespace(y).astype(self.by, y.dtype, copy=False)
