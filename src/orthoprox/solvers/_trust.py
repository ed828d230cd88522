"""Steihaug's conjugate gradients: the minimum of a quadratic model in a ball, as far as it is worth finding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from array_api_compat import array_namespace

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
    xp = array_namespace(g)
    D, R = 0.0 * g, -g
    Q = R
    square = float(xp.sum(R * R))
    enough = accuracy**2 * square
    length, promised = 0.0, 0.0
    for used in range(1, most + 1):
        W = apply(Q)
        curvature, q, dq = float(xp.sum(Q * W)), float(xp.sum(Q * Q)), float(xp.sum(D * Q))
        a = square / curvature if curvature > 0 else math.inf
        if curvature <= 0 or length + 2 * a * dq + a * a * q >= radius**2:
            a = (-dq + math.sqrt(dq * dq + q * max(radius**2 - length, 0.0))) / q if q > 0 else 0.0
            return Truncated(D + a * Q, promised - a * square + 0.5 * a * a * curvature, True, used)
        D, R = D + a * Q, R - a * W
        promised -= 0.5 * a * square
        length = float(xp.sum(D * D))
        square, before = float(xp.sum(R * R)), square
        if square <= enough:
            break
        Q = R + (square / before) * Q
    return Truncated(D, promised, False, used)
