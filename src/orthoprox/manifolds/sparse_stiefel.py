"""The matrices with orthonormal columns and given zeros: their tangent spaces, and the way back to them."""

from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import device

from orthoprox._fields import cached_property
from orthoprox._linalg import conjugate_gradients, identity_like, symmetric, triangle
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of

_LARGE = 4_000_000  # entries of the largest array made on the way to the small matrices
_DENSE = 24  # columns up to which the r (r + 1)/2 equations for Lam are solved by a dense inverse
_STEPS = 30  # on the way back; a linearisation that does not bring the error down tenfold is made anew
_SLOW = 16  # steps after which the error has to be a tenth of the first one
_CLOSE = 16  # units in the last place of X'X - I: close enough
_STUCK = 4096  # the same where further steps do not help


@dataclass(frozen=True, eq=False)
class SparseStiefel:
    """The matrices X with X'X = I that are zero off a support.

    Parameters
    ----------
    support : array, shape (n, r)
        One where an entry may differ from zero, zero elsewhere, as floats.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.manifolds import SparseStiefel
    >>> M = SparseStiefel(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))
    >>> X = M.restore(np.array([[0.8, 0.0], [0.4, 0.6], [-0.4, 0.7]]))
    >>> X[0, 1], bool(np.abs(X.T @ X - np.eye(2)).max() < 1e-14)
    (np.float64(0.0), True)
    """

    support: Array

    def tangent_space(self, X: Array, *, dense: bool = True) -> TangentSpace:
        """The tangent space at X; with ``dense`` prepared for many projections."""
        return TangentSpace(X, self.support, dense)

    def restore(self, Y: Array, near: TangentSpace | None = None) -> Array | None:
        """A point of the manifold close to Y; None where Newton's method finds none.

        The equation X'X = I is solved by steps normal to the manifold. A linearisation serves until it stops
        helping, so the tangent space of a point nearby is welcome.
        """
        xp, eps = array_namespace(Y), backend_of(Y).eps(Y)
        X = Y * self.support
        space = self.tangent_space(X, dense=False) if near is None else near
        first = before = None
        for k in range(_STEPS):
            E = X.T @ X - identity_like(X)
            error = float(xp.max(xp.abs(E)))
            first = error if first is None else first
            if not error < 2 or (k >= _SLOW and error > 0.1 * first):
                return None
            if error <= _CLOSE * eps or (before is not None and error <= _STUCK * eps and error > 0.5 * before):
                return X
            if before is not None and error > 0.1 * before:
                space = self.tangent_space(X, dense=False)
            before = error
            X = X - (X @ space.multiplier(E / 2, 1e-3)) * self.support
        return None


