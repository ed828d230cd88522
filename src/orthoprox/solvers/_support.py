"""The orthonormal matrices with given zeros: their tangent space, and the way back to them."""

from __future__ import annotations

from array_api_compat import array_namespace, device

from orthoprox._linalg import inner
from orthoprox._types import Array
from orthoprox.backends import backend_of

_AT_ONCE = 4_000_000  # entries of the largest array made on the way to the small matrices
_CHORDS = 30
_DENSE = 24  # columns up to which the r (r + 1)/2 equations for Lam are solved by a dense inverse


class Support:
    """The matrices with X'X = I that are zero off S, near one of them.

    A tangent D is zero off S and has X'D + D'X = 0. What is normal on S is (X Lam) on S with Lam symmetric, so the
    projection of W asks for the Lam with

        sym(X'((X Lam) on S)) = sym(X'W).

    Column j of (X Lam) on S is S_j X lam_j with the diagonal S_j that keeps S, so the r small matrices X' S_j X hold
    all there is to know. The system is solved by conjugate gradients; the preconditioner is its inverse where the
    columns are few, so that a step or two will do, and its diagonal where they are many. Where two columns of S have no
    row in common, nothing determines that entry of Lam, and it stays zero.

    Parameters
    ----------
    X : array, shape (n, r)
    on : array, shape (n, r)
        One on S, zero off S, as floats.
    dense : bool
        Whether to invert the system, if it is not too large: that pays for more than a few multipliers.
    """

    def __init__(self, X: Array, on: Array, dense: bool = True) -> None:
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
        self._there = diagonal > 64 * backend_of(X).eps(X) ** 2
        self._inverse = xp.where(self._there, 1.0 / xp.where(self._there, diagonal, xp.ones_like(diagonal)), 0.0)
        self._whole = self._inverted() if dense and r <= _DENSE else None

    def _inverted(self) -> tuple[Array, Array, Array]:
        """The inverse of the system for the entries Lam_kl, k <= l, and how these entries lie in Lam.

        Off the diagonal an entry counts by the square root of 2, which makes the system symmetric.
        """
        xp, r = array_namespace(self.X), self.X.shape[1]
        like, where = self.X.dtype, device(self.X)
        row, column = (xp.asarray(index, device=where) for index in zip(*_pairs(r), strict=True))
        eye = xp.eye(r, dtype=like, device=where)
        flat = xp.reshape(self._blocks, (r * r, r))
        # Entry (i, j) of the left-hand side: half of the sum over k of (X'S_j X)_ik Lam_kj + (X'S_i X)_jk Lam_ki.
        ends = ((column * r + row, column), (row * r + column, row))
        K = sum(xp.take(flat, at, axis=0)[:, :, None] * xp.take(eye, end, axis=0)[:, None, :] for at, end in ends) / 2
        K = K + xp.permute_dims(K, (0, 2, 1))
        K = xp.take(xp.reshape(K, (K.shape[0], r * r)), row * r + column, axis=1)
        root = xp.where(row == column, eye[0, 0], 2**0.5 * eye[0, 0])
        K = K * root[:, None] / xp.where(row == column, 2.0 * eye[0, 0], 2**0.5 * eye[0, 0])
        there = xp.astype(xp.take(xp.reshape(self._there, (-1,)), row * r + column), like)
        ridge = backend_of(self.X).eps(self.X) ** 0.5 * float(xp.max(xp.linalg.diagonal(K)))
        ridge = max(ridge, float(xp.finfo(like).smallest_normal))
        K = K + ridge * xp.eye(K.shape[0], dtype=like, device=where)
        inverse = xp.linalg.inv(K) * there[:, None] * there
        back = xp.asarray(_places(r), device=where)
        return inverse / root[:, None] * root, row * r + column, back

    def _near(self, C: Array) -> Array:
        """The preconditioner: nearly the Lam of C."""
        if self._whole is None:
            return self._inverse * C
        xp = array_namespace(C)
        inverse, half, back = self._whole
        found = inverse @ xp.take(xp.reshape(C, (-1,)), half)
        return xp.reshape(xp.take(found, back), C.shape)

    def apply(self, Lam: Array) -> Array:
        """The left-hand side sym(X'((X Lam) on S))."""
        xp = array_namespace(Lam)
        columns = xp.matmul(self._blocks, Lam.T[:, :, None])[:, :, 0]
        return (columns + columns.T) / 2

    def multiplier(self, C: Array, tolerance: float = 1e-10) -> Array:
        """The Lam with sym(X'((X Lam) on S)) = C, as far as there is one, to a relative accuracy."""
        enough = tolerance**2 * float(inner(C, C))
        Lam = self._near(C)
        R = C - self.apply(Lam)
        if float(inner(R, R)) <= enough:
            return Lam
        P = Z = self._near(R)
        size = float(inner(R, Z))
        for _ in range(4 * C.shape[0]):
            if float(inner(R, R)) <= enough:
                break
            Q = self.apply(P)
            bend = float(inner(P, Q))
            if not bend > 0:
                break
            Lam, R = Lam + (size / bend) * P, R - (size / bend) * Q
            Z = self._near(R)
            size, before = float(inner(R, Z)), size
            P = Z + (size / before) * P
        return Lam

    def normal(self, W: Array, tolerance: float = 1e-10) -> Array:
        """The Lam of the normal part (X Lam) on S of W, which is zero off S."""
        XtW = self.X.T @ W
        return self.multiplier((XtW + XtW.T) / 2, tolerance)

    def tangent(self, W: Array, tolerance: float = 1e-10) -> Array:
        """The projection of W, which is zero off S, onto the tangent space."""
        return W - (self.X @ self.normal(W, tolerance)) * self.on


def _pairs(r: int) -> list[tuple[int, int]]:
    """The places on and above the diagonal, row by row."""
    return [(i, j) for i in range(r) for j in range(i, r)]


def _places(r: int) -> list[int]:
    """For every entry of a symmetric matrix, row by row, where it stands among those on and above the diagonal."""
    place = {pair: k for k, pair in enumerate(_pairs(r))}
    return [place[min(i, j), max(i, j)] for i in range(r) for j in range(r)]


def restored(Y: Array, on: Array, near: Support | None = None) -> Array | None:
    """An orthonormal matrix close to Y with zeros off S; None where Newton's method finds none.

    The equation X'X = I is solved by steps normal to the manifold. A linearisation serves until it stops helping, so
    one that is at hand from a point nearby is welcome.
    """
    xp, eps = array_namespace(Y), backend_of(Y).eps(Y)
    X = Y * on
    eye = xp.eye(X.shape[1], dtype=X.dtype, device=device(X))
    support = Support(X, on, dense=False) if near is None else near
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
            support = Support(X, on, dense=False)
        before = error
        X = X - (X @ support.multiplier(E / 2, 1e-3)) * on
    return None
