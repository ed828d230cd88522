"""Newton's method in a trust region: the quadratic model by Steihaug's conjugate gradients, and the one loop."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from orthoprox._deadline import is_over
from orthoprox._linalg import inner, norm
from orthoprox._types import Array

P = TypeVar("P")
PRODUCTS = 100  # Hessian products in a step
_LEAST_RADIUS = 1e-9
_ACCEPT = 1e-3  # the share of the promised change that a step has to bring
_POOR, _GOOD = 0.25, 0.75  # shares below which the radius shrinks, and above which it grows


class Step(NamedTuple):
    """A step, the change of the model that it promises, whether it ends at the edge, and its Hessian products."""

    D: Array
    promised: float
    edge: bool
    products: int


def truncated_cg(hessian: Callable[[Array], Array], g: Array, radius: float, accuracy: float, most: int) -> Step:
    """Minimise <g, D> + <D, hessian(D)>/2 for |D| at most the radius (Steihaug).

    Parameters
    ----------
    hessian : callable
        A symmetric map of a space in which g lies.
    g : array
    radius : float
    accuracy : float
        Stop when the gradient of the model is this share of |g|.
    most : int
        Stop after this many products. Where the curvature is not positive, or no number, the step goes on to
        the edge.
    """
    D, R = 0.0 * g, -g
    Q = R
    square = float(inner(R, R))
    enough = accuracy**2 * square
    promised = 0.0
    length, q, dq = 0.0, square, 0.0  # |D|^2, |Q|^2 and <D, Q>, by recurrence
    for products in range(1, most + 1):
        if is_over():
            break
        W = hessian(Q)
        curvature = float(inner(Q, W))
        if not math.isfinite(curvature):  # as that of a power below 2 where an entry is zero
            curvature = 0.0
        a = square / curvature if curvature > 0 else math.inf
        if curvature <= 0 or length + 2 * a * dq + a * a * q >= radius**2:
            length, q, dq = float(inner(D, D)), float(inner(Q, Q)), float(inner(D, Q))  # the recurrences lose digits
            a = (-dq + math.sqrt(dq * dq + q * max(radius**2 - length, 0.0))) / q if q > 0 else 0.0
            return Step(D + a * Q, promised - a * square + 0.5 * a * a * curvature, True, products)
        D, R = D + a * Q, R - a * W
        promised -= 0.5 * a * square
        length += 2 * a * dq + a * a * q
        square, before = float(inner(R, R)), square
        if square <= enough:
            break
        b = square / before
        Q = R + b * Q
        q, dq = square + b * b * q, b * (dq + a * q)
    return Step(D, promised, False, products)


@dataclass(frozen=True, eq=False)
class Model:
    """A function to second order about a point."""

    gradient: Array
    hessian: Callable[[Array], Array]
    accuracy: float
    """How exactly the step is worked out, as a share of the gradient."""
    rounding: float
    """Changes of the function smaller than this cannot be told."""
    floor: float = 0.0
    """A gradient as short as this is rounding: a step that is refused there is the last one."""
    program: Callable[[float], Step] | None = None
    """The step for a radius without questions to the host, where the arrays are on a device that would wait for it."""

    def step(self, radius: float) -> Step:
        """The step that minimises the model in a ball, roughly."""
        if self.program is not None:
            return self.program(radius)
        return truncated_cg(self.hessian, self.gradient, radius, self.accuracy, PRODUCTS)


class Landscape(Protocol[P]):
    """A function on a manifold, as the loop asks about it."""

    def model(self, at: P) -> Model | None:
        """The model at a point; None where nothing is left to do."""

    def trial(self, at: P, D: Array) -> tuple[P | None, float]:
        """The point to which a tangent step leads, if there is one, and the change of the function."""

    def refuse(self, at: P, step: Step) -> Model | None:
        """Another model at the same point after a step was refused; None to take a shorter step."""


@dataclass(frozen=True, eq=False)
class Descent(Generic[P]):
    """Where the loop ended."""

    at: P
    radius: float
    steps: int
    products: int
    finished: bool
    """Whether it came to its own end; otherwise its steps were used up."""


def minimise(landscape: Landscape[P], at: P, *, radius: float, most: int, largest: float = math.inf) -> Descent[P]:
    """Newton steps in a trust region until the landscape has no more model, or the steps are used up.

    The function never rises by more than rounding.

    Parameters
    ----------
    landscape : Landscape
    at : point
        Where to begin.
    radius : float
        The first radius.
    most : int
        Steps at most, refused ones included.
    largest : float
        The largest radius.
    """
    steps = products = 0
    model = landscape.model(at)
    while model is not None and steps < most and radius >= _LEAST_RADIUS and not is_over():
        step = model.step(radius)
        steps, products = steps + 1, products + step.products
        trial, change = landscape.trial(at, step.D)
        share = _share(step, change, model.rounding)
        if share > _GOOD and step.edge:
            radius = min(2 * radius, largest)
        if trial is not None and share > _ACCEPT:
            radius = radius if share >= _POOR else _POOR * min(radius, float(norm(step.D)))
            at, model = trial, landscape.model(trial)
            continue
        if float(norm(model.gradient)) <= model.floor:
            return Descent(at, radius, steps, products, finished=True)
        again = landscape.refuse(at, step)
        if again is None:
            radius = _POOR * min(radius, float(norm(step.D)))
        else:
            model = again
    return Descent(at, radius, steps, products, finished=model is None or radius < _LEAST_RADIUS)


def _share(step: Step, change: float, rounding: float) -> float:
    """How much of the promised change a step brings.

    What values cannot tell is believed, but not to the edge, where flat directions lead.
    """
    if -step.promised > rounding:
        return change / step.promised
    return float(change <= rounding and not step.edge)
