"""What may be asked of a term: the abstract classes f, g and h are made of."""

from __future__ import annotations

import abc
import math
from typing import Any, NoReturn

from orthoprox._checks import check_weight
from orthoprox._fields import with_weight
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import either
from orthoprox.backends.autodiff import Product
from orthoprox.terms._derivative import EntrywiseDerivative, ProxDerivative
from orthoprox.terms._differences import products_by_differences
from orthoprox.terms._expression import Expression, Summand


class Term(abc.ABC):
    """A function of a matrix, with a weight that multiplies the whole of it."""

    weight: float

    @abc.abstractmethod
    def value(self, X: Array) -> Scalar:
        """The function at X, weight included."""

    def _alone(self) -> Expression:
        return Expression((Summand(1, self, None),), 0.0)

    # Let NumPy scalars leave ``scalar * term`` to the methods below.
    __array_ufunc__ = None

    def __rmul__(self, factor: float) -> Any:
        factor = check_weight(factor, type(self).__name__, nonnegative=False)
        if not hasattr(self, "weight"):
            raise TypeError(
                f"{type(self).__name__} has no weight to multiply. Give the class a field weight, a factor of all "
                "that it computes: its value, and the weight times mu in its prox."
            )
        if factor < 0 and not isinstance(self, SmoothTerm):
            return -(-factor * self)
        return with_weight(self, factor * self.weight)

    def __mul__(self, factor: float) -> Any:
        return self.__rmul__(factor)

    def __matmul__(self, A: Any) -> Expression:
        return self._alone().__matmul__(A)

    def __rmatmul__(self, other: Any) -> NoReturn:
        self._alone().__rmatmul__(other)

    def __add__(self, other: Any) -> Expression:
        return self._alone().__add__(other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Expression:
        return self._alone().__sub__(other)

    def __rsub__(self, other: Any) -> Expression:
        return (-self._alone()).__add__(other)

    def __neg__(self) -> Expression:
        return -self._alone()


class SmoothTerm(Term):
    """f: differentiable, with a Lipschitz gradient.

    A term whose value and gradient both come from one product with its data offers that product, so
    that a solver can compute it once and combine it: see :class:`QuadraticTerm`.
    """

    @property
    @abc.abstractmethod
    def lipschitz(self) -> float | None:
        """L_f, never too small; None when it is not known and solvers must find it by backtracking."""

    @property
    def upper_curvature(self) -> float | None:
        """The least known c with ``f(Y) <= f(X) + <grad f(X), Y - X> + c/2 |Y - X|^2``; at most L_f, 0 if concave."""
        return self.lipschitz

    @property
    def rotation_invariant(self) -> bool:
        """Whether ``f(XQ) = f(X)`` for every orthogonal Q: then f depends on the span of X alone."""
        return False

    @property
    def left(self) -> bool:
        """Whether ``product(X S) = product(X) S`` for every r-by-r S: what is known at X then follows at X S."""
        return False

    @abc.abstractmethod
    def gradient(self, X: Array) -> Array:
        """The gradient at X."""

    def value_and_gradient(self, X: Array) -> tuple[Scalar, Array]:
        """Both at X, from one product with the data or one evaluation of a function."""
        HX = self.product(X)
        return self.value_at(X, HX), self.gradient_at(X, HX)

    @property
    def has_hessian(self) -> bool:
        """Whether ``hessian`` gives products; a term that says no is followed by its gradient."""
        return True

    def hessian(self, X: Array) -> Product | None:
        """The Hessian at X as a function V -> HV, for several V: by differences, for a term that does not know it."""
        return products_by_differences(self.gradient, X)

    def product(self, X: Array) -> Array | None:
        """The product with the data at X; None for a term that has none to share."""
        return None

    def value_at(self, X: Array, HX: Array | None) -> Scalar:
        """The value at X, given ``product(X)``."""
        return self.value(X)

    def gradient_at(self, X: Array, HX: Array | None) -> Array:
        """The gradient at X, given ``product(X)``."""
        return self.gradient(X)

    def change(self, X: Array, HX: Array | None, X_new: Array, HX_new: Array | None) -> Scalar:
        """``f(X_new) - f(X)``, given both products."""
        return self.value_at(X_new, HX_new) - self.value_at(X, HX)


class QuadraticTerm(SmoothTerm):
    """f(X) = <X, HX>/2 + <C, X> + constant: one product HX gives value and gradient, and HX is linear in X."""

    @abc.abstractmethod
    def product(self, X: Array) -> Array:
        """HX, weight included."""

    @property
    def has_hessian(self) -> bool:
        return True

    def hessian(self, X: Array) -> Product:
        return self.product

    @abc.abstractmethod
    def value_at(self, X: Array, HX: Array | None) -> Scalar: ...

    @abc.abstractmethod
    def gradient_at(self, X: Array, HX: Array | None) -> Array: ...

    def value(self, X: Array) -> Scalar:
        return self.value_at(X, self.product(X))

    def gradient(self, X: Array) -> Array:
        return self.gradient_at(X, self.product(X))

    def change(self, X: Array, HX: Array, X_new: Array, HX_new: Array) -> Scalar:
        # Written in the difference, which keeps digits that the difference of two values would lose.
        xp = array_namespace(X)
        D = X_new - X
        return xp.sum(D * (self.gradient_at(X, HX) + (HX_new - HX) / 2))


class ConvexTerm(Term):
    """g: convex and Lipschitz; it is subtracted."""

    @abc.abstractmethod
    def subgradient(self, X: Array) -> Array:
        """One subgradient at X, always the same one at the same X."""


class ProximableTerm(Term):
    """h: weakly convex and Lipschitz, with an exact proximal map."""

    @property
    def weak_convexity(self) -> float:
        """W_h: adding ``W_h/2 |y|^2`` makes h convex. Zero when h is convex."""
        return 0.0

    @abc.abstractmethod
    def lipschitz_constant(self, shape: tuple[int, ...]) -> float:
        """C_h on arrays of this shape; infinite for an h that is not Lipschitz."""

    @abc.abstractmethod
    def prox(self, y: Array, mu: Scalar) -> Array:
        """The minimiser of ``h(v) + |v - y|^2 / (2 mu)`` over v."""

    def prox_and_value(self, y: Array, mu: Scalar) -> tuple[Array, Scalar]:
        """The prox and h there, for terms to which the second is no extra work after the first."""
        p = self.prox(y, mu)
        return p, self.value(p)

    @property
    def has_prox_derivative(self) -> bool:
        """Whether ``prox_derivative`` returns an operator."""
        return False

    def prox_derivative(self, y: Array, mu: Scalar) -> ProxDerivative | None:
        """The derivative of the prox at y, one of several at a kink; None for a term that does not know it."""
        return None

    @abc.abstractmethod
    def subgradient(self, y: Array) -> Array:
        """One subgradient at y, always the same one at the same y."""

    def subgradient_distance(self, y: Array, z: Array) -> Scalar:
        """The distance from z to the subdifferential at y, or a prox residual that vanishes with it.

        The residual ``|y - prox(y + s z, s)| / s`` never exceeds the distance when h is convex and is
        zero exactly when z is a subgradient at y. Terms with a simple subdifferential give the distance itself.
        """
        # s z is as large as y, in any units: in a much smaller or larger sum one of the two would be rounding.
        xp, C = array_namespace(y), self.lipschitz_constant(tuple(y.shape))
        s = norm(y) / either((0 < C) & (C < math.inf), C, 1.0)
        s = xp.where(s > 0, s, xp.ones_like(s))
        if self.weak_convexity > 0:
            s = xp.clip(s, max=0.5 / self.weak_convexity)
        return norm(y - self.prox(y + s * z, s)) / s


class EntrywiseTerm(ProximableTerm):
    """h acts on each entry by itself; its subdifferential is an interval per entry."""

    @abc.abstractmethod
    def prox_slope(self, y: Array, mu: Scalar) -> Array:
        """The derivative of the prox, entry by entry; one of the one-sided ones at a kink."""

    @property
    def has_prox_derivative(self) -> bool:
        return True

    def prox_derivative(self, y: Array, mu: Scalar) -> ProxDerivative:
        return EntrywiseDerivative(self.prox_slope(y, mu))

    @abc.abstractmethod
    def subdifferential(self, y: Array) -> tuple[Array, Array]:
        """The lower and the upper end of the subdifferential, entry by entry."""

    def subgradient(self, y: Array) -> Array:
        low, high = self.subdifferential(y)
        return (low + high) / 2

    def subgradient_distance(self, y: Array, z: Array) -> Scalar:
        xp = array_namespace(y)
        low, high = self.subdifferential(y)
        nothing = xp.zeros_like(y)
        return norm(xp.maximum(low - z, nothing) + xp.maximum(z - high, nothing))
