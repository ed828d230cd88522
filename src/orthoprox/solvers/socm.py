"""SOCM: the orthogonality constraint split off, so that every step is a solve, a prox or a projection.

R. Lai, S. Osher, "A splitting method for orthogonality constrained problems", J. Sci. Comput. 58, 2014.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._linalg import norm, rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.maps import Identity
from orthoprox.problem import Certificate, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem, refuse_unless_allowed
from orthoprox.solvers._curvature import LARGEST as LARGEST_CONSTANT
from orthoprox.solvers._curvature import descends, larger_lipschitz, lipschitz_near
from orthoprox.solvers._hessian import LARGEST, formable, solve_system, system_matrix, system_size
from orthoprox.solvers._rgbb import least_penalty, matching_penalty


@dataclass(frozen=True, kw_only=True, eq=False)
class SOCMState:
    """The state of SOCM: X is free, P is feasible, B is the multiplier of X = P divided by beta."""

    t: int
    X: Array
    P: Array
    B: Array
    y: Array
    """The paper's Q, the copy of A(X); X itself in the two-block form."""
    z: Array
    """A subgradient of h at y, the multiplier of A(X) = y."""
    beta: float
    lam: float
    inverse: Array | None
    """Of H + beta I + lam A*A, or the smaller one of Woodbury's identity, in the factored form."""
    L: Scalar
    inner: Scalar
    """Inner steps so far; none in the factored form."""


