"""OBCD: block coordinate descent on pairs of rows, each pair solved exactly.

G. Yuan, "A Block Coordinate Descent Method for Nonsmooth Composite Optimization under Orthogonality Constraints",
arXiv 2304.03641.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from array_api_compat import device

from orthoprox._fields import DERIVED, replace, require
from orthoprox._linalg import rounding
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.backends._obcd import (
    compile_sweeps,
    generator,
    host,
    jacobi_sweep,
    sequential_rounds,
    slopes,
    working_set,
)
from orthoprox.backends._obcd_jumps import FORBIDDEN, Jumps, signed_start
from orthoprox.maps import Entries, Identity, LinearMap, Product, Scaled, Sum
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._base import Scope, Solver, UnsupportedProblem
from orthoprox.solvers._curvature import descends, larger_lipschitz, local_lipschitz
from orthoprox.solvers._units import unit
from orthoprox.terms import L0, L1, NegativePart, Nonnegative, QuadraticTerm, WeightedL1, Zero

WORKING_SETS = ("random", "cyclic", "greedy-reduction", "greedy-violation")
MOST_ROWS = 5000  # up to this n the n-by-n matrix H is formed without being asked for
PAIRS = 2000  # about this many pairs in a step outweigh its overhead
MULTIPLIER_STEPS = 100
MENDING_STEPS = 20
DRIFT = 8  # how far X may be off the manifold, and an entry off zero where h jumps, as a scale of rounding


@dataclass(frozen=True, kw_only=True, eq=False)
class OBCDState:
    """The state of OBCD."""

    t: int
    now: Point
    H: Array | None
    """The matrix of the quadratic f, for the sequential sweep."""
    L: Scalar
    """The curvature of the majoriser of f, for the Jacobi sweep and the greedy choice."""
    largest: float
    """The largest decrease from one pair of the last step: 0 in every step at a block-2 stationary point."""
    moved: int
    """Pairs of the last step that moved."""


@dataclass(frozen=True, kw_only=True)
class OBCD(Solver[OBCDState]):
    """Pairs of rows turned or reflected by the 2-by-2 orthogonal matrix that is best for the pair.

    X stays feasible because V Z has the Gram matrix of the two rows Z. The entries of h are ``p |x| + q x``
    (L1, WeightedL1, NegativePart) or jump at zero (L0, Nonnegative), so along the angle of V the objective is smooth
    between angles that are known, and its global minimum is found. A is the identity or scales entries. With g
    present the method is an extension: -g is replaced by its linearisation at the beginning of each step.

    Zeros are exact, and so is nonnegativity. A start that is not nonnegative is rounded: each row keeps its largest
    admissible entry, the columns are normalised, none stays empty. For L0 the paper starts from columns of the
    identity; a dense start works, but has all n r entries to bring to zero.

    Where h has kinks or jumps, a point from which no pair descends need not be critical. The method then stops moving,
    with ``state.moved`` at 0, and the criticality says how far it is from a critical point. For L0 and Nonnegative
    that is measured with the multiplier of the limiting subdifferential that fits best.

    A step updates ``rounds`` times n // 2 pairs, disjoint within a round (a greedy round has one pair for every
    20 rows). It is not a sweep over all n(n-1)/2 pairs, which takes minutes where n is some thousands.

    Parameters
    ----------
    sweep : {"sequential", "jacobi"}, optional
        "sequential" updates one pair after another with the exact quadratic f, in code compiled by numba: it needs
        the extra ``fast`` and an f that is quadratic with one n-by-n matrix for all columns, which is formed.
        "jacobi" updates the pairs of a round at once, each with f majorised; it needs nothing and takes any f.
        By default the first where it is possible and n is at most 5000.
    working_set : {"random", "cyclic", "greedy-reduction", "greedy-violation"}
        Which pairs: random ones; all of them in turn; or those with the largest promised decrease, or the largest
        violation of stationarity, in random groups of up to 20 rows.
    alpha : float
        The weight of ``|V - I|^2 / 2``, a term that the theory needs, in units of the problem; positive.
    rounds : int, optional
        Rounds in a step. By default about 2000 pairs, at most n - 1 rounds; one round of the Jacobi sweep.
    refresh : int
        Every this many steps the product with the data is recomputed, and X is projected if rounding has moved it off
        the manifold.
    seed : int
        Of the working sets, together with t.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import named, solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> result = solve(problem, named("obcd", sweep="jacobi"), stop=Iterations(50))
    >>> result.infeasibility < 1e-12
    True
    """

    name: ClassVar[str] = "obcd"
    summary: ClassVar[str] = "block coordinate descent on pairs of rows, each solved exactly"
    complexity: ClassVar[str] = "O(eps^-2)"
    scope: ClassVar[Scope] = Scope(
        weakly_convex=False, entrywise_only=True, lipschitz_only=False, unproved=frozenset({"concave", "any_map"})
    )
    compilable: ClassVar[bool] = False

    sweep: Literal["sequential", "jacobi"] = DERIVED
    working_set: Literal["random", "cyclic", "greedy-reduction", "greedy-violation"] = "random"
    alpha: float = 1e-5
    rounds: int = DERIVED
    refresh: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        require(
            self.sweep in (None, "sequential", "jacobi"),
            f"sweep must be 'sequential' or 'jacobi'; given {self.sweep!r}.",
        )
        require(
            self.working_set in WORKING_SETS,
            f"working_set must be one of {', '.join(WORKING_SETS)}; given {self.working_set!r}.",
        )
        require(self.alpha > 0, f"alpha must be positive; given {self.alpha}.")
        require(self.rounds is None or self.rounds >= 1, f"rounds must be at least 1; given {self.rounds}.")
        require(self.refresh >= 1, f"refresh must be at least 1; given {self.refresh}.")
        require(self.seed >= 0, f"seed must not be negative; given {self.seed}.")

    def for_problem(self, problem: Problem) -> Self:
        _check_structure(problem)
        n, one_matrix = problem.M.n, isinstance(problem.f, QuadraticTerm) and problem.f.left
        sweep = self.sweep
        if sweep is None:
            possible = one_matrix and n <= MOST_ROWS and importlib.util.find_spec("numba") is not None
            sweep = "sequential" if possible else "jacobi"
        if sweep == "sequential":
            if not one_matrix:
                raise UnsupportedProblem(
                    f"The sequential sweep of obcd needs f to be <X, HX>/2 + <C, X> with one matrix H for all columns; "
                    f"given {type(problem.f).__name__}. Choose sweep='jacobi'."
                )
            compile_sweeps()
        rounds = self.rounds
        if rounds is None:
            rounds = 1 if sweep == "jacobi" else max(1, min(n - 1, 2 * PAIRS // n))
        return replace(self, sweep=sweep, rounds=rounds)

    def init(self, problem: Problem, X0: Array) -> OBCDState:
        if self.sweep is None or self.rounds is None:
            raise ValueError("obcd has no sweep or no rounds yet: pass both, or use solver.for_problem(problem).")
        if _jumps_at_zero(problem):
            given = host(X0)
            start = signed_start(given, _jumps(problem, X0))
            X0 = X0 if start is given else backend_of(X0).from_numpy(start, X0)
        H = None
        if self.sweep == "sequential":
            xp = array_namespace(X0)
            H = problem.f.product(xp.eye(X0.shape[0], dtype=X0.dtype, device=device(X0)))
        L = problem.f.upper_curvature
        if L is None:
            L = local_lipschitz(problem, X0)
        return OBCDState(t=0, now=problem.at(X0), H=H, L=L, largest=0.0, moved=0)

    def step(self, problem: Problem, state: OBCDState) -> OBCDState:
        rng, alpha = generator(self.seed, state.t), self._alpha(problem, state)

        def choose(number: int, X: Any, G: Any) -> Any:
            number += state.t * self.rounds
            return working_set(self.working_set, rng, number, X, G, float(state.L), alpha)

        run = self._run_sequential if self.sweep == "sequential" else self._run_jacobi
        now, L, largest, moved = run(problem, state, choose)
        if (state.t + 1) % self.refresh == 0:
            now = self._refresh(problem, now)
        return OBCDState(t=state.t + 1, now=now, H=state.H, L=L, largest=largest, moved=moved)

    def _alpha(self, problem: Problem, state: OBCDState) -> float:
        return self.alpha * float(unit(problem, float(problem.f.lipschitz or state.L)))

    def _run_sequential(
        self, problem: Problem, state: OBCDState, choose: Callable[..., Any]
    ) -> tuple[Point, Scalar, float, int]:
        """One pair after another, HX carried along."""
        X, HX = state.now.X, state.now.HX
        W, K = _entries(problem, X)
        # Without HX the gradient of f is that of its linear part.
        linear = problem.f.gradient_at(X, 0.0 * X) - problem.g.subgradient(X) + K
        x, hx, c, h = (host(a) for a in (X, HX, linear, state.H))
        X_new, HX_new, largest, moved = sequential_rounds(
            x, hx, c, W, h, choose, self.rounds, self._alpha(problem, state)
        )
        new = backend_of(X).from_numpy(X_new, X)
        return Point(new, backend_of(X).from_numpy(HX_new, X), problem.A(new)), state.L, largest, moved

    def _run_jacobi(
        self, problem: Problem, state: OBCDState, choose: Callable[..., Any]
    ) -> tuple[Point, Scalar, float, int]:
        """The pairs of a round at once, with one product a round; an unknown curvature doubles until it fits."""
        f, now, L = problem.f, state.now, state.L
        W, K = _entries(problem, now.X)
        K = K - problem.g.subgradient(now.X)
        largest, moved, alpha = 0.0, 0, self._alpha(problem, state)
        for number in range(self.rounds):
            X, G = host(now.X), host(f.gradient_at(now.X, now.HX) + K)
            pairs = choose(number, X, G + slopes(W, X))
            while True:
                X_new, gain, went = jacobi_sweep(X, G, W, pairs, float(L), alpha)
                new = backend_of(now.X).from_numpy(X_new, now.X)
                if f.lipschitz is not None or bool(descends(f, now.X, new, L)) or L > 1e30:
                    break
                L = larger_lipschitz(f, now.X, new, L)
            now, largest, moved = problem.at(new), max(largest, gain), moved + went
        return now, L, largest, moved

    def _refresh(self, problem: Problem, now: Point) -> Point:
        """Recompute the products, and project X where rounding has moved it off the manifold."""
        M, X, xp = problem.M, now.X, array_namespace(now.X)
        for _ in range(MENDING_STEPS if _jumps_at_zero(problem) else 1):
            if bool(M.infeasibility(X) <= rounding(X, DRIFT * M.r**0.5)):
                break
            new = M.project(X)
            # Where h jumps, zeros and signs must survive the projection; it is repeated until X is on the manifold.
            X = xp.where(xp.sign(new) == xp.sign(X), new, X) if _jumps_at_zero(problem) else new
        return problem.at(X)

    def point(self, state: OBCDState) -> Array:
        return state.now.X

    def work(self, state: OBCDState) -> int:
        """One product a round: n // 2 pairs update all rows of HX once, at the cost of a product with H."""
        return state.t * self.rounds

    def certificate(self, problem: Problem, state: OBCDState) -> Certificate:
        """The y and z of a proximal gradient step in the tangent space at X.

        With D the tangent part of ``grad f - dg + A*(z)``, y is ``A(X) - A(D)/L_f`` and z a subgradient of h there. The
        dual of that step, which has a box for z since h is positively homogeneous, takes projected gradient steps.
        Where h jumps at zero, y is A(X) and z the subgradient there that makes D shortest, by the same steps.
        """
        M, A, h, now = problem.M, problem.A, problem.h, state.now
        xp, jumps = array_namespace(now.X), _jumps_at_zero(problem)
        square = A.norm**2 or 1.0
        scale = problem.f.lipschitz or state.L or h.lipschitz_constant(problem.shape) or 1.0
        nu = 0.0 if jumps else float(scale) / square
        G = problem.f.gradient_at(now.X, now.HX) - problem.g.subgradient(now.X)
        low, high = h.subdifferential(now.AX if jumps else 0.0 * now.AX)  # type: ignore[attr-defined]
        z = z_prev = free = h.subgradient(now.AX)
        for k in range(MULTIPLIER_STEPS):
            ahead = z + k / (k + 3.0) * (z - z_prev)
            D = M.tangent(now.X, G + A.adjoint(ahead))
            free = ahead + nu * now.AX - A(D) / square
            z, z_prev = xp.clip(free, low, high), z
        return Certificate(now, now.AX if jumps else (free - z) / nu, z)


