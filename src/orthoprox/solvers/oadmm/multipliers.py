"""The method of multipliers with Newton steps in X: for an f that is not concave, or a map A other than the identity.

The augmented Lagrangian with y eliminated, f(X) - <xi, X> + min_y h(y) + sigma/2 |A(X) + z/sigma - y|^2, is
differentiable, and the derivative of the prox gives it a generalised Hessian. A trust-region Newton method minimises it
roughly; then z moves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, is_dataclass
from functools import partial
from typing import ClassVar, NamedTuple

from orthoprox._fields import replace
from orthoprox._linalg import inner, norm, rounding, symmetric
from orthoprox._trust_region import PRODUCTS, Model, Step, minimise
from orthoprox._trust_region_program import truncated_cg
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.backends.autodiff import Product
from orthoprox.problem import Point, Problem
from orthoprox.solvers.oadmm.block import Block
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.projections import kinks
from orthoprox.solvers.oadmm.tuning import Tuning
from orthoprox.terms import GroupL2, Zero
from orthoprox.terms._derivative import ProxDerivative


@dataclass(frozen=True, kw_only=True, eq=False)
class MultipliersState:
    """Where the method of multipliers is."""

    t: int
    at: Iterate
    sigma: float
    """The penalty."""
    sigma0: float
    """The first one."""
    gap: float
    """The last |A(X) - y|; at first |A(X)|, which is larger than any that a penalty leaves."""
    radius: float
    """Of the trust region."""
    tolerance: float
    """A gradient in X that need not be improved upon: a small part of the least Crit so far."""
    products: int


@dataclass(frozen=True, kw_only=True)
class Multipliers(Block[MultipliersState]):
    """A block is a few steps of the method of multipliers.

    Newton's method ends where the gradient is small beside penalty times primal residual. The penalty grows where it
    has ended and that residual does not fall: before, the residual tells nothing about the penalty, and a higher one
    makes Newton's steps shorter.
    """

    name: ClassVar[str] = "oadmm: multipliers"
    summary: ClassVar[str] = "method of multipliers with Newton steps in X"

    tuning: Tuning = Tuning()

    @staticmethod
    def takes(problem: Problem) -> bool:
        """Whether h is Lipschitz and knows the derivative of its prox, and f has a Hessian to multiply with."""
        known = problem.h.has_prox_derivative and bool(problem.f.has_hessian)
        return known and math.isfinite(problem.h.lipschitz_constant(problem.shape))

    def init(self, problem: Problem, X0: Array) -> MultipliersState:
        now, tuning = problem.at(X0), self.tuning
        kink = max(kinks(problem, now), tuning.weak * problem.h.weak_convexity) or problem.f.lipschitz or 1.0
        sigma = (2 if is_flat(problem) else 1) * tuning.sigma * kink
        return MultipliersState(
            t=0,
            at=measure(problem, now, now.AX, 0.0 * now.AX),
            sigma=sigma,
            sigma0=sigma,
            gap=float(norm(now.AX)),
            radius=tuning.newton_radius * math.sqrt(problem.M.r),
            tolerance=0.0,
            products=0,
        )

    def step(self, problem: Problem, state: MultipliersState) -> MultipliersState:
        now, z = state.at.point, state.at.z
        for _ in range(self.tuning.multiplier_steps):
            now, y, z, state = self.multiplier_step(problem, state, now, z)
        at, share = measure(problem, now, y, z), self.tuning.exact
        tolerance = share * at.crit if state.t == 0 else min(share * at.crit, state.tolerance)
        return replace(state, t=state.t + 1, at=at, tolerance=tolerance)

    def multiplier_step(
        self, problem: Problem, state: MultipliersState, now: Point, z: Array
    ) -> tuple[Point, Array, Array, MultipliersState]:
        """Newton steps in X, then y, z and perhaps the penalty."""
        tuning = self.tuning
        inexact = tuning.inexact_flat if is_flat(problem) else tuning.inexact
        if state.sigma >= self._most(problem, state):
            # No higher penalty makes the residual fall: steps that end too early keep it up.
            inexact *= math.sqrt(state.sigma0 / state.sigma)
        lagrangian = AugmentedLagrangian(problem, now, z, state.sigma, inexact, state.tolerance)
        root = math.sqrt(problem.M.r)
        end = minimise(lagrangian, now, radius=state.radius, most=tuning.newton_steps, largest=root)
        y = lagrangian.partner(end.at)
        residual = end.at.AX - y
        gap = float(norm(residual))
        sigma = state.sigma
        if end.finished and gap > max(tuning.shrink * state.gap, rounding(end.at.X, float(norm(end.at.AX)))):
            sigma = min(tuning.growth * sigma, self._most(problem, state))
        z_new = state.sigma * residual + z
        radius, products = max(end.radius, tuning.least_radius), state.products + end.products
        return end.at, y, z_new, replace(state, sigma=sigma, gap=gap, radius=radius, products=products)

    def _most(self, problem: Problem, state: MultipliersState) -> float:
        """The largest penalty, tenfold without f."""
        return state.sigma0 * self.tuning.sigma_range * (10 if is_flat(problem) else 1)

    def restart(self, problem: Problem, state: MultipliersState, at: Iterate) -> MultipliersState:
        return replace(state, at=at, gap=float(norm(at.point.AX)))

    def tighten(self, problem: Problem, state: MultipliersState) -> MultipliersState:
        most = self._most(problem, state)
        return replace(state, sigma=max(state.sigma, min(self.tuning.caution * state.sigma, most)))

    def work(self, state: MultipliersState) -> int:
        return state.products


class Evaluated(NamedTuple):
    """What is known at a point once the augmented Lagrangian has been evaluated there."""

    point: Point
    v: Array
    """A(X) + z/sigma, of which y is the prox."""
    y: Array
    excess: Array
    """v - y."""
    value: float


class AugmentedLagrangian:
    """The augmented Lagrangian in X, its y eliminated, as the trust region asks about it.

    Parameters
    ----------
    problem : Problem
    start : Point
        Where -g is linearised.
    z : array
        The multiplier.
    sigma : float
        The penalty.
    inexact, tolerance : float
        There is nothing left to do where the gradient is below the first times the penalty times the primal residual,
        or below the second.
    """

    def __init__(
        self, problem: Problem, start: Point, z: Array, sigma: float, inexact: float, tolerance: float
    ) -> None:
        self.problem, self.sigma, self.shift = problem, sigma, z / sigma
        self.inexact, self.tolerance = inexact, tolerance
        self.xi = None if isinstance(problem.g, Zero) else problem.g.subgradient(start.X)
        # Penalty times residual in A(X) times this has the units of a gradient in X.
        self.gain = float(norm(start.AX)) / math.sqrt(problem.M.r)
        # Where turning X changes nothing, z still bends the Lagrangian down that way: no step goes there.
        self.rho = 0.0 if depends_on_span(problem) else 0.5
        self._last: Evaluated | None = None
        self._here = 0.0

    def partner(self, point: Point) -> Array:
        """The y that goes with X."""
        return self._evaluate(point).y

    def value(self, point: Point) -> float:
        """The augmented Lagrangian at X, up to a constant."""
        return self._evaluate(point).value

    def _evaluate(self, point: Point) -> Evaluated:
        """Partner and value, kept until another point is asked for: a trial that is accepted comes back at once."""
        if self._last is None or self._last.point is not point:
            f, h, v = self.problem.f, self.problem.h, point.AX + self.shift
            y, cost = h.prox_and_value(v, 1 / self.sigma)
            excess = v - y
            smooth = f.value_at(point.X, point.HX)
            if self.xi is not None:
                smooth = smooth - inner(self.xi, point.X)
            value = float(smooth + cost + self.sigma / 2 * inner(excess, excess))
            self._last = Evaluated(point, v, y, excess, value)
        return self._last

    def gradient(self, point: Point) -> Array:
        """The Euclidean gradient; the best y does not move with X to first order."""
        smooth = self.problem.f.gradient_at(point.X, point.HX)
        if self.xi is not None:
            smooth = smooth - self.xi
        return smooth + self.problem.A.adjoint(self.sigma * self._evaluate(point).excess)

    def model(self, at: Point) -> Model | None:
        problem, X, sigma = self.problem, at.X, self.sigma
        here = self._evaluate(at)
        G = self.gradient(at)
        XtG = X.T @ G
        Lam = symmetric(XtG)
        pull = G - X @ (Lam if self.rho else XtG)
        size, gap = float(norm(pull)), float(norm(at.AX - here.y))
        if size <= max(self.inexact * sigma * self.gain * gap, self.tolerance):
            return None
        self._here = here.value
        prox = problem.h.prox_derivative(here.v, 1 / sigma)
        of_f = problem.f.hessian(X)
        assert prox is not None  # this method takes no other problems
        assert of_f is not None
        accuracy = min(0.1, math.sqrt(3 * size / float(norm(G))))  # relative, so that units do not matter
        hessian = partial(Curvature(X, Lam, prox, sigma, self.rho), problem, of_f=of_f)
        program = self._program(X, Lam, prox, pull, accuracy) if backend_of(X).is_asynchronous(X) else None
        return Model(pull, hessian, accuracy, rounding(X, self._here), program=program)

    def _program(
        self, X: Array, Lam: Array, prox: ProxDerivative, g: Array, accuracy: float
    ) -> Callable[[float], Step] | None:
        """The step without questions to the host; None for a derivative that cannot be taken apart into arrays."""
        if not is_dataclass(prox):
            return None
        number = partial(backend_of(X).number, like=X)
        curvature = Curvature(X, Lam, prox, number(self.sigma), number(self.rho))
        return lambda radius: truncated_cg(self.problem, curvature, g, number(radius), accuracy, PRODUCTS)

    def trial(self, at: Point, D: Array) -> tuple[Point, float]:
        """The retraction along D, and the change of the Lagrangian."""
        trial = self.problem.at(self.problem.M.retract(at.X, D))
        return trial, self.value(trial) - self._here

    def refuse(self, at: Point, step: Step) -> None:
        """A shorter step is all there is to try."""


@dataclass(frozen=True, eq=False)
class Curvature:
    """The generalised Hessian of the augmented Lagrangian along the manifold."""

    X: Array
    Lam: Array
    prox: ProxDerivative
    sigma: Scalar
    rho: Scalar

    def __call__(self, problem: Problem, D: Array, of_f: Product | None = None) -> Array:
        """The Hessian times D, with that of f at X where it is known already."""
        of_f = problem.f.hessian(self.X) if of_f is None else of_f
        assert of_f is not None
        AD = problem.A(D)
        W = problem.A.adjoint(self.sigma * (AD - self.prox(AD))) - D @ self.Lam
        return problem.M.direction(self.X, W + of_f(D), self.rho)


def is_flat(problem: Problem) -> bool:
    """Whether f has no curvature, so that the penalty is all there is."""
    return problem.f.lipschitz == 0


def depends_on_span(problem: Problem) -> bool:
    """Whether the objective is the same at XQ for every orthogonal Q."""
    h = problem.h
    by_rows = isinstance(h, GroupL2) and h.by == "rows" and problem.A.left
    return by_rows and isinstance(problem.g, Zero) and problem.f.rotation_invariant
