"""The orthonormal matrices with given zeros: their tangent space, and the way back to them."""

from __future__ import annotations

from array_api_compat import array_namespace, device

from orthoprox._types import Array
from orthoprox.backends import backend_of

_AT_ONCE = 4_000_000  # entries of the largest array made on the way to the small matrices
_CHORDS = 30


class Support:
    """The matrices with X'X = I that are zero off S, near one of them.

    A tangent D is zero off S and has X'D + D'X = 0. What is normal on S is (X Lam) on S with Lam symmetric, so the
    projection of W asks for the Lam with

        sym(X'((X Lam) on S)) = sym(X'W).

    Column j of (X Lam) on S is S_j X lam_j with the diagonal S_j that keeps S, so the r small matrices X' S_j X hold
    all there is to know. The system is solved by conjugate gradients with its diagonal as preconditioner. Where
    two columns of S have no row in common, nothing determines that entry of Lam, and it stays zero.

    Parameters
    ----------
    X : array, shape (n, r)
    on : array, shape (n, r)
        One on S, zero off S, as floats.
    """

    def __init__(self, X: Array, on: Array) -> None:
        xp = array_namespace(X)
        n, r = X.shape
        self.X, self.on = X, on
        columns = max(1, _AT_ONCE // (n * r))
        parts = []
        for j in range(0, r, columns):
            S = on[:, j : min(j + columns, r)]
            wide = xp.reshape(S[:, :, None] * X[:, None, :], (n, S.shape[1] * r))
            parts.append(xp.reshape(X.T @ wide, (r, S.shape[1], r)))
        self._blocks = xp.permute_dims(xp.concat(parts, axis=1), (1, 0, 2))
        both = xp.linalg.diagonal(self._blocks)
        diagonal = (both + both.T) / 2
        there = diagonal > 64 * backend_of(X).eps(X) ** 2
        self._inverse = xp.where(there, 1.0 / xp.where(there, diagonal, xp.ones_like(diagonal)), 0.0)

    def _apply(self, Lam: Array) -> Array:
        xp = array_namespace(Lam)
        columns = xp.matmul(self._blocks, Lam.T[:, :, None])[:, :, 0]
        return (columns + columns.T) / 2

    def multiplier(self, C: Array, tolerance: float = 1e-10) -> Array:
        """The Lam with sym(X'((X Lam) on S)) = C, as far as there is one, to a relative accuracy."""
        xp = array_namespace(C)
        enough = tolerance**2 * float(xp.sum(C * C))
        Lam = self._inverse * C
        R = C - self._apply(Lam)
        P = Z = self._inverse * R
        size = float(xp.sum(R * Z))
        for _ in range(4 * C.shape[0]):
            if float(xp.sum(R * R)) <= enough:
                break
            Q = self._apply(P)
            bend = float(xp.sum(P * Q))
            if not bend > 0:
                break
            Lam, R = Lam + (size / bend) * P, R - (size / bend) * Q
            Z = self._inverse * R
            size, before = float(xp.sum(R * Z)), size
            P = Z + (size / before) * P
        return Lam

    def normal(self, W: Array, tolerance: float = 1e-10) -> Array:
        """The Lam of the normal part (X Lam) on S of W, which is zero off S."""
        XtW = self.X.T @ W
        return self.multiplier((XtW + XtW.T) / 2, tolerance)

    def tangent(self, W: Array, tolerance: float = 1e-10) -> Array:
        """The projection of W, which is zero off S, onto the tangent space."""
        return W - (self.X @ self.normal(W, tolerance)) * self.on


def restored(Y: Array, on: Array, near: Support | None = None) -> Array | None:
    """An orthonormal matrix close to Y with zeros off S; None where Newton's method finds none.

    The equation X'X = I is solved by steps normal to the manifold. A linearisation serves until it stops helping, so
    one that is at hand from a point nearby is welcome.
    """
    xp, eps = array_namespace(Y), backend_of(Y).eps(Y)
    X = Y * on
    eye = xp.eye(X.shape[1], dtype=X.dtype, device=device(X))
    support = Support(X, on) if near is None else near
    before = first = float("inf")
    for k in range(_CHORDS):
        E = X.T @ X - eye
        error = float(xp.max(xp.abs(E)))
        first = min(first, error) if k == 0 else first
        if not error < 2 or (k >= 16 and error > 0.1 * first):
            return None
        if error <= 16 * eps or (error <= 4096 * eps and error > 0.5 * before):
            return X
        if error > 0.1 * before:
            support = Support(X, on)
        before = error
        X = X - (X @ support.multiplier(E / 2, 1e-3)) * on
    return None
