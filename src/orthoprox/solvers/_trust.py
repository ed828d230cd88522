"""Steihaug's conjugate gradients: the minimum of a quadratic model in a ball, as far as it is worth finding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from orthoprox._linalg import inner
from orthoprox._types import Array


class Truncated(NamedTuple):
    """A step, the change of the model that it promises, whether it ends at the edge, and how many products it took."""

    D: Array
    promised: float
    edge: bool
    used: int


def truncated(apply: Callable[[Array], Array], g: Array, radius: float, accuracy: float, most: int) -> Truncated:
    """Minimise <g, D> + <D, apply(D)>/2 for |D| at most the radius.

    Parameters
    ----------
    apply : callable
        The Hessian, a symmetric map of a space in which g lies.
    g : array
    radius : float
    accuracy : float
        Stop when the gradient of the model is this share of |g|.
    most : int
        Stop after so many steps. Where the curvature is not positive the step goes on to the edge.
    """
    D, R = 0.0 * g, -g
    Q = R
    square = float(inner(R, R))
    enough = accuracy**2 * square
    promised = 0.0
    length, q, dq = 0.0, square, 0.0  # |D|^2, |Q|^2 and <D, Q>, by recurrence
    for used in range(1, most + 1):
        W = apply(Q)
        curvature = float(inner(Q, W))
        a = square / curvature if curvature > 0 else math.inf
        if curvature <= 0 or length + 2 * a * dq + a * a * q >= radius**2:
            length, q, dq = float(inner(D, D)), float(inner(Q, Q)), float(inner(D, Q))  # the recurrences lose digits
            a = (-dq + math.sqrt(dq * dq + q * max(radius**2 - length, 0.0))) / q if q > 0 else 0.0
            return Truncated(D + a * Q, promised - a * square + 0.5 * a * a * curvature, True, used)
        D, R = D + a * Q, R - a * W
        promised -= 0.5 * a * square
        length += 2 * a * dq + a * a * q
        square, before = float(inner(R, R)), square
        if square <= enough:
            break
        b = square / before
        Q = R + b * Q
        q, dq = square + b * b * q, b * (dq + a * q)
    return Truncated(D, promised, False, used)
