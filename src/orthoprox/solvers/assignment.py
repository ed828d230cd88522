"""Assignment: nonnegative orthonormal columns, by giving each row to the column that gains most from it.

F. Pompili, N. Gillis, P.-A. Absil, F. Glineur, "Two algorithms for orthogonal nonnegative matrix factorization with
application to clustering", Neurocomputing 141, 2014 (the alternation, for nonnegative data).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.maps._columns import squared_column_norms
from orthoprox.maps._host import beside
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.terms import ExplainedVariance, Nonnegative


@dataclass(frozen=True, kw_only=True, eq=False)
class AssignmentState:
    """The state of the alternation."""

    t: int
    now: Point
    squares: Array
    """The squared lengths of the columns of the data, weight included."""


@dataclass(frozen=True, kw_only=True)
class Assignment(Solver[AssignmentState]):
    r"""An alternation for ``-w/2 |BX|^2`` over X'X = I, X >= 0. It never increases F, and costs one product a step.

    Such an X has at most one nonzero entry in a row. With b_i the columns of B, and unit vectors u_j,

    .. math:: \max_X \|BX\|^2 = \max_{U, \text{owner}} \sum_i \max(0, b_i'u_{\text{owner}(i)})^2

    since ``|Bx|`` is the largest <u, Bx> over the unit vectors u, and then x is best proportional to the positive part
    of B'u on its rows. A step takes u_j along B x_j, gives each row to its largest b_i'u_j, which is the best choice of
    all, and takes the x_j that belong to them. None of the three lowers the sum. A column left without rows gets the
    row i with the largest ``|b_i|^2 - (b_i'u)^2``, which does not lower it either.

    At a fixed point X is critical, and the multiplier of X'X = I is Lam = -w a a' with ``a_j = |B x_j|``. That is more
    than critical: as long as every row has an owner, any choice of owners is critical if each column is, with a Lam
    that is low enough.

    A start with negative entries is replaced by what a step makes of it. The method is for this one family of
    problems, so it is not in ``SOLVERS``.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import nonnegative_pca
    >>> from orthoprox.solvers import Assignment
    >>> D = np.array([[2.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    >>> result = solve(nonnegative_pca(D, n_components=2), Assignment())
    >>> result.converged, np.round(result.X.T @ [1, 1, 2], 3)
    (True, array([1.414, 2.   ]))
    """

    name: ClassVar[str] = "assignment"
    summary: ClassVar[str] = "each row to the column that gains most, for nonnegative components"
    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope(concave=False, any_map=False, entrywise_only=True, lipschitz_only=False)
    compilable: ClassVar[bool] = False

    def for_problem(self, problem: Problem) -> Assignment:
        f, h = problem.f, problem.h
        if not (isinstance(f, ExplainedVariance) and f.weight >= 0 and f.B.left):
            raise UnsupportedProblem(
                "assignment needs f = ExplainedVariance with a weight that is not negative and data that multiply from "
                f"the left; given {f!r}. Choose another solver."
            )
        if not (isinstance(h, Nonnegative) and h.weight > 0):
            raise UnsupportedProblem(f"assignment needs h = Nonnegative(); given {h!r}. Choose another solver.")
        return self

    def init(self, problem: Problem, X0: Array) -> AssignmentState:
        f = problem.f
        assert isinstance(f, ExplainedVariance)  # for_problem has seen to it
        squares = f.weight * beside(squared_column_norms(f.B), X0)
        if bool(array_namespace(X0).any(X0 < 0)):
            X0 = assigned(_pulls(problem.at(X0))[0], squares)
        return AssignmentState(t=0, now=problem.at(X0), squares=squares)

    def step(self, problem: Problem, state: AssignmentState) -> AssignmentState:
        X = assigned(_pulls(state.now)[0], state.squares)
        return AssignmentState(t=state.t + 1, now=problem.at(X), squares=state.squares)

    def point(self, state: AssignmentState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: AssignmentState) -> Certificate:
        """The pair y = X and the z <= 0 off the nonzeros that belongs to Lam = -a a'."""
        now = state.now
        xp = array_namespace(now.X)
        P, a = _pulls(now)
        z = xp.clip((P - (now.X @ a)[:, None]) * a, None, 0.0)
        return Certificate(now, now.AX, xp.where(now.X > 0, xp.zeros_like(z), z))


def _pulls(now: Point) -> tuple[Array, Array]:
    """The products b_i'u_j with u_j = B x_j / |B x_j|, and these lengths; all that is needed is B'BX."""
    assert now.HX is not None  # f is quadratic
    xp = array_namespace(now.X)
    a = xp.sqrt(xp.clip(-xp.sum(now.X * now.HX, axis=0), 0.0, None))
    return -now.HX / xp.where(a > 0, a, xp.ones_like(a)), a


def assigned(P: Array, squares: Array) -> Array:
    """The nonnegative orthonormal X with each row in the column j of its largest P_ij, if positive, along P there.

    A column without rows gets, from a column that has others, the row that gains most when it is alone: ``squares``
    less what it contributes now. With P_ij = b_i'u_j and squares |b_i|^2 that is never a loss.
    """
    xp = array_namespace(P)
    n, r = P.shape
    columns, rows = xp.arange(r, device=device(P)), xp.arange(n, device=device(P))
    owner, best = xp.argmax(P, axis=1), xp.clip(xp.max(P, axis=1), 0.0, None)
    owner = xp.where(best > 0, owner, -1)
    for j in range(r):
        if not bool(xp.any(owner == j)):
            several = xp.sum(xp.astype(owner[:, None] == columns, P.dtype), axis=0) > 1
            spare = (owner < 0) | xp.any((owner[:, None] == columns) & several, axis=1)
            i = xp.argmax(xp.where(spare, squares - best * best, -xp.inf))
            owner = xp.where(rows == i, j, owner)
    Y = xp.where(owner[:, None] == columns, xp.where(P > 0, P, xp.ones_like(P)), xp.zeros_like(P))
    return Y / xp.sqrt(xp.sum(Y * Y, axis=0))
