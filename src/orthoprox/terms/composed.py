"""Smooth and convex terms of A(X)."""

from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import device

from orthoprox._checks import check_weight
from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends.autodiff import Product
from orthoprox.maps import Identity, LinearMap
from orthoprox.terms._base import ConvexTerm, QuadraticTerm, SmoothTerm, Term
from orthoprox.terms.zero import Zero


def compose_smooth(f: SmoothTerm, A: LinearMap) -> SmoothTerm:
    """The term X -> f(A(X)): quadratic when f is, f itself when A is the identity.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Difference
    >>> from orthoprox.terms import Quadratic, compose_smooth
    >>> type(compose_smooth(Quadratic(np.eye(2)), Difference())).__name__
    'ComposedQuadratic'
    """
    if isinstance(f, Zero) or isinstance(A, Identity):
        return f
    return ComposedQuadratic(f, A) if isinstance(f, QuadraticTerm) else ComposedSmooth(f, A)


@dataclass(frozen=True, eq=False)
class ComposedQuadratic(QuadraticTerm):
    """The quadratic term X -> f(A(X)), times a weight that may be negative.

    Parameters
    ----------
    f : QuadraticTerm
        The outer term.
    A : LinearMap
        The inner map.
    weight : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Difference
    >>> from orthoprox.terms import ComposedQuadratic, Quadratic
    >>> f = ComposedQuadratic(Quadratic(np.eye(2)), Difference())
    >>> float(f.value(np.array([[0.0], [1.0], [3.0]])))
    2.5
    """

    f: QuadraticTerm
    A: LinearMap
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check(self, self.f, QuadraticTerm, self.A, nonnegative=False)

    @property
    def lipschitz(self) -> float | None:
        return _times((self.weight * self.f).lipschitz, self.A)

    @property
    def upper_curvature(self) -> float | None:
        return _times((self.weight * self.f).upper_curvature, self.A)

    @property
    def rotation_invariant(self) -> bool:
        return self.f.rotation_invariant and self.A.left

    @property
    def left(self) -> bool:
        return self.f.left and self.A.left

    def product(self, X: Array) -> Array:
        return self.weight * self.A.adjoint(self.f.product(self.A(X)))

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        xp = array_namespace(X)
        origin = self._origin(X)
        C = self._linear_part(origin)
        value = xp.sum(X * HX) / 2 + self.weight * self.f.value_at(origin, origin)
        return value if C is None else value + xp.sum(C * X)

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        C = self._linear_part(self._origin(X))
        return HX if C is None else HX + C

    def _origin(self, X: Array) -> Array:
        return array_namespace(X).zeros(self.A.shape(*X.shape), dtype=X.dtype, device=device(X))

    def _linear_part(self, origin: Array) -> Array | None:
        # A term without a linear part returns the very HX it was given: then A is not needed.
        C = self.f.gradient_at(origin, origin)
        return None if C is origin else self.weight * self.A.adjoint(C)


@dataclass(frozen=True, eq=False)
class ComposedSmooth(SmoothTerm):
    """The smooth term X -> f(A(X)), times a weight that may be negative.

    Parameters
    ----------
    f : SmoothTerm
        The outer term.
    A : LinearMap
        The inner map.
    weight : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Difference
    >>> from orthoprox.terms import ComposedSmooth, Smooth
    >>> f = ComposedSmooth(Smooth(lambda Y: (Y**4).sum() / 4, lambda Y: Y**3), Difference())
    >>> f.gradient(np.array([[0.0], [1.0], [3.0]])).T
    array([[-1., -7.,  8.]])
    """

    f: SmoothTerm
    A: LinearMap
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check(self, self.f, SmoothTerm, self.A, nonnegative=False)

    @property
    def lipschitz(self) -> float | None:
        return _times((self.weight * self.f).lipschitz, self.A)

    @property
    def upper_curvature(self) -> float | None:
        return _times((self.weight * self.f).upper_curvature, self.A)

    @property
    def rotation_invariant(self) -> bool:
        return self.f.rotation_invariant and self.A.left

    def value(self, X: Array) -> Scalar:
        return self.weight * self.f.value(self.A(X))

    def gradient(self, X: Array) -> Array:
        return self.weight * self.A.adjoint(self.f.gradient(self.A(X)))

    def value_and_gradient(self, X: Array) -> tuple[Scalar, Array]:
        value, G = self.f.value_and_gradient(self.A(X))
        return self.weight * value, self.weight * self.A.adjoint(G)

    @property
    def has_hessian(self) -> bool:
        return self.f.has_hessian

    def hessian(self, X: Array) -> Product | None:
        A, inner = self.A, self.f.hessian(self.A(X))
        return None if inner is None else lambda V: self.weight * A.adjoint(inner(A(V)))


@dataclass(frozen=True, eq=False)
class ComposedConvex(ConvexTerm):
    """The convex term X -> g(A(X)), times a weight.

    Parameters
    ----------
    g : ConvexTerm
        The outer term.
    A : LinearMap
        The inner map.
    weight : float
        The factor.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.maps import Difference
    >>> from orthoprox.terms import ComposedConvex, L1
    >>> float(ComposedConvex(L1(), Difference()).value(np.array([[0.0], [1.0], [-1.0]])))
    3.0
    """

    g: ConvexTerm
    A: LinearMap
    weight: float = 1.0

    def __post_init__(self) -> None:
        _check(self, self.g, ConvexTerm, self.A)

    def value(self, X: Array) -> Scalar:
        return self.weight * self.g.value(self.A(X))

    def subgradient(self, X: Array) -> Array:
        return self.weight * self.A.adjoint(self.g.subgradient(self.A(X)))


def _check(obj: Term, inner: Term, kind: type, A: LinearMap, *, nonnegative: bool = True) -> None:
    owner = type(obj).__name__
    require(isinstance(inner, kind), f"{owner} needs a {kind.__name__}; given {type(inner).__name__}.")
    require(isinstance(A, LinearMap), f"{owner} needs a LinearMap; given {type(A).__name__}.")
    object.__setattr__(obj, "weight", check_weight(obj.weight, owner, nonnegative=nonnegative))


def _times(constant: float | None, A: LinearMap) -> float | None:
    return None if constant is None else constant * A.norm**2
