"""The last phase of OADMM: Newton's method on the zeros that have been found, with zeros coming and going."""

from __future__ import annotations

import math
from dataclasses import dataclass

from array_api_compat import array_namespace

from orthoprox._linalg import norm
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps import Identity
from orthoprox.problem import Point, Problem
from orthoprox.solvers._shortest import shortest
from orthoprox.solvers._support import Support, restored
from orthoprox.solvers._trust import truncated
from orthoprox.terms import EntrywiseTerm, LargestK, QuadraticTerm

_CG_STEPS = 100
_ROUGH = 0.03  # accuracy of a step as long as zeros come and go: the next one will be on other entries
_LEAST_RADIUS = 1e-9
_WEAK = (
    0.0,
    1e-4,
    1e-2,
    1e-1,
)  # how weakly columns may meet, one value after the other until an orthonormal matrix is found


@dataclass(frozen=True, eq=False)
class Polished:
    """Where the phase ended: a point with exact zeros, a subgradient of h there, and what is left of the gradient."""

    point: Point
    z: Array
    residual: float
    """The norm of the tangent part of grad f - dg + z: Crit, since y = X and z is a subgradient of h at X."""
    radius: float
    steps: int
    products: int


def polishable(problem: Problem) -> bool:
    """Whether h acts on the entries of X itself and f has a Hessian to multiply with."""
    return (
        isinstance(problem.A, Identity)
        and isinstance(problem.h, EntrywiseTerm)
        and isinstance(problem.f, QuadraticTerm)
        and math.isfinite(problem.h.lipschitz_constant(problem.shape))
    )


def is_sparse_enough(problem: Problem, y: Array) -> bool:
    """Whether the penalty is l1 minus the k largest entries, and y has no more than k of them: h - g vanishes."""
    if not isinstance(problem.g, LargestK):
        return False
    xp = array_namespace(y)
    gap = float(problem.h.value(y) - problem.g.value(y))
    return int(xp.count_nonzero(y)) <= problem.g.k and abs(gap) <= 1e-12 * float(problem.h.value(y))


def filled(problem: Problem, now: Point, y: Array) -> Array | None:
    """Of a y with fewer than k nonzeros, those and entries along which f falls steeply: k in all, if there are so many.

    No row gets two of them: where two zeros of a row may move at once, their product is of second order and no
    linearisation of X'X = I sees it.
    """
    if not is_sparse_enough(problem, y):
        return None
    xp, k = array_namespace(y), problem.g.k  # type: ignore[attr-defined]
    there = y != 0
    room = k - int(xp.count_nonzero(there))
    slope = xp.where(there, 0.0, xp.abs(problem.M.tangent(now.X, problem.f.gradient_at(now.X, now.HX))))
    best = xp.max(slope, axis=1)
    if room <= 0:
        return xp.astype(there, y.dtype)
    rows = backend_of(y).top_k_mask(best[:, None], min(room, y.shape[0])) & (best[:, None] > 0)
    first = xp.astype(slope == best[:, None], y.dtype)
    first = first * xp.astype(xp.cumulative_sum(first, axis=1) == 1, y.dtype)  # of equal ones the first
    return xp.where(there, 1.0, first * xp.astype(rows, y.dtype))