class TangentSpace:
    """The tangent space of a :class:`SparseStiefel` at X: the D that are zero off the support S with X'D + D'X = 0.

    What is normal on S is (X Lam) on S with Lam symmetric, so the projection of W asks for the Lam with

        sym(X'((X Lam) on S)) = sym(X'W).

    Column j of (X Lam) on S is S_j X lam_j with the diagonal S_j that keeps S, so the r small matrices X' S_j X hold
    all there is to know. The system is solved by conjugate gradients; the preconditioner is its inverse where the
    columns are few, so that a step or two will do, and its diagonal where they are many. Where two columns of S have
    no row in common, nothing determines that entry of Lam, and it stays zero.

    Parameters
    ----------
    X : array, shape (n, r)
    support : array, shape (n, r)
    dense : bool
        Whether to invert the system, if it is not too large: that pays for more than a few projections.
    """

    def __init__(self, X: Array, support: Array, dense: bool = True) -> None:
        xp, (n, r) = array_namespace(X), X.shape
        self.X, self.support = X, support
        columns = max(1, _LARGE // (n * r))
        parts = []
        for j in range(0, r, columns):
            S = support[:, j : min(j + columns, r)]
            wide = xp.reshape(S[:, :, None] * X[:, None, :], (n, S.shape[1] * r))
            parts.append(xp.reshape(X.T @ wide, (r, S.shape[1], r)))
        self._blocks = xp.permute_dims(xp.concat(parts, axis=1), (1, 0, 2))
        both = xp.linalg.diagonal(self._blocks)
        self._diagonal = (both + both.T) / 2
        self._meets = self._diagonal > 64 * backend_of(X).eps(X) ** 2
        self._dense = dense and r <= _DENSE

    def project(self, W: Array, tolerance: float = 1e-10) -> Array:
        """The projection of W, which is zero off S, onto the tangent space."""
        return W - (self.X @ self.normal(W, tolerance)) * self.support

    def normal(self, W: Array, tolerance: float = 1e-10) -> Array:
        """The Lam of the normal part (X Lam) on S of W, which is zero off S."""
        return self.multiplier(symmetric(self.X.T @ W), tolerance)

    def multiplier(self, C: Array, tolerance: float = 1e-10) -> Array:
        """The Lam with sym(X'((X Lam) on S)) = C, as far as there is one, to a relative accuracy."""
        most = 4 * C.shape[0] + 1
        return conjugate_gradients(self.apply, C, tolerance=tolerance, most=most, precondition=self._precondition).x

    def apply(self, Lam: Array) -> Array:
        """The left-hand side sym(X'((X Lam) on S))."""
        xp = array_namespace(Lam)
        columns = xp.matmul(self._blocks, Lam.T[:, :, None])[:, :, 0]
        return (columns + columns.T) / 2

    def _precondition(self, C: Array) -> Array:
        if not self._dense:
            return self._inverse_diagonal * C
        xp = array_namespace(C)
        inverse, half, places = self._inverse
        Lam = inverse @ xp.take(xp.reshape(C, (-1,)), half)
        return xp.reshape(xp.take(Lam, places), C.shape)

    @cached_property
    def _inverse_diagonal(self) -> Array:
        xp, diagonal = array_namespace(self.X), self._diagonal
        return xp.where(self._meets, 1.0 / xp.where(self._meets, diagonal, xp.ones_like(diagonal)), 0.0)

    @cached_property
    def _inverse(self) -> tuple[Array, Array, Array]:
        """The inverse of the system for the entries Lam_kl, k <= l, and how these entries lie in Lam.

        Off the diagonal an entry counts by the square root of 2, which makes the system symmetric.
        """
        xp, r = array_namespace(self.X), self.X.shape[1]
        like = self.X.dtype
        row, column, places = triangle(xp, r, device(self.X))
        eye = identity_like(self.X)
        flat = xp.reshape(self._blocks, (r * r, r))
        # Entry (i, j) of the left-hand side: half of the sum over k of (X'S_j X)_ik Lam_kj + (X'S_i X)_jk Lam_ki.
        ends = ((column * r + row, column), (row * r + column, row))
        K = sum(xp.take(flat, at, axis=0)[:, :, None] * xp.take(eye, end, axis=0)[:, None, :] for at, end in ends) / 2
        K = K + xp.permute_dims(K, (0, 2, 1))
        K = xp.take(xp.reshape(K, (K.shape[0], r * r)), row * r + column, axis=1)
        one = eye[0, 0]
        root = xp.where(row == column, one, 2**0.5 * one)
        K = K * root[:, None] / xp.where(row == column, 2.0 * one, 2**0.5 * one)
        meets = xp.astype(xp.take(xp.reshape(self._meets, (-1,)), row * r + column), like)
        ridge = backend_of(self.X).eps(self.X) ** 0.5 * float(xp.max(xp.linalg.diagonal(K)))
        ridge = max(ridge, float(xp.finfo(like).smallest_normal))
        K = K + ridge * xp.eye(K.shape[0], dtype=like, device=device(self.X))
        inverse = xp.linalg.inv(K) * meets[:, None] * meets
        return inverse / root[:, None] * root, row * r + column, places
