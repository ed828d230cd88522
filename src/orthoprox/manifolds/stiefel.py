"""The Stiefel manifold: the n-by-r matrices with orthonormal columns."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from array_api_compat import device

from orthoprox._checks import check_floating
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.manifolds._polar import nearest, polar_factor

Retraction = Literal["polar", "qr"]


@dataclass(frozen=True)
class Stiefel:
    """The matrices X of n rows and r columns with X'X = I.

    Parameters
    ----------
    n, r : int
        The shape of X, with ``1 <= r <= n``.

    Examples
    --------
    >>> from orthoprox import Stiefel
    >>> M = Stiefel(5, 2)
    >>> X = M.random(seed=0)
    >>> float(M.infeasibility(X)) < 1e-14
    True
    """

    n: int
    r: int

    def __post_init__(self) -> None:
        for name in ("n", "r"):
            value = getattr(self, name)
            try:
                object.__setattr__(self, name, operator.index(value))
            except TypeError:
                raise TypeError(f"Stiefel(n, r) needs whole numbers; given {name} = {value!r}.") from None
        if not 1 <= self.r <= self.n:
            raise ValueError(
                f"A matrix of {self.n} rows cannot have {self.r} orthonormal columns: "
                f"Stiefel(n, r) needs 1 <= r <= n; given n = {self.n}, r = {self.r}."
            )

    def project(self, Y: Array) -> Array:
        """The nearest point: the polar factor U V' of Y = U diag(s) V' (remark (iv) on Algorithm 1)."""
        return nearest(Y)

    def retract(self, X: Array, V: Array, by: Retraction = "polar") -> Array:
        """A point of the manifold near X + V, to first order in a tangent V."""
        return self.retraction(X, V, by)[0]

    def retraction(self, X: Array, V: Array, by: Retraction = "polar") -> tuple[Array, Array]:
        """The retracted point and the r-by-r S with which it is (X + V) S.

        A product B X_new is then (B X + B V) S, with no further product with B.
        """
        if by == "polar":
            # (X + V)(I + V'V)^(-1/2) for tangent V; the projection also heals what rounding did to X.
            return polar_factor(X + V)
        if by == "qr":
            return self._qr(X + V)
        raise ValueError(f"A retraction is 'polar' or 'qr'; given {by!r}.")

    @staticmethod
    def _qr(Y: Array) -> tuple[Array, Array]:
        # With R's diagonal positive the factor is unique and continuous: columns never flip.
        xp = array_namespace(Y)
        Q, R = xp.linalg.qr(Y, mode="reduced")
        diagonal = xp.linalg.diagonal(R)
        signs = xp.where(diagonal < 0, -xp.ones_like(diagonal), xp.ones_like(diagonal))
        return Q * signs, xp.linalg.inv(R) * signs

    def tangent(self, X: Array, G: Array) -> Array:
        """The projection of G onto the tangent space at X: G - X sym(X'G)."""
        XtG = X.T @ G
        return G - X @ ((XtG + XtG.T) / 2.0)

    def direction(self, X: Array, G: Array, rho: float) -> Array:
        """G_rho = G - rho X G'X - (1 - rho) X X'G (Lemma 2.12): tangent, and the projection of G at rho = 1/2."""
        XtG = X.T @ G
        return G - X @ (rho * XtG.T + (1.0 - rho) * XtG)

    def infeasibility(self, X: Array) -> Scalar:
        """The Frobenius norm of X'X - I."""
        xp = array_namespace(X)
        E = X.T @ X - xp.eye(X.shape[1], dtype=X.dtype, device=device(X))
        return xp.sqrt(xp.sum(E * E))

    def random(self, seed: int | np.random.Generator | None = 0, like: Array | None = None) -> Array:
        """A point drawn uniformly, the same for the same seed in every array library.

        Parameters
        ----------
        seed : int, Generator or None
            What ``numpy.random.default_rng`` takes.
        like : array, optional
            The point gets the library, device and float type of this array; NumPy float64 otherwise.
        """
        draw = np.random.default_rng(seed).standard_normal((self.n, self.r))
        X = polar_factor(draw)[0]
        if like is None:
            return X
        return polar_factor(backend_of(like).from_numpy(X, like))[0]

    def check(self, X: Any, name: str = "X0") -> Array:
        """The same array, if it has the right shape and holds finite floats."""
        shape = tuple(getattr(X, "shape", ()))
        if shape != (self.n, self.r):
            raise ValueError(f"{name} must have shape {(self.n, self.r)}; given {shape or type(X).__name__}.")
        check_floating(X, name)
        xp = array_namespace(X)
        if not bool(xp.all(xp.isfinite(X))):
            raise ValueError(f"{name} must be finite; the given one has NaN or infinite entries.")
        return X
