"""RADMM: ADMM with one Riemannian gradient step in X, and a constant penalty, smoothing and step size.

J. Li, S. Ma, T. Srivastava, "A Riemannian Alternating Direction Method of Multipliers", arXiv 2211.02163.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from orthoprox._fields import DERIVED, derive, replace, require
from orthoprox._types import Array, Scalar
from orthoprox.manifolds.stiefel import Retraction
from orthoprox.problem import Certificate, Point, Problem
from orthoprox.solvers._augmented import smooth_part_gradient, unless_first
from orthoprox.solvers._base import Scope, Solver
from orthoprox.solvers._curvature import backtrack_lipschitz, lipschitz_near, local_lipschitz
from orthoprox.solvers._schedules import in_units_of_map
from orthoprox.terms.envelope import envelope_prox

PRESETS = {"I": 100.0, "II": 10_000.0}
"""The penalties of RADMM-I and RADMM-II in the experiments of arXiv 2405.15129."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RADMMState:
    """The state of RADMM: a point with its products, the split variable, the multiplier."""

    t: int
    now: Point
    y: Array
    z: Array
    L: Scalar
    """L_f, or the current estimate."""


@dataclass(frozen=True, kw_only=True)
class RADMM(Solver[RADMMState]):
    """A Riemannian gradient step, the prox of the smoothed h, a full dual step.

    The theory is for a convex h and no g. A g is linearised; an h that is only weakly convex needs
    ``mu + 1/beta < 1/W_h``.

    Parameters
    ----------
    beta : float, optional
        The penalty; by default ``L_f/|A|^2``, and ``C_h/(|A| sqrt(r))`` where L_f is zero. ``RADMM.preset`` has the
        two of the OADMM paper.
    mu : float, optional
        The smoothing of h. By default 1e-8/beta, about what the authors' experiments use: practically none.
    eta : float, optional
        The step size; by default ``1/(L_f + beta |A|^2)``. Above twice that the method oscillates.
    retraction : {"polar", "qr"}
    strict_theory : bool
        Set the defaults to mu = 4/beta and half the step size: the theory needs a lower bound on mu beta.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve, Iterations
    >>> from orthoprox.models import sparse_pca
    >>> from orthoprox.solvers import RADMM
    >>> D = np.random.default_rng(0).standard_normal((40, 12))
    >>> problem = sparse_pca(D, n_components=2, weight=0.1)
    >>> solve(problem, RADMM(), stop=Iterations(50)).iterations
    50
    >>> RADMM.preset("II").beta
    10000.0
    """

    name: ClassVar[str] = "radmm"
    summary: ClassVar[str] = "Riemannian ADMM with a fixed penalty and step"
    complexity: ClassVar[str] = "O(eps^-4)"
    scope: ClassVar[Scope] = Scope(unproved=frozenset({"concave", "weakly_convex"}))

    beta: float = DERIVED
    mu: float = DERIVED
    eta: float | None = None
    retraction: Retraction = "polar"
    strict_theory: bool = False

    def __post_init__(self) -> None:
        require(self.beta is None or self.beta > 0, f"beta must be positive; given {self.beta}.")
        derive(self, mu=lambda: None if self.beta is None else self._smoothing_times_penalty / self.beta)
        require(self.mu is None or self.mu >= 0, f"mu must not be negative; given {self.mu}.")
        require(self.eta is None or self.eta > 0, f"eta must be positive; given {self.eta}.")
        require(self.retraction in ("polar", "qr"), f"retraction must be 'polar' or 'qr'; given {self.retraction!r}.")

    @classmethod
    def preset(cls, variant: Literal["I", "II"], **settings: Any) -> Self:
        """RADMM-I (beta = 100) or RADMM-II (beta = 10000) of the OADMM paper, with further settings."""
        require(variant in PRESETS, f"The presets of radmm are {', '.join(PRESETS)}; given {variant!r}.")
        return cls(**{"beta": PRESETS[variant], **settings})

    @property
    def _smoothing_times_penalty(self) -> float:
        return 4.0 if self.strict_theory else 1e-8

    def for_problem(self, problem: Problem) -> Self:
        changes: dict[str, float] = {}
        if self.beta is None:
            changes["beta"] = self._penalty(problem)
        if self.eta is None and problem.f.lipschitz is not None:
            L = lipschitz_near(problem, problem.like)
            changes["eta"] = self._step_size(problem, changes.get("beta", self.beta), L)
        return replace(self, **changes) if changes else self

    def _penalty(self, problem: Problem) -> float:
        """The curvature of f in the units of A(X), or else the slope of h; large enough for W_h."""
        L, W = problem.f.lipschitz, problem.h.weak_convexity
        if L is None:
            L = local_lipschitz(problem, problem.M.random(0, like=problem.like))
        L = L or problem.h.lipschitz_constant(problem.shape) * problem.A.norm / math.sqrt(problem.M.r)
        enough = 2 * (1 + self._smoothing_times_penalty) * W if self.mu is None else 4 * W
        return max(in_units_of_map(problem, L), enough) or 1.0

    def _step_size(self, problem: Problem, beta: float, L: Scalar) -> Scalar:
        return (0.5 if self.strict_theory else 1.0) / (L + beta * problem.A.norm**2)

    def init(self, problem: Problem, X0: Array) -> RADMMState:
        if self.beta is None:
            raise ValueError("radmm has no beta yet: pass one, or use solver.for_problem(problem).")
        W = problem.h.weak_convexity
        require(
            (self.mu + 1 / self.beta) * W < 1 and self.mu * W <= 0.5,
            f"This h is weakly convex with W_h = {W:.6g}: radmm needs mu + 1/beta < 1/W_h and mu <= 1/(2 W_h); "
            f"given mu = {self.mu:.6g}, beta = {self.beta:.6g}.",
        )
        now = problem.at(X0)
        return RADMMState(t=0, now=now, y=now.AX, z=0.0 * now.AX, L=lipschitz_near(problem, X0))

    def step(self, problem: Problem, state: RADMMState) -> RADMMState:
        M, f, beta = problem.M, problem.f, self.beta
        X, y, z = state.now.X, state.y, state.z

        # A Riemannian gradient step on the augmented Lagrangian, -g linearised
        G = smooth_part_gradient(problem, state.now, y, z, beta) - problem.g.subgradient(X)
        D = M.tangent(X, G)

        def move(eta: Scalar) -> Array:
            return M.retract(X, -eta * D, self.retraction)

        if self.eta is not None:
            X_new, L = move(self.eta), state.L
        elif f.lipschitz is not None:
            X_new, L = move(self._step_size(problem, beta, state.L)), state.L
        else:
            X_new, L = backtrack_lipschitz(f, X, lambda L: move(self._step_size(problem, beta, L)), state.L)
        new = problem.at(X_new)

        # The minimiser of the smoothed h, and a full dual step
        y_new = envelope_prox(problem.h, new.AX + z / beta, self.mu, beta)[0]
        z_new = z + beta * (new.AX - y_new)
        return RADMMState(t=state.t + 1, now=new, y=y_new, z=z_new, L=L)

    def point(self, state: RADMMState) -> Array:
        return state.now.X

    def certificate(self, problem: Problem, state: RADMMState) -> Certificate:
        # y + z/beta is the centre of the last y-step, so this is the prox point, where the zeros are exact.
        y_breve = problem.h.prox(state.y + state.z / self.beta, self.mu + 1 / self.beta)
        return Certificate(state.now, unless_first(state.t, state.y, y_breve), state.z)
