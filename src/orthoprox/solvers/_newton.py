"""The tangent subproblem of proximal gradient methods, by a semismooth Newton method on its dual.

The subproblem at X is to minimise ``<G, V> + |V|^2/(2 s) + h(A(X + V))`` over the tangent V, those with
``V'X + X'V = 0``. For A = I and a symmetric multiplier Lambda for the constraint its solution is
``V = prox(X - s G + 2 s X Lambda; s) - X``, and ``E(Lambda) = V'X + X'V = 0`` is left to be solved.

For ``A A' = c I`` the prox of ``s h(A .)`` at W is ``W + A'(prox(A W; c s) - A W)/c``. Newton's method needs only X'V,
to which this adds the part of V in the null space of A; so the steps happen in A(X).

S. Chen, S. Ma, A. Man-Cho So, T. Zhang, "Proximal Gradient Method for Nonsmooth Optimization over the
Stiefel Manifold", SIAM J. Optim. 30, 2020; X. Xiao, Y. Li, Z. Wen, L. Zhang, "A Regularized Semi-Smooth
Newton Method with Projection Steps for Composite Convex Programs", J. Sci. Comput. 76, 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from array_api_compat import device

from orthoprox._linalg import conjugate_gradients, inner, norm, rounding, symmetric_basis, triangle
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps import Identity, LinearMap
from orthoprox.terms import ProximableTerm
from orthoprox.terms._derivative import EntrywiseDerivative, GroupDerivative, ProxDerivative

IDENTITY = Identity()
DENSE_BELOW = 15
"""With fewer columns the Newton system is solved densely, otherwise by conjugate gradients."""
MOST_STEPS = 100
_LARGE = 2**22  # entries of an array that is kept for speed only


@dataclass(frozen=True, eq=False)
class TangentStep:
    """The solution of a subproblem."""

    V: Array
    multiplier: Array
    y: Array
    """A(X + V), as h's prox returned it."""
    steps: int


def tangent_step(
    h: ProximableTerm,
    X: Array,
    G: Array,
    s: float,
    multiplier: Array,
    *,
    largest: float,
    share: float,
    A: LinearMap = IDENTITY,
) -> TangentStep:
    """Solve the subproblem at X with gradient G and step size s, warm-started at a multiplier.

    Parameters
    ----------
    largest, share : float
        The tolerance for |E|^2: the smaller of ``largest`` and ``share |V|^2``, but not below rounding.
    A : LinearMap
        A product from the left with A A' = c I.
    """
    c, AX, AG = A.tightness, A(X), A(G)
    assert c is not None  # ManPG refuses other maps
    base = AX - s * AG
    K, N = (0.0 * multiplier,) * 2 if AX is X else (X.T @ X - AX.T @ AX / c, X.T @ G - AX.T @ AG / c)
    least = rounding(X, math.sqrt(X.shape[1])) ** 2

    def at(Lambda: Array) -> tuple[Array, Array, Array, float]:
        W = base + AX @ (2.0 * s * Lambda)
        y = h.prox(W, c * s)
        XtV = AX.T @ (y - AX) / c + s * (2.0 * (K @ Lambda) - N)
        E = XtV + XtV.T
        return W, y, E, float(norm(E)) ** 2

    products = _column_products(AX)
    W, y, E, size = at(multiplier)
    steps = 0
    # With A(V) = y - A(X), |A(V)|^2 / c is |V|^2 up to the part in the null space of A.
    while steps < MOST_STEPS and size > max(least, min(largest, share / c * float(norm(y - AX)) ** 2)):
        J = compress(h.prox_derivative(W, c * s), AX, products).plus(K, c)
        d = newton_direction(J, E, s)
        outcome = at(multiplier + d)
        if not outcome[3] < (1 - 1e-3) * size:
            # E is the gradient of a convex function of Lambda. Where its derivative is nearly singular, |E| need not
            # fall along d although that function does: then search for a zero of the function's slope.
            ends = (float(inner(E, d)) / 2, float(inner(outcome[2], d)) / 2)
            d = _find_zero(_slope(h, AX, W, y, d, s, c, K, ends[0]), ends) * d
            outcome = at(multiplier + d)
        multiplier, (W, y, E, size) = multiplier + d, outcome
        steps += 1
    V = y - X if AX is X else s * (2.0 * (X @ multiplier) - G) + A.adjoint(y - W) / c
    return TangentStep(V, multiplier, y, steps)


