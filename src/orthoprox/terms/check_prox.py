"""Whether a proximal map is right, by values at other points."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from orthoprox._checks import check_matrix
from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.terms._base import ProximableTerm

_STEPS = tuple(sign * length for length in (1.0, 0.3, 0.1, 0.01) for sign in (1, -1))
_ROUGH = 1e-7  # a prox that moves y by a share s too far or too little loses about s^2 of what it gains


@dataclass(frozen=True)
class ProxCheck:
    """What came of a check: how much lower another point was, as a share of the quadratic part; whether it counts."""

    excess: float
    ok: bool

    def __str__(self) -> str:
        if self.ok:
            return "The prox is no higher than the points around it."
        return (
            "The prox does not minimise h(v) + |v - y|^2/(2 mu): a point near it is lower, by "
            f"{self.excess:.1e} of the quadratic part."
        )


def check_prox(h: ProximableTerm, y: Array, mu: float, *, seed: int = 0) -> ProxCheck:
    """Compare what a proximal map should minimise with its value at points around the prox.

    The points lie on lines through p = prox(y, mu): towards y, towards zero, along y, and the same in some entries.

    Parameters
    ----------
    h : ProximableTerm
    y : array
        Where.
    mu : float
        Positive, and below the reciprocal of ``h.weak_convexity``.
    seed : int
        Of the entries.

    Returns
    -------
    ProxCheck
        With ``excess``, ``ok``, and a sentence when printed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import L1, check_prox
    >>> y = np.array([[1.0], [-0.2], [0.7]])
    >>> check_prox(L1(), y, 0.5).ok
    True
    >>> class Halved(L1):
    ...     def prox(self, y, mu):
    ...         return super().prox(y, mu / 2)
    >>> print(check_prox(Halved(), y, 0.5))
    The prox does not minimise h(v) + |v - y|^2/(2 mu): a point near it is lower, by ...
    """
    check_matrix(y, "y")
    require(
        mu > 0 and mu * h.weak_convexity < 1,
        f"mu must be positive and below 1/{h.weak_convexity:g}, the reciprocal of h.weak_convexity; given {mu:g}.",
    )
    p = h.prox(y, mu)
    if tuple(getattr(p, "shape", ())) != tuple(y.shape):
        given = tuple(p.shape) if hasattr(p, "shape") else f"a {type(p).__name__}"
        raise ValueError(f"The prox must have the shape {tuple(y.shape)} of y; given {given}.")

    def parts(v: Array) -> tuple[float, float]:
        return float(h.value(v)), float(array_namespace(y).sum((v - y) ** 2)) / (2 * mu)

    cost, moved = parts(p)
    lowest = min(math.fsum(parts(p + t * D)) for D in _directions(p, y, seed) for t in _STEPS)
    rounding = 1e3 * max(backend_of(y).eps(y), backend_of(p).eps(p)) * (abs(cost) + moved)
    scale = moved if moved > 0 else abs(cost) or 1.0
    excess = (cost + moved - lowest) / scale
    return ProxCheck(excess=excess, ok=bool(cost + moved - lowest <= _ROUGH * scale + rounding))


def _directions(p: Array, y: Array, seed: int) -> Iterator[Array]:
    rng, backend = np.random.default_rng(seed), backend_of(y)
    masks = [np.ones(tuple(y.shape)), *(1.0 * (rng.random(tuple(y.shape)) < share) for share in (0.5, 0.1))]
    for mask in (backend.from_numpy(mask, like=y) for mask in masks):
        yield from (mask * (y - p), mask * p, mask * y)
