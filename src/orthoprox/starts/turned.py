"""The leading directions of f, turned: f stays what it is, and h becomes small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._fields import require
from orthoprox._linalg import identity_like, norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.manifolds import Stiefel
from orthoprox.problem import Problem
from orthoprox.starts._base import Drawn, Start

_TURNS = 100
_SETTLES = 4.0
_STILL = 1e-3  # |change of Q| / |Q| at which a rotation is settled; blocks of the solver do the rest


@dataclass(frozen=True)
class Turned(Start):
    """The leading directions of f, turned so that h(A(X)) is small.

    A few iterations of ADMM for ``min h(A(V Q))`` over orthogonal Q, from a Q drawn at random: each has one prox of h
    and one projection of an r-by-r matrix, and no product with the data. Different seeds give different points.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.starts import Leading, Turned
    >>> D = np.random.default_rng(0).standard_normal((60, 4)) @ np.kron(np.eye(4), np.ones((1, 5)))
    >>> problem = sparse_pca(D, n_components=4, weight=0.1)
    >>> X, turned = (start.draw(problem, seed=1).X for start in (Leading(), Turned()))
    >>> bool(problem.h.value(turned) < 0.9 * problem.h.value(X))
    True
    """

    name: ClassVar[str] = "turned"

    def check(self, problem: Problem) -> None:
        super().check(problem)
        slope = problem.h.lipschitz_constant(problem.shape)
        require(
            problem.A.left and 0 < slope < math.inf,
            f"Turned() needs a Lipschitz h of a map that acts from the left; given {type(problem.h).__name__} of "
            f"{type(problem.A).__name__}. Start from Varimax() or Random().",
        )

    def directions(self, problem: Problem) -> int:
        return problem.M.r

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        assert V is not None
        V, r, h = V[:, : problem.M.r], problem.M.r, problem.h
        AV = problem.A(V)
        G = AV.T @ AV
        # In units of the penalty at which the prox moves entries by as much as they are large, where Q does not settle.
        size = float(norm(AV))
        beta = _SETTLES * h.lipschitz_constant(problem.shape) / size if size > 0 else 1.0
        beta = max(beta, 2 * h.weak_convexity)
        c = float(array_namespace(G).linalg.eigvalsh(G)[-1])
        Q = rotate(V, rng)
        w = 0.0 * (AV @ Q)
        for _ in range(_TURNS):
            if is_over():
                break
            u = AV @ Q + w
            y = h.prox(u, 1 / beta)
            w = u - y
            # Linearised where A(V) is not orthonormal; for A = I the last term is rounding.
            before, Q = Q, Stiefel(r, r).project(AV.T @ (y - w) + (c * Q - G @ Q))
            if float(norm(Q - before)) <= _STILL * math.sqrt(r):
                break
        return Drawn(problem.M.project(V @ Q), self.name)


@dataclass(frozen=True)
class Varimax(Start):
    """The leading directions of f, turned towards few large entries by varimax.

    Parameters
    ----------
    among : float
        Turn this many times r directions, and keep the r columns that are best by themselves. With 1 the span stays
        that of the leading directions; with more, a heavy h may choose columns off it.

    References
    ----------
    .. [1] H. F. Kaiser, "The varimax criterion for analytic rotation in factor analysis", Psychometrika 23, 1958.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.starts import Varimax
    >>> D = np.random.default_rng(0).standard_normal((60, 4)) @ np.kron(np.eye(4), np.ones((1, 5)))
    >>> X = Varimax().draw(sparse_pca(D, n_components=4, weight=0.1), seed=1).X
    >>> np.sort(np.sum(np.abs(X) > 0.1, axis=0))
    array([5, 5, 5, 5])
    """

    among: float = 1.0

    def __post_init__(self) -> None:
        require(1 <= self.among < math.inf, f"among must be a number of at least 1; given {self.among}.")

    @property
    def name(self) -> str:
        return "varimax" if self.among == 1 else f"varimax of {self.among:g} r directions"

    def directions(self, problem: Problem) -> int:
        return min(problem.M.n, math.ceil(self.among * problem.M.r))

    def make(self, problem: Problem, V: Array | None, rng: np.random.Generator) -> Drawn:
        assert V is not None
        V = V[:, : min(self.directions(problem), V.shape[1])]
        n, k = V.shape
        Q = rotate(V, rng)
        for _ in range(_TURNS):
            if is_over():
                break
            Y = V @ Q
            before, Q = Q, Stiefel(k, k).project(V.T @ (Y * Y * Y) - Q / n)
            if float(norm(Q - before)) <= _STILL * math.sqrt(k):
                break
        work = 0 if k == problem.M.r else math.ceil(k / problem.M.r)
        return Drawn(problem.M.project(best_columns(problem, V @ Q)), self.name, work)


def rotate(V: Array, rng: np.random.Generator) -> Array:
    """A random orthogonal matrix Q, such that V Q depends on the span of V and not on its basis.

    Eigenvectors come with any sign, and where eigenvalues are equal in any basis: LAPACK decides.
    """
    n, k = V.shape
    return Stiefel(k, k).project(V.T @ backend_of(V).from_numpy(rng.standard_normal((n, k)), V))


def best_columns(problem: Problem, Y: Array) -> Array:
    """The r columns with the lowest f + h, each beside columns of zeros."""
    r, xp = problem.M.r, array_namespace(Y)
    if Y.shape[1] == r:
        return Y
    HY = problem.f.product(Y)
    assert HY is not None
    first = identity_like(Y)[:1, :r]
    alone = xp.stack([problem.h.value(problem.A(Y[:, j : j + 1] @ first)) for j in range(Y.shape[1])])
    order = xp.argsort(xp.sum(Y * HY, axis=0) / 2 + alone, stable=True)
    return xp.take(Y, order[:r], axis=1)