class _Face:
    """The entries that may move, the signs they keep, and the slopes of h on them."""

    def __init__(self, problem: Problem, X: Array, free: bool, on: Array | None = None) -> None:
        xp = array_namespace(X)
        self.problem, self.free = problem, free
        self.low, self.high = problem.h.subdifferential(xp.zeros_like(X))  # type: ignore[attr-defined]
        kept = (X != 0) | (self.low == self.high)
        self.on = xp.astype(kept, X.dtype) if on is None else on
        self.sign = xp.sign(X)

    def slope(self, X: Array) -> Array:
        """The derivative of h on the face; at a zero that is about to move, the one on the side it moves to."""
        xp = array_namespace(X)
        ahead = xp.where(self.sign > 0, self.high, xp.where(self.sign < 0, self.low, (self.low + self.high) / 2))
        return xp.where(X != 0, self.problem.h.subgradient(X), ahead) * self.on

    def base(self, point: Point) -> Array:
        """The gradient of f - <dg(X), .>."""
        return self.problem.f.gradient_at(point.X, point.HX) - self.problem.g.subgradient(point.X)

    def pull(self, point: Point) -> Array:
        """The gradient of F on the face."""
        if self.free:
            return self.problem.f.gradient_at(point.X, point.HX) * self.on
        return (self.base(point) + self.slope(point.X)) * self.on

    def bend(self, X: Array) -> Array | float:
        """The second derivative of h: the slope of its prox at X + mu h'(X) is 1/(1 + mu h'')."""
        h = self.problem.h
        if self.free:
            return 0.0
        xp = array_namespace(X)
        mu = 0.5 / h.weak_convexity if h.weak_convexity > 0 else 1.0 / (self.problem.f.lipschitz or 1.0)
        slope = h.prox_slope(X + mu * self.slope(X), mu)  # type: ignore[attr-defined]
        return (1.0 / xp.where(slope > 0, slope, xp.ones_like(slope)) - 1.0) / mu * self.on

    def shortest(self, point: Point, z: Array, enough: float = 0.0) -> tuple[Array, Array]:
        """A subgradient z of h at X for which the tangent part of grad f - dg + z is as short as it can be, and that.

        On the face z is the slope; elsewhere it is between the slopes at zero.
        """
        xp, X = array_namespace(z), point.X
        base, kept = self.base(point), self.on > 0
        # Where the k largest entries are free, z takes back on the face what dg takes away.
        fixed = self.problem.g.subgradient(X) if self.free else self.slope(X)
        low, high = (xp.where(kept, fixed, bound) for bound in (self.low, self.high))
        z = shortest(X, base, z, low, high, enough)
        return z, self.problem.M.tangent(X, base + z)

    def widened(self, z: Array, G: Array) -> tuple[Array, float]:
        """The signs of the zeros that -G moves, where z is at the end of its interval, and how strongly it does."""
        xp = array_namespace(z)
        strong = xp.abs(G) > 1e-3 * xp.max(xp.abs(G))
        up = (self.on == 0) & (z >= self.high) & (G < 0) & strong
        down = (self.on == 0) & (z <= self.low) & (G > 0) & strong
        sign = xp.astype(up, z.dtype) - xp.astype(down, z.dtype)
        return sign, float(norm(G * sign))

    def model(self, now: Point, z: Array, tolerance: float) -> tuple[Array, float, _Model | None]:
        """A subgradient, its length, and the model of F on the face, widened if need be; no model where all is done."""
        xp = array_namespace(z)
        z, G = self.shortest(now, z, 0.1 * tolerance)
        residual = float(norm(G))
        if residual <= tolerance:
            return z, residual, None
        XtG = now.X.T @ (self.base(now) + z)
        model = _Model(self, now, (XtG + XtG.T) / 2)
        sign, outward = self.widened(z, G)
        if residual <= tolerance or (model.inward <= tolerance and outward <= tolerance):
            return z, residual, None
        if not self.free and outward > 0.3 * model.inward:
            self.on, self.sign = self.on + xp.abs(sign), xp.where(sign != 0, sign, self.sign)
            model = _Model(self, now, model.Lam)
        return z, residual, model

    def moved(self, support: Support, Y: Array) -> tuple[Point | None, Array, Array]:
        """Y brought back to the face without the entries that changed sign, these entries, and the new face."""
        xp = array_namespace(Y)
        hinged = self.low != self.high
        left = xp.zeros_like(Y) > 1 if self.free else (self.on > 0) & hinged & (Y * self.sign <= 0)
        on = xp.where(left, 0.0, self.on)
        X = restored(Y, on, support)
        if X is None:
            return None, left, on
        return self.problem.at(X if self.free else _cleared(X)), left, on

    def keep(self, kept: Array) -> None:
        """Take the others off the face."""
        xp = array_namespace(kept)
        self.on, self.sign = xp.where(kept, self.on, 0.0), xp.where(kept, self.sign, 0.0)

    def settle(self, X: Array, on: Array) -> None:
        """Go on from X, on these entries."""
        xp = array_namespace(X)
        self.sign = xp.sign(X)
        self.on = on if self.free else xp.where((X != 0) | (self.low == self.high), on, 0.0)


class _Model:
    """F on the face to second order: the gradient g and the Hessian D -> H D + h'' D - D Lam, on the tangent space."""

    def __init__(self, face: _Face, now: Point, Lam: Array) -> None:
        self.X, self.support = now.X, Support(now.X, face.on)
        pull = face.pull(now)
        # Lam is what z says of it, also where the face does not; on the face it is set right.
        self.Lam = Lam + self.support.normal(pull - (now.X @ Lam) * face.on)
        # Once more tangent: what rounding leaves of the normal part is much beside a short gradient.
        self.g = self.support.tangent(pull - (now.X @ self.Lam) * face.on)
        self.inward = float(norm(self.g))
        self.face, self.bend = face, face.bend(now.X)

    def apply(self, Q: Array) -> Array:
        """The Hessian."""
        HQ = self.face.problem.f.product(Q) + self.bend * Q - Q @ self.Lam
        return self.support.tangent(HQ * self.face.on, 1e-12)