def _check_structure(problem: Problem) -> None:
    """Refuse a problem without an exact search along the angle."""
    if problem.M.n < 2:
        raise UnsupportedProblem("obcd turns pairs of rows, so it needs n >= 2; given n = 1. Choose another solver.")
    if not isinstance(problem.h, (L1, WeightedL1, NegativePart, L0, Nonnegative, Zero)):
        raise UnsupportedProblem(
            "obcd needs an entrywise separable h with a known 1-D structure (L1, WeightedL1, NegativePart, L0, "
            f"Nonnegative); given {type(problem.h).__name__}. Choose another solver."
        )
    if not _scales_entries(problem.A):
        raise UnsupportedProblem(
            "obcd needs h entrywise separable in X (A = I, or an A that scales entries); "
            f"given {type(problem.A).__name__}. Choose another solver."
        )


def _scales_entries(A: LinearMap) -> bool:
    if isinstance(A, (Scaled, Product, Sum)):
        return all(_scales_entries(part) for part in A.members)
    return isinstance(A, (Identity, Entries))


def _jumps_at_zero(problem: Problem) -> bool:
    return isinstance(problem.h, (L0, Nonnegative))


def _entries(problem: Problem, X: Array) -> tuple[Any, Array]:
    """The parts of h: on the host W or Jumps, and K with ``h(A(X)) = sum W |X| + K X``."""
    if _jumps_at_zero(problem):
        return _jumps(problem, X), 0.0 * X
    W, K = _weights(problem, X)
    return host(W), K


def _weights(problem: Problem, X: Array) -> tuple[Array, Array]:
    """W and K with ``h(A(X)) = sum W |X| + K X``: h is linear on either side of zero, and A scales entries."""
    xp = array_namespace(X)
    scale, one = problem.A(xp.ones_like(X)), xp.ones_like(X)
    above, below = problem.h.subgradient(one), problem.h.subgradient(-one)
    return (above - below) / 2 * xp.abs(scale), (above + below) / 2 * scale


def _jumps(problem: Problem, X: Array) -> Jumps:
    """The costs of positive and negative entries of X: a weight each, or the sign is forbidden."""
    h, scale = problem.h, host(problem.A(array_namespace(X).ones_like(X)))
    small = rounding(X, DRIFT)
    if isinstance(h, L0):
        return Jumps(h.weight * (scale != 0), h.weight * (scale != 0), small)
    cost = FORBIDDEN if h.weight > 0 else 0.0
    return Jumps(cost * (scale < 0), cost * (scale > 0), small)
