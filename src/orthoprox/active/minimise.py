"""Newton's method on an active set, with entries coming and going: what every finish and every search stands on."""

from __future__ import annotations

import math
from dataclasses import dataclass

from orthoprox._linalg import norm, rounding, symmetric
from orthoprox._namespace import array_namespace
from orthoprox._trust_region import Model, Step, minimise
from orthoprox._types import Array
from orthoprox.active.active_set import ActiveSet
from orthoprox.active.choose import restore
from orthoprox.active.corners import resolve_corners
from orthoprox.active.subgradient import Subgradient, shortest_subgradient
from orthoprox.backends import backend_of
from orthoprox.backends.autodiff import Product
from orthoprox.manifolds import SparseStiefel, TangentSpace
from orthoprox.maps import Identity
from orthoprox.problem import Point, Problem
from orthoprox.terms import EntrywiseTerm, Zero

_STRENGTHS = (
    0.0,
    1e-4,
    1e-2,
    1e-1,
)  # how strongly columns have to meet, one after the other until X'X = I has a solution
_ROUGH = 0.03  # accuracy of a step after entries came or went: the next one will be on other entries
_ACCURATE = 0.1  # of a step on entries that stay, at most; it improves with the gradient
_PROJECTION = 1e-12  # accuracy of the tangent projection in Hessian products
_STRONG = 1e-3  # of the largest entry of the subgradient: weaker entries stay out while the others can do without
_OUTWARD = 0.3  # of the gradient on the set: entries enter when they would gain at least so much beside it
_FLOOR = 1e-8  # of the gradient of f: what is shorter on the set is nearly rounding
_AT_ONCE = 0.1  # of the step: a smaller entry that changes sign leaves before the step is tried again


@dataclass(frozen=True)
class Budget:
    """How far to go.

    Parameters
    ----------
    steps : int
        Newton steps at most.
    radius : float
        The first radius of the trust region.
    tolerance : float
        Stop when the shortest tangent subgradient is as short as this.
    start : float
        Take no step where the first subgradient is longer than this: the zeros are not the right ones.
    """

    steps: int = 15
    radius: float = 0.1
    tolerance: float = 0.0
    start: float = math.inf


@dataclass(frozen=True, eq=False)
class ActivePoint:
    """Where Newton's method ended: a point with exact zeros, and how far it is from critical."""

    point: Point
    active: ActiveSet
    z: Array
    """A subgradient of h at X."""
    residual: float
    """The norm of the tangent part of grad f - dg + z: Crit, since y = X and z is a subgradient of h there."""
    radius: float
    steps: int
    products: int
    finished: bool
    """Whether it came to its own end; otherwise its steps were used up."""


def has_active_sets(problem: Problem) -> bool:
    """Whether h acts on the entries of X itself and f has a Hessian to multiply with."""
    return (
        isinstance(problem.A, Identity)
        and isinstance(problem.h, EntrywiseTerm)
        and bool(problem.f.has_hessian)
        and not isinstance(problem.f, Zero)
        and math.isfinite(problem.h.lipschitz_constant(problem.shape))
    )


def minimise_on(problem: Problem, active: ActiveSet, X: Array, budget: Budget, z: Array | None = None) -> ActivePoint:
    """Minimise F over the orthonormal matrices with the zeros of an active set, letting zeros come and go.

    A trust-region Newton method: conjugate gradients on the tangent space of the :class:`SparseStiefel`, then steps
    along normals back to it. Entries that would change sign become zero and leave; zeros that the shortest subgradient
    moves enter. F never rises by more than rounding.

    Parameters
    ----------
    problem : Problem
        With A = I, an entrywise h and an f with a Hessian; for a fixed support one with f alone.
    active : ActiveSet
        The set to begin with.
    X : array, shape (n, r)
        Orthonormal, with zeros off the set.
    budget : Budget
    z : array, optional
        A guess at a subgradient of h.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import Problem, Stiefel
    >>> from orthoprox.active import ActiveSet, Budget, minimise_on
    >>> from orthoprox.terms import ExplainedVariance
    >>> problem = Problem.of(ExplainedVariance(np.diag([3.0, 2.0, 1.0])), over=Stiefel(3, 1))
    >>> support, X = np.array([[0.0], [1.0], [1.0]]), np.array([[0.0], [0.6], [0.8]])
    >>> found = minimise_on(problem, ActiveSet.fixed(support), X, Budget(tolerance=1e-12))
    >>> np.abs(found.point.X.round(6)).T  # the best direction without the first feature
    array([[0., 1., 0.]])
    """
    X = active.clear(X)
    landscape = _Landscape(problem, active.follow(X), 0.0 * X if z is None else z, budget)
    end = minimise(landscape, problem.at(X), radius=budget.radius, most=budget.steps)
    last, active = landscape.subgradient, landscape.active
    # Small entries that left after a step was refused are still in X where no later step was taken.
    active = active.with_entries(array_namespace(X).sign(end.at.X) * (1.0 - active.support))
    return ActivePoint(
        point=end.at,
        active=active,
        z=last.z,
        residual=last.length,
        radius=end.radius,
        steps=end.steps,
        products=end.products,
        finished=end.finished,
    )