def polish(
    problem: Problem,
    y: Array,
    z: Array,
    *,
    radius: float,
    rounds: int,
    tolerance: float,
    on: Array | None = None,
    free: bool = False,
    largest: float = math.inf,
) -> Polished | None:
    """Minimise F over the orthonormal matrices with the zeros of y, letting zeros come and go.

    A trust-region Newton method: conjugate gradients on the tangent space of the face, then a way back to the face
    along normals. Entries that would change sign become zero and leave; zeros that the shortest subgradient
    moves enter.
    F never increases. Returns None where y has too many zeros for an orthonormal matrix near it.

    Parameters
    ----------
    y, z : array
        A sparse matrix that is nearly orthonormal, and a guess at a subgradient of h there.
    radius : float
        The first radius of the trust region.
    rounds : int
        Newton steps, at most.
    tolerance : float
        Stop when the shortest tangent subgradient is as short as this.
    on : array, optional
        The entries that may move, where that is known already.
    free : bool
        Whether h - g vanishes on the face and F is f there: ``is_sparse_enough`` tells. None enter or leave then.
    largest : float
        Where the first shortest tangent subgradient is longer than this, the zeros of y are not the right ones.
    """
    xp = array_namespace(y)
    face = _Face(problem, y, free, on)
    X, face.on = _orthonormal(y, face.on, _WEAK[2:] if face.free else _WEAK)
    if X is None:
        return None
    if not free:
        X = _cleared(X)  # of two columns that meet in one entry only, one has a zero there
    now = problem.at(X)
    face.settle(X, face.on)
    value = float(problem.objective(now))
    scale = float(norm(problem.f.gradient_at(now.X, now.HX))) or 1.0
    steps = products = entries = 0
    residual = math.inf
    while True:
        last = residual
        z, residual, model = face.model(now, z, tolerance)
        if steps == 0 and residual > largest:
            return None
        before, entries = entries, int(xp.count_nonzero(face.on))
        if model is None or steps >= rounds or radius < _LEAST_RADIUS:
            break
        if model.inward <= 1e-8 * scale and residual > 0.5 * last:
            break  # zeros enter only to leave at once
        new = None
        while new is None and steps < rounds and radius >= _LEAST_RADIUS:
            # More than this is lost in rounding, where conjugate gradients would see a curvature that is none.
            accuracy = model.inward / scale if entries == before else _ROUGH
            accuracy = max(min(0.1, accuracy), math.sqrt(backend_of(X).eps(X)))
            D, promised, edge, used = truncated(model.apply, model.g, radius, accuracy, _CG_STEPS)
            steps, products = steps + 1, products + used
            trial, left, kept = face.moved(model.support, now.X + D)
            change = math.inf if trial is None else float(problem.objective(trial)) - value
            rounding = 16 * backend_of(X).eps(X) * (abs(value) + abs(problem.offset))
            if change <= 1e-3 * promised or (-promised <= rounding and change <= rounding):
                new = trial
                radius = 2 * radius if edge and change <= 0.75 * promised else radius
            elif model.inward <= 1e-8 * scale:
                break  # what is left is rounding
            else:
                # These are zero, or nearly, and would change sign at once: without them, once more. Of a step to the
                # edge, which may be far too long, that is only known of those that are zero.
                at_once = left & (xp.abs(now.X) <= (0.0 if edge else 0.1) * xp.abs(D))
                if bool(xp.any(at_once)):
                    face.keep(~at_once)
                    model = _Model(face, now, model.Lam)
                else:
                    radius = 0.3 * min(radius, float(norm(D)))
        if new is None:
            break
        now, value = new, value + change
        face.settle(now.X, kept)
    return Polished(now, z, residual, radius, steps, products)


def _cleared(X: Array) -> Array:
    """X with zeros for entries that are nothing but rounding."""
    xp = array_namespace(X)
    return xp.where(xp.abs(X) > 64 * backend_of(X).eps(X), X, 0.0)


def _orthonormal(y: Array, on: Array, least: tuple[float, ...]) -> tuple[Array | None, Array]:
    """An orthonormal matrix near y with zeros where y has them, or else with a few more."""
    for bound in least:
        kept = on if bound == 0 else _separated(y, on, bound)
        X = restored(y, kept)
        if X is not None:
            return X, kept
    return None, on


def _separated(y: Array, on: Array, least: float) -> Array:
    """Without the entries in which two columns meet weakly.

    Two columns that have one row in common cannot be orthogonal unless one of the two entries is zero, and where
    they meet in small entries only, a small step along them asks for a large one to keep them orthogonal. What
    they meet in counts by the square of either column there; of two such entries the smaller one goes.
    """
    xp = array_namespace(y)
    square = (y * on) ** 2
    strength = square.T @ on
    strength = strength + strength.T
    meets = on.T @ on
    for i in range(y.shape[1]):
        for j in range(i):
            if float(meets[i, j]) > 0 and float(strength[i, j]) < least:
                both = on[:, i] * on[:, j]
                first = xp.where(xp.abs(y[:, i]) < xp.abs(y[:, j]), both, 0.0)
                columns = [on[:, c] for c in range(y.shape[1])]
                columns[i], columns[j] = on[:, i] - first, on[:, j] - (both - first)
                on = xp.stack(columns, axis=1)
    return on
