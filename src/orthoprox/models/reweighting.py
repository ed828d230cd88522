"""Iteratively reweighted principal components."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps import LinearMap, Matrix
from orthoprox.maps._host import identity_blocks
from orthoprox.maps._rows import squared_row_norms
from orthoprox.models.robust_subspace import SubspaceDistance
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers import Scope, Solver, UnsupportedProblem
from orthoprox.terms import GroupL2, Zero

MAX_FORMED = 512
"""Up to this many features the weighted covariance is formed and its eigenvectors are exact."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ReweightingState:
    """The iterate and the smoothing of the weights."""

    t: int
    now: Point
    delta: float


@dataclass(frozen=True, kw_only=True)
class Reweighting(Solver[ReweightingState]):
    r"""Weighted principal components, each sample weighted by one over its distance at the step before.

    For the problems of :func:`robust_subspace` and of :func:`dual_pcp` with ``norm="rows"``. The root is concave, so

    .. math:: \sqrt{s + \delta^2} \le q + \frac{s - s_0}{2q}, \qquad q = \sqrt{s_0 + \delta^2}

    bounds every smoothed distance by a multiple of its square, with equality at the point before. The bound is
    least at the leading (for :func:`dual_pcp` the trailing) eigenvectors of the weighted covariance
    :math:`\sum_i y_i y_i' / q_i`. So the sum of smoothed distances never increases.

    With more than 512 features, eigenvectors of the covariance on the span of X, CX, CCX take the place of the leading
    ones; that space contains X, so the sum still never increases. For :func:`dual_pcp` they are always exact.

    Parameters
    ----------
    smoothing : float, optional
        For :func:`dual_pcp` only, whose objective has no smoothing: the length :math:`\delta` in the weights. By
        default the root mean square of the samples' lengths times :math:`\sqrt\epsilon` (1.5e-8 in double precision).

    References
    ----------
    G. Lerman, T. Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference 7, 2018; for the
    complement: M. C. Tsakiris, R. Vidal, "Dual principal component pursuit", JMLR 19, 2018 (DPCP-IRLS).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import Reweighting, robust_subspace
    >>> Y = np.random.default_rng(0).standard_normal((50, 6))
    >>> result = solve(robust_subspace(Y, n_components=2), Reweighting())
    >>> bool(np.all(np.diff(result.history.objective) <= 1e-12))
    True
    """

    name: ClassVar[str] = "reweighting"
    summary: ClassVar[str] = "principal components of samples weighted by one over their distance"
    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope(concave=False)
    compilable: ClassVar[bool] = False

    smoothing: float | None = None

    def __post_init__(self) -> None:
        require(self.smoothing is None or self.smoothing > 0, f"smoothing must be positive; given {self.smoothing}.")

    def init(self, problem: Problem, X0: Array) -> ReweightingState:
        f, h = problem.f, problem.h
        sums_of_distances = (isinstance(f, SubspaceDistance) and isinstance(h, Zero)) or (
            isinstance(f, Zero) and isinstance(h, GroupL2) and h.by == "rows" and problem.A.left
        )
        if not sums_of_distances:
            raise UnsupportedProblem(
                f"{self.name} needs a sum of distances, as robust_subspace and dual_pcp with norm='rows' make it; "
                f"given f = {type(f).__name__}, h = {type(h).__name__}. Choose another solver."
            )
        return ReweightingState(t=0, now=problem.at(X0), delta=self._delta(problem))

    def _delta(self, problem: Problem) -> float:
        if isinstance(problem.f, SubspaceDistance):
            return float(problem.f.smoothing)
        if self.smoothing is not None:
            return self.smoothing
        squares = squared_row_norms(problem.A)
        scale = math.sqrt(float(array_namespace(squares).mean(squares)))
        return (scale or 1.0) * math.sqrt(backend_of(squares).eps(squares))

    def step(self, problem: Problem, state: ReweightingState) -> ReweightingState:
        f, X = problem.f, state.now.X
        if isinstance(f, SubspaceDistance):
            X = leading_eigenvectors(f.B, 1.0 / f.distances(X, f.B(X)), X)
        else:
            X = trailing_eigenvectors(problem.A, 1.0 / _lengths(state.now.AX, state.delta), X)
        return ReweightingState(t=state.t + 1, now=problem.at(X), delta=state.delta)

    def point(self, state: ReweightingState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: ReweightingState) -> Certificate:
        now, h = state.now, problem.h
        if isinstance(h, Zero):
            return Certificate(now, now.AX, 0.0 * now.AX)
        # Rows within reach of the smoothing count as zero. There a subgradient is any vector of a ball, among them the
        # one that the weights stand for.
        xp = array_namespace(now.AX)
        q = _lengths(now.AX, state.delta)
        near = q <= 1e3 * state.delta
        y = xp.where(near, 0.0, now.AX)
        return Certificate(now, y, xp.where(near, h.weight * now.AX / q, h.subgradient(y)))


def _lengths(AX: Array, delta: float) -> Array:
    """The smoothed lengths of the rows, as a column."""
    xp = array_namespace(AX)
    return xp.sqrt(xp.sum(AX * AX, axis=1, keepdims=True) + delta**2)


def leading_eigenvectors(B: LinearMap, w: Array, X: Array) -> Array:
    """The leading eigenvectors of C = B'diag(w)B, as many as X has columns; a Rayleigh-Ritz step if n is large."""
    xp = array_namespace(X)
    n, r = X.shape
    if r == 0:
        return X
    if n <= MAX_FORMED:
        return xp.flip(_eigenvectors(B, w, X), axis=1)[:, :r]
    w = w / xp.max(w)  # weights may be as large as one over the smoothing
    CX = B.adjoint(w * B(X))
    Q, _ = xp.linalg.qr(xp.concat([X, CX, B.adjoint(w * B(CX))], axis=1), mode="reduced")
    BQ = B(Q)
    _, E = xp.linalg.eigh(BQ.T @ (w * BQ))
    return Q @ xp.flip(E, axis=1)[:, :r]


def trailing_eigenvectors(B: LinearMap, w: Array, X: Array) -> Array:
    """The eigenvectors of B'diag(w)B with the smallest eigenvalues, as many as X has columns."""
    return _eigenvectors(B, w, X)[:, : X.shape[1]]


def _eigenvectors(B: LinearMap, w: Array, X: Array) -> Array:
    """All eigenvectors of B'diag(w)B, by rising eigenvalue."""
    xp, n = array_namespace(X), X.shape[0]
    if isinstance(B, Matrix):
        C = B.B.T @ (w * B.B)
    else:
        C = xp.concat([B.adjoint(w * B(E)) for E in identity_blocks(n, B.rows(n), X)], axis=1)
    return xp.linalg.eigh((C + C.T) / 2)[1]