def minimise_near(
    problem: Problem, Y: Array, budget: Budget, *, z: Array | None = None, support: Array | None = None
) -> ActivePoint | None:
    """Minimise on the zeros of a matrix that is nearly orthonormal; None where no orthonormal matrix has them.

    Entries in which columns meet too weakly for that leave the support.

    Parameters
    ----------
    problem : Problem
    Y : array, shape (n, r)
    budget : Budget
    z : array, optional
        A guess at a subgradient of h.
    support : array, optional
        Where entries may differ from zero, as floats. With it f alone is minimised there, and no entry enters or
        leaves; without it the nonzeros of Y begin, and h decides.
    """
    if support is None:
        active = ActiveSet.at(problem, Y)
        first = resolve_corners(Y, active.support, 1)
        found = restore(Y, first[0] if first else active.support, _STRENGTHS)
    else:
        problem = Problem(M=problem.M, f=problem.f, offset=problem.offset)
        active = ActiveSet.fixed(support)
        # The set stays as it is: entries along which no small step keeps X orthonormal would block the others.
        found = restore(Y, support, _STRENGTHS[2:])
    if found is None:
        return None
    X, kept = found
    return minimise_on(problem, active.without(kept == 0), X, budget, z)


class _Landscape:
    """F on an active set that changes, as the trust region asks about it."""

    def __init__(self, problem: Problem, active: ActiveSet, z: Array, budget: Budget) -> None:
        self.problem, self.active, self.budget = problem, active, budget
        self.subgradient = Subgradient(z, z, math.inf)
        self._entries = 0  # on the set of the last model
        self._scale = self._value = 0.0

    def model(self, at: Point) -> Model | None:
        """The model on the set, after entries have entered that gain enough; None where nothing is left to do."""
        problem, tolerance, last = self.problem, self.budget.tolerance, self.subgradient
        gradient = problem.f.gradient_at(at.X, at.HX)
        self._scale, self._value = float(norm(gradient)) or 1.0, float(problem.objective(at))
        self.active = self.active.follow(at.X)
        now = shortest_subgradient(problem, at, self.active, last.z, 0.1 * tolerance)
        self.subgradient = now
        if now.length <= tolerance or (self._entries == 0 and now.length > self.budget.start):
            return None
        on_set = _OnSet(problem, self.active, at, symmetric(at.X.T @ (now.z + gradient - problem.g.subgradient(at.X))))
        signs, outward = self._entering(now, self.active, _STRONG)
        if max(on_set.inward, outward) <= tolerance:
            return None
        if outward > _OUTWARD * on_set.inward:
            on_set = self._enter(at, signs, outward, on_set.Lam)
        if on_set.inward <= _FLOOR * self._scale and now.length > 0.5 * last.length:
            return None  # zeros would enter only to leave at once
        before, self._entries = self._entries, int(array_namespace(signs).count_nonzero(self.active.support))
        self._rough = before != self._entries
        return self._model(on_set)

    def _enter(self, at: Point, signs: Array, outward: float, Lam: Array) -> _OnSet:
        """The model with the zeros that enter; with all of them where the strong ones alone cannot move.

        Columns that meet nowhere else stay orthogonal only if a third entry, however weak, moves with the two.
        """
        before = self.active
        self.active = before.with_entries(signs)
        on_set = _OnSet(self.problem, self.active, at, Lam)
        if on_set.inward < outward:
            self.active = before.with_entries(self._entering(self.subgradient, before, 0.0)[0])
            on_set = _OnSet(self.problem, self.active, at, Lam)
        return on_set

    @staticmethod
    def _entering(now: Subgradient, active: ActiveSet, least: float) -> tuple[Array, float]:
        """The signs of the zeros that -G moves, where z is at the end of its interval, and how strongly it does."""
        xp, G = array_namespace(now.z), now.G
        strong = (active.support == 0) & (xp.abs(G) > least * xp.max(xp.abs(G)))
        up = strong & (now.z >= active.high) & (G < 0)
        down = strong & (now.z <= active.low) & (G > 0)
        signs = xp.astype(up, G.dtype) - xp.astype(down, G.dtype)
        return signs, float(norm(G * signs))

    def _model(self, on_set: _OnSet) -> Model:
        self._on_set = on_set
        X, scale = on_set.at.X, self._scale
        accuracy = _ROUGH if self._rough else min(_ACCURATE, on_set.inward / scale)
        # More than the root of eps is lost in rounding, where conjugate gradients would see a curvature that is none.
        accuracy = max(accuracy, math.sqrt(backend_of(X).eps(X)))
        size = rounding(X, abs(self._value) + abs(self.problem.offset))
        return Model(on_set.g, on_set.hessian, accuracy, size, _FLOOR * scale)

    def trial(self, at: Point, D: Array) -> tuple[Point | None, float]:
        """Back to the set from X + D, without the entries that change sign, and the change of F."""
        active = self.active.without(self.active.leaving(at.X + D))
        X = SparseStiefel(active.support).restore(at.X + D, self._on_set.space)
        if X is None:
            return None, math.inf
        trial = self.problem.at(active.clear(X))
        return trial, float(self.problem.objective(trial)) - self._value

    def refuse(self, at: Point, step: Step) -> Model | None:
        """The model without the entries that are zero, or nearly, and would change sign at once, if there are any.

        Of a step to the edge, which may be far too long, that is only known of those that are zero.
        """
        xp = array_namespace(at.X)
        small = xp.abs(at.X) <= (0.0 if step.edge else _AT_ONCE) * xp.abs(step.D)
        at_once = small & self.active.leaving(at.X + step.D)
        if not bool(xp.any(at_once)):
            return None
        self.active = self.active.without(at_once)
        return self._model(_OnSet(self.problem, self.active, at, self._on_set.Lam))