def _slope(
    h: ProximableTerm, AX: Array, W: Array, y: Array, d: Array, s: float, c: float, K: Array, first: float
) -> Callable[[float], float]:
    """The slope ``<V, X d>`` as a function of the fraction of d that is taken; it is ``first`` at 0.

    It needs no product with X: the part in A's range changes with the prox, the rest in proportion.
    """
    AXd = AX @ d
    constant, rate = first - float(inner(y - AX, AXd)) / c, 2.0 * s * float(inner(K @ d, d))

    def slope(fraction: float) -> float:
        change = h.prox(W + (2 * s * fraction) * AXd, c * s) - AX
        return float(inner(change, AXd)) / c + constant + fraction * rate

    return slope


def _find_zero(slope: Callable[[float], float], ends: tuple[float, float], most: int = 30) -> float:
    """A fraction in (0, 1] at which an increasing function is at most a tenth of its value at 0; 1 without a zero.

    False position and bisection take turns, since the slope has kinks.
    """
    (below, above), low, high = ends, 0.0, 1.0
    fraction, wanted = 1.0, -0.1 * below
    if not below < 0 < above:
        return fraction
    for trial in range(most):
        fraction = (low + high) / 2 if trial % 2 else (low * above - high * below) / (above - below)
        here = slope(fraction)
        if abs(here) <= wanted:
            break
        if here > 0:
            high, above = fraction, here
        else:
            low, below = fraction, here
    return fraction


# The derivative of the prox, compressed to the tangent space: the map D -> X' dprox(W)[X D] on symmetric D.


@dataclass(frozen=True, eq=False)
class ByColumns:
    """A derivative that acts on each column by itself: column c of D is multiplied by M[c]."""

    M: Array

    def plus(self, K: Array, c: float) -> ByColumns:
        """The map ``J/c + K``: the derivative at X from that in A(X), with K for the null space of A."""
        return ByColumns(self.M / c + K)

    def __call__(self, D: Array) -> Array:
        return (self.M @ D.T[:, :, None])[:, :, 0].T

    def matrix(self, basis: Array) -> Array:
        """The symmetric matrix of the map in a basis of the symmetric matrices."""
        xp = array_namespace(basis)
        flat = (-1, basis.shape[2])
        return xp.reshape(basis, flat).T @ xp.reshape(self.M @ basis, flat)


@dataclass(frozen=True, eq=False)
class ByRows:
    """A derivative that acts on each row by itself as ``c I + u'u``, with the rows u of U and N = X' diag(c) X."""

    N: Array
    X: Array
    U: Array

    def plus(self, K: Array, c: float) -> ByRows:
        """The map ``J/c + K``, as in ``ByColumns``."""
        return ByRows(self.N / c + K, self.X / math.sqrt(c), self.U)

    def __call__(self, D: Array) -> Array:
        xp = array_namespace(D)
        dots = xp.sum(self.U * (self.X @ D), axis=1, keepdims=True)
        return self.N @ D + self.X.T @ (dots * self.U)

    def matrix(self, basis: Array) -> Array:
        """The symmetric matrix of the map in a basis of the symmetric matrices."""
        xp = array_namespace(basis)
        flat = (-1, basis.shape[2])
        pairs = xp.reshape(self.X[:, :, None] * self.U[:, None, :], (self.X.shape[0], -1))
        rows = pairs @ xp.reshape(basis, flat)
        return xp.reshape(basis, flat).T @ xp.reshape(self.N @ basis, flat) + rows.T @ rows


