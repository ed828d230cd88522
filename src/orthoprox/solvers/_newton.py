"""The tangent subproblem of proximal gradient methods, by a semismooth Newton method on its dual.

The subproblem at X is to minimise ``<G, V> + |V|^2/(2 s) + h(A(X + V))`` over the tangent V, those with
``V'X + X'V = 0``. For A = I and a symmetric multiplier Lambda for the constraint its solution is
``V = prox(X - s G + 2 s X Lambda; s) - X``, and ``E(Lambda) = V'X + X'V = 0`` is left to be solved.

For ``A A' = c I`` the prox of ``s h(A .)`` at W is ``W + A'(prox(A W; c s) - A W)/c``. All that Newton's method asks
about V is X'V, to which that adds the part of V that A does not see; so the steps happen in A(X).

S. Chen, S. Ma, A. Man-Cho So, T. Zhang, "Proximal Gradient Method for Nonsmooth Optimization over the
Stiefel Manifold", SIAM J. Optim. 30, 2020; X. Xiao, Y. Li, Z. Wen, L. Zhang, "A Regularized Semi-Smooth
Newton Method with Projection Steps for Composite Convex Programs", J. Sci. Comput. 76, 2018.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, device

from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps import Identity, LinearMap
from orthoprox.terms import EntrywiseTerm, GroupL2, ProximableTerm, Shifted

IDENTITY = Identity()
DENSE_BELOW = 15
"""The number of columns from which on the Newton system is solved by conjugate gradients."""
MOST_STEPS = 100
_LARGE = 2**22  # entries of an array that is kept for speed only


@dataclass(frozen=True, eq=False)
class TangentStep:
    """The solution of a subproblem."""

    V: Array
    multiplier: Array
    y: Array
    """The outcome of h's prox, which is A(X + V)."""
    steps: int


def knows_derivative(h: ProximableTerm) -> bool:
    """Whether the derivative of the prox of h is known here."""
    return knows_derivative(h.h) if isinstance(h, Shifted) else isinstance(h, (EntrywiseTerm, GroupL2))


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
    """Solve the subproblem at X with gradient G and length s, from a first multiplier.

    Parameters
    ----------
    largest, share : float
        |E|^2 is brought below the smaller of ``largest`` and ``share |V|^2``, but not below rounding.
    A : LinearMap
        A product from the left with A A' = c I.
    """
    c, AX, AG, r = A.tightness, A(X), A(G), X.shape[1]
    assert c is not None  # ManPG refuses other maps
    base = AX - s * AG
    K, N = (0.0 * multiplier,) * 2 if AX is X else (X.T @ X - AX.T @ AX / c, X.T @ G - AX.T @ AG / c)
    rounding = (8 * r * backend_of(X).eps(X)) ** 2

    def at(Lambda: Array) -> tuple[Array, Array, Array, float]:
        W = base + AX @ (2.0 * s * Lambda)
        y = h.prox(W, c * s)
        XtV = AX.T @ (y - AX) / c + s * (2.0 * (K @ Lambda) - N)
        E = XtV + XtV.T
        return W, y, E, float(norm(E)) ** 2

    seen = _products(AX)
    W, y, E, size = at(multiplier)
    steps = 0
    # |A(V)|^2 / c, with A(V) = y - A(X), is |V|^2 up to what A does not see.
    while steps < MOST_STEPS and size > max(rounding, min(largest, share / c * float(norm(y - AX)) ** 2)):
        J = derivative(h, AX, W, c * s, seen).within(K, c)
        d = newton_direction(J, E, s)
        outcome = at(multiplier + d)
        if not outcome[3] < (1 - 1e-3) * size:
            # E is the gradient of a convex function of Lambda. Where its derivative is nearly singular |E| need not
            # fall along d although that function does, so what is sought is the zero of the function's slope.
            ends = (_inner(E, d) / 2, _inner(outcome[2], d) / 2)
            d = _zero_of_slope(_slope(h, AX, W, y, d, s, c, K, ends[0]), ends) * d
            outcome = at(multiplier + d)
        multiplier, (W, y, E, size) = multiplier + d, outcome
        steps += 1
    V = y - X if AX is X else s * (2.0 * (X @ multiplier) - G) + A.adjoint(y - W) / c
    return TangentStep(V, multiplier, y, steps)