class _OnSet:
    """F on an active set to second order: the gradient g, and the Hessian D -> H D + h'' D - D Lam.

    Both are on the tangent space of the sparse orthonormal matrices.
    """

    def __init__(self, problem: Problem, active: ActiveSet, at: Point, Lam: Array) -> None:
        self.problem, self.active, self.at = problem, active, at
        X, h = at.X, problem.h
        self.space: TangentSpace = SparseStiefel(active.support).tangent_space(X)
        slope = active.slope(h, X)  # type: ignore[arg-type]
        pull = (problem.f.gradient_at(X, at.HX) - problem.g.subgradient(X) + slope) * active.support
        # Lam is what z says of it, also where the set does not; on the set it is set right.
        self.Lam = Lam + self.space.normal(pull - (X @ Lam) * active.support)
        # Once more tangent: what rounding leaves of the normal part is much beside a short gradient.
        self.g = self.space.project(pull - (X @ self.Lam) * active.support)
        self.inward = float(norm(self.g))
        self._curvature = self._second_derivative(slope)
        self._of_f: Product | None = None

    def _second_derivative(self, slope: Array) -> Array:
        """H'' on the set: the prox at X + mu h'(X) has the derivative 1/(1 + mu h'')."""
        problem, X, xp = self.problem, self.at.X, array_namespace(slope)
        W = problem.h.weak_convexity
        mu = 0.5 / W if W > 0 else 1.0 / (problem.f.lipschitz or 1.0)
        derivative = problem.h.prox_slope(X + mu * slope, mu)  # type: ignore[attr-defined]
        return (1.0 / xp.where(derivative > 0, derivative, 1.0) - 1.0) / mu * self.active.support

    def hessian(self, D: Array) -> Array:
        """The Hessian times a tangent D."""
        if self._of_f is None:  # only now: a set that is not stepped on needs no second derivatives
            self._of_f = self.problem.f.hessian(self.at.X)
        assert self._of_f is not None  # has_active_sets has seen to that
        HD = self._of_f(D) + self._curvature * D - D @ self.Lam
        return self.space.project(HD * self.active.support, _PROJECTION)