@dataclass(frozen=True, kw_only=True)
class SOCM(Solver[SOCMState]):
    """ADMM that splits X = P, with P on the manifold, and in its three-block form also A(X) = y.

    There is no proof of convergence. A large beta freezes the run near its start, a small one lets it diverge. With the
    published beta, X oscillates about P for long where a column of X is near the direction in which f is most concave;
    a larger beta damps that. A g is replaced by its linearisation at P: an extension.

    Parameters
    ----------
    beta : float, optional
        The penalty of X = P; by default L_f, or twice that where neither A = I nor the form keeps the X-step convex.
    lam : float, optional
        The penalty of A(X) = y in the three-block form; ``L_f / |A|^2`` by default.
    form : {"three-block", "two-block"}
        The second leaves h in the X-step, which is then a proximal gradient loop and needs A = I.
    solve : {"auto", "factored", "linearised"}
        The X-step of the three-block form: one product with an inverse computed at the start, for a quadratic f whose
        matrix can be formed, or gradient steps. "auto" factors where it can, up to 3000 rows of X or, if there are
        fewer, of data.
    most_inner : int, optional
        The most gradient steps in an X-step; 100 in the two-block form, 1 in the linearised one by default.
    inner_tol : float
        A proximal gradient loop ends when its gradient mapping is below this.
    allow_non_lipschitz : bool
        Take an h that is not Lipschitz, such as :class:`~orthoprox.terms.L0` or
        :class:`~orthoprox.terms.Nonnegative`: a heuristic. What h asks for then holds at ``result.y``, not at X.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> result = solve(sparse_pca(D, n_components=2, weight=0.1), named("socm"), stop=Iterations(50))
    >>> result.infeasibility < 1e-12
    True
    """

    name: ClassVar[str] = "socm"
    summary: ClassVar[str] = "ADMM with the orthogonality constraint split off"
    complexity: ClassVar[str] = "unknown"
    scope: ClassVar[Scope] = Scope(
        lipschitz_only=False, unproved=frozenset({"concave", "weakly_convex", "not_lipschitz"})
    )

    beta: float | None = None
    lam: float | None = None
    form: Literal["three-block", "two-block"] = "three-block"
    solve: Literal["auto", "factored", "linearised"] = "auto"
    most_inner: int = DERIVED
    inner_tol: float = 1e-8
    allow_non_lipschitz: bool = False

    def __post_init__(self) -> None:
        derive(self, most_inner=lambda: 100 if self.form == "two-block" else 1)
        require(self.beta is None or self.beta > 0, f"beta must be positive; given {self.beta}.")
        require(self.lam is None or self.lam > 0, f"lam must be positive; given {self.lam}.")
        forms, solves = ("three-block", "two-block"), ("auto", "factored", "linearised")
        require(self.form in forms, f"form must be one of {forms}; given {self.form!r}.")
        require(self.solve in solves, f"solve must be one of {solves}; given {self.solve!r}.")
        require(self.most_inner >= 1, f"most_inner must be at least 1; given {self.most_inner}.")
        require(self.inner_tol >= 0, f"inner_tol must not be negative; given {self.inner_tol}.")

    def for_problem(self, problem: Problem) -> Self:
        self.scope.admit(problem, self.name)
        refuse_unless_allowed(problem, self.name, self.allow_non_lipschitz)
        if self.form == "two-block" and not isinstance(problem.A, Identity):
            raise UnsupportedProblem(
                f"The two-block form of {self.name} needs A = I; given {type(problem.A).__name__}. "
                "Choose form='three-block'."
            )
        if self.solve == "factored" and not formable(problem):
            raise UnsupportedProblem(
                f"solve='factored' needs a quadratic f whose Hessian, like A, is a product from the left; given f = "
                f"{type(problem.f).__name__} and A = {type(problem.A).__name__}. Choose solve='linearised'."
            )
        L = problem.f.lipschitz
        if L is None:  # init chooses the penalties at the first point
            return self
        beta, lam = self._penalties(problem, L)
        return replace(self, beta=beta, lam=lam)

    def _penalties(self, problem: Problem, L: float) -> tuple[float, float]:
        base = matching_penalty(problem, L)
        alone = self.form == "two-block" or not isinstance(problem.A, Identity)
        mine = (base * problem.A.norm**2 or max(base, L)) * (2 if alone else 1)
        beta = mine if self.beta is None else self.beta
        return beta, base if self.lam is None else self.lam

    def init(self, problem: Problem, X0: Array) -> SOCMState:
        L = lipschitz_near(problem, X0)
        beta, lam = self._penalties(problem, L)
        least, name, penalty = least_penalty(problem.h), "lam", lam
        if self.form == "two-block":
            name, penalty = "beta", beta
        require(penalty >= least, f"{name} must be at least 2 W_h = {least:.6g} for this h; given {penalty}.")
        inverse = self._inverse(problem, X0, beta, lam)
        AX = problem.A(X0)
        nothing = array_namespace(AX).zeros_like
        z = nothing(AX)
        return SOCMState(t=0, X=X0, P=X0, B=nothing(X0), y=AX, z=z, beta=beta, lam=lam, inverse=inverse, L=L, inner=0)

    def _inverse(self, problem: Problem, like: Array, beta: float, lam: float) -> Array | None:
        """Of the matrix of the X-step, which must be positive definite; None where X-steps are gradient steps."""
        if self.solve == "linearised" or not formable(problem):
            return None
        if self.solve == "auto" and system_size(problem) > LARGEST:
            return None
        three = self.form == "three-block"
        K = system_matrix(problem, like, lam if three else 0.0)
        values, V = array_namespace(like).linalg.eigh(K)
        values = values + (beta if three else beta - least_penalty(problem.h) / 2)
        smallest = float(values[0])
        require(
            smallest > rounding(like, float(values[-1])),
            "The X-step has no minimiser: H + beta I"
            f"{' + lam A*A' if three else ''} must be positive definite, and its smallest "
            f"eigenvalue is {smallest:.6g} with beta = {beta:.6g} and lam = {lam:.6g}. Raise beta.",
        )
        return (V / values) @ V.T if three else None

    def step(self, problem: Problem, state: SOCMState) -> SOCMState:
        h, A, P, B, y, z, lam = problem.h, problem.A, state.P, state.B, state.y, state.z, state.lam
        xi = problem.g.subgradient(P)

        # X: free of the constraint
        if state.inverse is not None:
            origin = array_namespace(P).zeros_like(P)
            C = problem.f.gradient_at(origin, origin)
            R = state.beta * (P - B) + A.adjoint(lam * y - z) + xi - C
            X = solve_system(problem, state.inverse, state.beta + lam, R)
            L, inner = state.L, state.inner
        else:
            X, z, L, steps = self._descend(problem, state, xi)
            inner = state.inner + steps

        # y and z: the prox, where h was split off
        if self.form == "three-block":
            AX = A(X)
            y = h.prox(AX + z / lam, 1 / lam)
            z = z + lam * (AX - y)
        else:
            y = X

        # P and B: the projection
        P = problem.M.project(X + B)
        B = B + X - P
        return SOCMState(
            t=state.t + 1, X=X, P=P, B=B, y=y, z=z, beta=state.beta, lam=lam, inverse=state.inverse, L=L, inner=inner
        )

    def _descend(self, problem: Problem, state: SOCMState, xi: Array) -> tuple[Array, Array, Scalar, Scalar]:
        """(Proximal) gradient steps on the X-step, from the last X: X, z, L_f and the number of steps.

        In the two-block form z becomes the subgradient of h from the last prox; otherwise it stays.
        """
        two, beta, lam = self.form == "two-block", state.beta, state.lam

        def move(X: Array, G: Array, L: Scalar) -> tuple[Array, Array, Scalar, Scalar]:
            s = 1 / (L + beta + (0.0 if two else lam * problem.A.norm**2))
            V = X - s * G
            X_new = problem.h.prox(V, s) if two else V
            z = (V - X_new) / s if two else state.z
            return X_new, z, L, norm(X_new - X) / s

        def body(run: tuple[Array, Array, Scalar, Scalar, Scalar]) -> tuple[Array, Array, Scalar, Scalar, Scalar]:
            X, k = run[0], run[4]
            G = problem.f.gradient(X) - xi + beta * (X - state.P + state.B)
            if not two:
                G = G + problem.A.adjoint(state.z + lam * (problem.A(X) - state.y))
            trial = move(X, G, run[2])
            if problem.f.lipschitz is None:  # double it until it fits
                trial = backend_of(X).while_loop(
                    lambda run: ~descends(problem.f, X, run[0], run[2]) & (run[2] < LARGEST_CONSTANT),
                    lambda run: move(X, G, larger_lipschitz(problem.f, X, run[0], run[2])),
                    trial,
                )
            return *trial, k + 1

        def unfinished(run: tuple[Array, Array, Scalar, Scalar, Scalar]) -> Scalar:
            return (run[4] < self.most_inner) & (run[3] >= self.inner_tol)

        first = body((state.X, state.z, state.L, 0.0, 0))
        X, z, L, _, steps = backend_of(state.X).while_loop(unfinished, body, first)
        return X, z, L, steps

    def point(self, state: SOCMState) -> Array:
        return state.P

    def certificate(self, problem: Problem, state: SOCMState) -> Certificate:
        return Certificate(problem.at(state.P), state.y, state.z)

    def work(self, state: SOCMState) -> int:
        """One product a step with the inverse; otherwise one for each gradient step."""
        return state.t if state.inverse is not None else int(state.inner)