def _slope(
    h: ProximableTerm, AX: Array, W: Array, y: Array, d: Array, s: float, c: float, K: Array, first: float
) -> Callable[[float], float]:
    """The slope ``<V, X d>`` as a function of the fraction of d that is taken; it is ``first`` at 0.

    No value needs a product with X: the part that A sees changes with the prox, the other one in proportion.
    """
    AXd = AX @ d
    still, bend = first - _inner(y - AX, AXd) / c, 2.0 * s * _inner(K @ d, d)

    def slope(fraction: float) -> float:
        return _inner(h.prox(W + (2 * s * fraction) * AXd, c * s) - AX, AXd) / c + still + fraction * bend

    return slope


def _zero_of_slope(slope: Callable[[float], float], ends: tuple[float, float], most: int = 30) -> float:
    """Where in (0, 1] a growing function is at most a tenth of its first value; 1 if it is negative there.

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


def _inner(a: Array, b: Array) -> float:
    return float(array_namespace(a).sum(a * b))


# The derivative of the prox, seen from the tangent space: the map D -> X' dprox(W)[X D] on symmetric D.


@dataclass(frozen=True, eq=False)
class ByColumns:
    """The derivative acts on each column by itself, so that column c of D is multiplied by M[c]."""

    M: Array

    def within(self, K: Array, c: float) -> ByColumns:
        """The map ``J/c + K``: what is left of a derivative in A(X) at X, where K is the part that A does not see."""
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
    """The derivative acts on each row by itself as ``c I + w'w``, with the rows w of U and N = X' diag(c) X."""

    N: Array
    X: Array
    U: Array

    def within(self, K: Array, c: float) -> ByRows:
        """The map ``J/c + K``, as in ``ByColumns``."""
        return ByRows(self.N / c + K, self.X / math.sqrt(c), self.U)

    def __call__(self, D: Array) -> Array:
        xp = array_namespace(D)
        inner = xp.sum(self.U * (self.X @ D), axis=1, keepdims=True)
        return self.N @ D + self.X.T @ (inner * self.U)

    def matrix(self, basis: Array) -> Array:
        """The symmetric matrix of the map in a basis of the symmetric matrices."""
        xp = array_namespace(basis)
        flat = (-1, basis.shape[2])
        pairs = xp.reshape(self.X[:, :, None] * self.U[:, None, :], (self.X.shape[0], -1))
        rows = pairs @ xp.reshape(basis, flat)
        return xp.reshape(basis, flat).T @ xp.reshape(self.N @ basis, flat) + rows.T @ rows


def derivative(h: ProximableTerm, X: Array, W: Array, s: float, seen: Array | None = None) -> ByColumns | ByRows:
    """The derivative of the prox of h at W, one of several at a kink.

    Parameters
    ----------
    seen : array, optional
        The products of the columns of X two by two, when they are at hand.
    """
    xp = array_namespace(W)
    if isinstance(h, Shifted):
        return derivative(h.weight * h.h, X, W - xp.astype(h.by, W.dtype, copy=False), s, seen)
    if isinstance(h, EntrywiseTerm):
        return ByColumns(_column_matrices(X, h.prox_slope(W, s), seen))
    if not isinstance(h, GroupL2):
        raise TypeError(f"The derivative of the prox of {type(h).__name__} is not known.")
    # A group b longer than w = s * weight has the derivative (1 - w/|b|) I + (w/|b|^3) b b'; any other has none.
    groups = W if h.by == "rows" else X.T @ W
    w = s * h.weight
    norms = xp.sqrt(h.dots(W, W))
    stays = norms > w
    norms = xp.where(stays, norms, xp.ones_like(norms))
    c = xp.where(stays, 1 - w / norms, xp.zeros_like(norms))
    U = groups * xp.where(stays, xp.sqrt(w / norms) / norms, xp.zeros_like(norms))
    if h.by == "rows":
        return ByRows(X.T @ (c * X), X, U)
    return ByColumns(c[0, :, None, None] * (X.T @ X) + U.T[:, :, None] * U.T[:, None, :])


def newton_direction(J: ByColumns | ByRows, E: Array, s: float, dense: bool | None = None) -> Array:
    """The symmetric d with ``(J + eta) d = -E``, where J is the derivative of E and eta vanishes with E."""
    xp, size, r = array_namespace(E), float(norm(E)), E.shape[0]
    # The size of J is at most 4 s: eta is taken in proportion, and large enough not to be lost beside J.
    eta = max(0.2 * max(min(size, 0.1), 1e-11) * min(1.0, 4 * s), 64 * s * backend_of(E).eps(E))

    def apply(D: Array) -> Array:
        S = J(D)
        return 2 * s * (S + S.T) + eta * D

    if r < DENSE_BELOW if dense is None else dense:
        basis = _basis(xp, r, E.dtype, device(E))
        flat = xp.reshape(basis, (r * r, -1))
        identity = xp.eye(flat.shape[1], dtype=E.dtype, device=device(E))
        d = xp.linalg.solve(4 * s * J.matrix(basis) + eta * identity, flat.T @ xp.reshape(-E, (-1, 1)))
        return xp.reshape(flat @ d, (r, r))
    return conjugate_gradients(apply, -E, max(1e-7, min(1e-4, 1e-3 * size)), r * r)


def conjugate_gradients(apply: Callable[[Array], Array], b: Array, tolerance: float, most: int) -> Array:
    """Solve ``apply(d) = b`` for a positive definite map, up to a residual of ``tolerance |b|``."""
    xp = array_namespace(b)
    d, residual, P = 0.0 * b, b, b
    size = first = float(xp.sum(b * b))
    for _ in range(most):
        AP = apply(P)
        curvature = float(xp.sum(P * AP))
        if not (size > tolerance**2 * first and curvature > 0):
            break
        d = d + size / curvature * P
        residual = residual - size / curvature * AP
        size, before = float(xp.sum(residual * residual)), size
        P = residual + size / before * P
    return d


def _pairs(r: int) -> tuple[list[int], list[int]]:
    """The pairs i <= j, as rows and columns."""
    return [i for i in range(r) for _ in range(i, r)], [j for i in range(r) for j in range(i, r)]


@functools.lru_cache(maxsize=16)
def _basis(xp: Any, r: int, dtype: Any, where: Any) -> Array:
    """An orthonormal basis of the symmetric r-by-r matrices, along the last axis."""
    rows, columns = _pairs(r)
    identity = xp.eye(r, dtype=dtype, device=where)
    scale = [0.5 if i == j else math.sqrt(0.5) for i, j in zip(rows, columns, strict=True)]
    first, second = (xp.take(identity, xp.asarray(index, device=where), axis=1) for index in (rows, columns))
    both = first[:, None, :] * second[None, :, :] + second[:, None, :] * first[None, :, :]
    return both * xp.asarray(scale, dtype=dtype, device=where)


@functools.lru_cache(maxsize=16)
def _indices(xp: Any, r: int, where: Any) -> tuple[Array, Array, Array]:
    """The pairs i <= j, and for every (i, j) the number of its pair."""
    rows, columns = _pairs(r)
    number = {pair: k for k, pair in enumerate(zip(rows, columns, strict=True))}
    place = [number[min(i, j), max(i, j)] for i in range(r) for j in range(r)]
    rows, columns, place = (xp.asarray(index, device=where) for index in (rows, columns, place))
    return rows, columns, place


def _products(X: Array) -> Array | None:
    """The products of the columns of X two by two: all ``X' diag(v) X`` are then one product. None when too large."""
    xp, (n, r) = array_namespace(X), X.shape
    if n * r * (r + 1) // 2 > _LARGE:
        return None
    rows, columns, _ = _indices(xp, r, device(X))
    return xp.take(X, rows, axis=1) * xp.take(X, columns, axis=1)


def _column_matrices(X: Array, slope: Array, seen: Array | None) -> Array:
    """The matrices ``X' diag(v) X`` for all columns v of the slope, along the first axis."""
    xp, r = array_namespace(X), X.shape[1]
    if seen is None:
        return xp.stack([X.T @ (slope[:, c : c + 1] * X) for c in range(r)])
    flat = xp.take(slope.T @ seen, _indices(xp, r, device(X))[2], axis=1)
    return xp.reshape(flat, (r, r, r))