@dataclass(frozen=True, eq=False)
class Compression:
    """Any other derivative, by its products."""

    derivative: ProxDerivative
    X: Array
    K: Array | float = 0.0
    c: float = 1.0

    def plus(self, K: Array, c: float) -> Compression:
        """The map ``J/c + K``, as in ``ByColumns``."""
        return Compression(self.derivative, self.X, K, c)

    def __call__(self, D: Array) -> Array:
        product = self.X.T @ self.derivative(self.X @ D) / self.c
        return product if isinstance(self.K, float) else product + self.K @ D

    def matrix(self, basis: Array) -> Array:
        """The symmetric matrix of the map in a basis of the symmetric matrices."""
        xp = array_namespace(basis)
        flat = (-1, basis.shape[2])
        images = xp.stack([self(basis[:, :, k]) for k in range(basis.shape[2])], axis=-1)
        return xp.reshape(basis, flat).T @ xp.reshape(images, flat)


def compress(
    derivative: ProxDerivative | None, X: Array, products: Array | None = None
) -> ByColumns | ByRows | Compression:
    """The map D -> X' dprox[X D] for the derivative of a prox.

    Parameters
    ----------
    products : array, optional
        The products of the columns of X two by two, when they are at hand.
    """
    if derivative is None:
        raise TypeError("The derivative of this prox is not known.")
    if isinstance(derivative, EntrywiseDerivative):
        return ByColumns(_column_matrices(X, derivative.slope, products))
    if not isinstance(derivative, GroupDerivative):
        return Compression(derivative, X)
    scale, along = derivative.scale, derivative.along
    if derivative.by == "rows":
        return ByRows(X.T @ (scale * X), X, along)
    U = X.T @ along
    return ByColumns(scale[0, :, None, None] * (X.T @ X) + U.T[:, :, None] * U.T[:, None, :])


def newton_direction(J: ByColumns | ByRows | Compression, E: Array, s: float, dense: bool | None = None) -> Array:
    """The symmetric d with ``(J + eta) d = -E``, where J is the derivative of E and eta vanishes with E."""
    xp, size, r = array_namespace(E), float(norm(E)), E.shape[0]
    # The size of J is at most 4 s: eta is proportional to s, and large enough not to be lost in J's rounding.
    eta = max(0.2 * max(min(size, 0.1), 1e-11) * min(1.0, 4 * s), rounding(E, s))

    def apply(D: Array) -> Array:
        S = J(D)
        return 2 * s * (S + S.T) + eta * D

    if r < DENSE_BELOW if dense is None else dense:
        basis = symmetric_basis(xp, r, E.dtype, device(E))
        flat = xp.reshape(basis, (r * r, -1))
        identity = xp.eye(flat.shape[1], dtype=E.dtype, device=device(E))
        d = xp.linalg.solve(4 * s * J.matrix(basis) + eta * identity, flat.T @ xp.reshape(-E, (-1, 1)))
        return xp.reshape(flat @ d, (r, r))
    return conjugate_gradients(apply, -E, tolerance=max(1e-7, min(1e-4, 1e-3 * size)), most=r * r).x


def _column_products(X: Array) -> Array | None:
    """The products of the columns of X two by two: all ``X' diag(v) X`` are then one product. None when too large."""
    xp, (n, r) = array_namespace(X), X.shape
    if n * r * (r + 1) // 2 > _LARGE:
        return None
    rows, columns, _ = triangle(xp, r, device(X))
    return xp.take(X, rows, axis=1) * xp.take(X, columns, axis=1)


def _column_matrices(X: Array, slope: Array, products: Array | None) -> Array:
    """The matrices ``X' diag(v) X`` for all columns v of the slope, along the first axis."""
    xp, r = array_namespace(X), X.shape[1]
    if products is None:
        return xp.stack([X.T @ (slope[:, c : c + 1] * X) for c in range(r)])
    flat = xp.take(slope.T @ products, triangle(xp, r, device(X)).places, axis=1)
    return xp.reshape(flat, (r, r, r))
