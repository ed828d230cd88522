"""RSG: the Riemannian subgradient method.

X. Li, S. Chen, Z. Deng, Q. Qu, Z. Zhu, A. M.-C. So, "Weakly convex optimization over Stiefel manifold using
Riemannian subgradient-type methods", SIAM J. Optim. 31, 2021.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from orthoprox._fields import require
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.manifolds.stiefel import Retraction
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._points import select


@dataclass(frozen=True, kw_only=True, eq=False)
class RSGState:
    """The state of RSG: the current point, the best one so far, and the length of the last step."""

    t: int
    now: Point
    best: Point
    lowest: Scalar
    eta0: Scalar
    moved: Scalar
    """The last step size times the norm of its direction; the only sign that the run is near its end."""


@dataclass(frozen=True, kw_only=True)
class RSG(Solver[RSGState]):
    """A step along the tangent part of a subgradient, then a retraction; keeps the best point.

    Values go up and down and the iterates are never sparse. With g present the direction need not belong to the
    subdifferential of F: the method is then a heuristic.

    Parameters
    ----------
    eta0 : float, optional
        The factor of all step sizes; by default a step of size eta0 has a tenth of the norm of X.
    rule : {"sqrt", "constant", "geometric"}
        The k-th step size, k = 1, 2, ...: ``eta0 / sqrt(k)``, a constant, or ``eta0 ratio^(k-1)``. The last
        converges to a solution only from a start near a sharp one.
    budget : int, optional
        The number K of iterations that a constant step size is for: it is then ``eta0 / sqrt(K + 1)``.
    ratio : float
        The factor of the geometric rule, in (0, 1).
    retraction : {"polar", "qr"}

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.solvers import RSG
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, RSG(rule="geometric", ratio=0.95), stop=Iterations(50)).iterations
    50
    """

    name: ClassVar[str] = "rsg"
    summary: ClassVar[str] = "Riemannian subgradient steps, best point kept"
    complexity: ClassVar[str] = "O(eps^-4)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave"}))

    eta0: float | None = None
    rule: Literal["sqrt", "constant", "geometric"] = "sqrt"
    budget: int | None = None
    ratio: float = 0.8
    retraction: Retraction = "polar"

    def __post_init__(self) -> None:
        rules = ("sqrt", "constant", "geometric")
        require(self.eta0 is None or self.eta0 > 0, f"eta0 must be positive; given {self.eta0}.")
        require(self.rule in rules, f"rule must be one of {rules}; given {self.rule!r}.")
        require(self.budget is None or self.budget >= 1, f"budget must be at least 1; given {self.budget}.")
        require(
            self.budget is None or self.rule == "constant",
            f"budget belongs to the constant rule; given rule = {self.rule!r}.",
        )
        require(
            self.rule != "constant" or self.eta0 is not None or self.budget is not None,
            "A constant length needs eta0, or the budget of iterations it is for.",
        )
        require(0 < self.ratio < 1, f"ratio must lie in (0, 1); given {self.ratio}.")
        require(self.retraction in ("polar", "qr"), f"retraction must be 'polar' or 'qr'; given {self.retraction!r}.")

    def init(self, problem: Problem, X0: Array) -> RSGState:
        now, eta0 = problem.at(X0), self.eta0
        if eta0 is None:
            size = float(norm(_direction(problem, now)))
            eta0 = 0.1 * math.sqrt(problem.M.r) / size if size > 0 else 1.0
        return RSGState(t=0, now=now, best=now, lowest=problem.objective(now), eta0=eta0, moved=0.0)

    def step(self, problem: Problem, state: RSGState) -> RSGState:
        D = _direction(problem, state.now)
        eta = self._step_size(state)
        new = problem.at(problem.M.retract(state.now.X, -eta * D, self.retraction))
        value = problem.objective(new)
        better = value < state.lowest
        return RSGState(
            t=state.t + 1,
            now=new,
            best=select(better, new, state.best),
            lowest=array_namespace(new.X).where(better, value, state.lowest),
            eta0=state.eta0,
            moved=eta * norm(D),
        )

    def _step_size(self, state: RSGState) -> Scalar:
        """The size of step t + 1."""
        if self.rule == "sqrt":
            return state.eta0 / (state.t + 1.0) ** 0.5
        if self.rule == "geometric":
            return state.eta0 * self.ratio**state.t
        return state.eta0 / math.sqrt(1 if self.budget is None else self.budget + 1)

    def point(self, state: RSGState) -> Array:
        return state.best.X

    def certificate(self, problem: Problem, state: RSGState) -> Certificate:
        return Certificate(state.best, state.best.AX, problem.h.subgradient(state.best.AX))


def _direction(problem: Problem, point: Point) -> Array:
    """The tangent part of ``grad f(X) - dg(X) + A*(dh(A(X)))``."""
    X = point.X
    smooth = problem.f.gradient_at(X, point.HX) - problem.g.subgradient(X)
    return problem.M.tangent(X, smooth + problem.A.adjoint(problem.h.subgradient(point.AX)))
