"""Whether a gradient is right, by differences along random directions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from orthoprox._checks import check_matrix
from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.terms._base import SmoothTerm

_Pair: TypeAlias = tuple[Callable[[Array], Scalar], Callable[[Array], Array]]


@dataclass(frozen=True)
class GradientCheck:
    """What came of a check: the relative error, and whether it is small enough."""

    error: float
    ok: bool

    def __str__(self) -> str:
        if math.isinf(self.error):
            return "The gradient cannot be checked: the value or the gradient is NaN or infinite there."
        verdict = "The gradient agrees" if self.ok else "The gradient does not agree"
        return f"{verdict} with differences of the value: relative error {self.error:.1e}."


def check_gradient(f: SmoothTerm | _Pair, X: Array, *, seed: int = 0, directions: int = 3) -> GradientCheck:
    """Compare a gradient with central differences of the value along random directions.

    Parameters
    ----------
    f : SmoothTerm or pair of callables
        A term, or its value and its gradient as functions of X.
    X : array
        Where.
    seed : int
        Of the directions.
    directions : int
        How many; the worst one counts.

    Returns
    -------
    GradientCheck
        With ``error``, ``ok``, and a sentence when printed.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.terms import check_gradient
    >>> X = np.array([[1.0], [2.0]])
    >>> check_gradient((lambda X: (X**4).sum() / 4, lambda X: X**3), X).ok
    True
    >>> check_gradient((lambda X: (X**4).sum(), lambda X: X**3), X).ok
    False
    """
    check_matrix(X, "X")
    require(directions >= 1, f"check_gradient needs at least one direction; given {directions}.")
    value, gradient = (f.value, f.gradient) if isinstance(f, SmoothTerm) else f
    xp, backend = array_namespace(X), backend_of(X)
    G = gradient(X)
    if tuple(G.shape) != tuple(X.shape):
        raise ValueError(f"The gradient must have the shape {tuple(X.shape)} of X; given {tuple(G.shape)}.")
    eps, size = backend.eps(X), math.prod(X.shape)
    length, slope = _norm(X), _norm(G) / math.sqrt(size)
    # What counts as small at a point where the derivative vanishes.
    floor = eps ** (1 / 3) * abs(float(value(X))) / max(length, 1.0)
    rng = np.random.default_rng(seed)
    worst = 0.0
    for _ in range(directions):
        draw = rng.standard_normal(tuple(X.shape))
        D = backend.from_numpy(draw / np.linalg.norm(draw), like=X)
        claimed = float(xp.sum(G * D))
        errors = [math.inf]
        for t in _steps(length, eps):
            above, below = float(value(X + t * D)), float(value(X - t * D))
            found = (above - below) / (2 * t)
            # Agreement within the rounding error of the difference is no evidence, hence the maximum.
            rounding = eps * max(abs(above), abs(below)) / t
            scale = max(abs(found), abs(claimed), slope, floor)
            if math.isfinite(found):
                errors.append(max(abs(found - claimed), rounding) / scale if scale > 0 else 0.0)
        best = min(errors)
        worst = max(worst, best)
    # A wrong factor, sign or term gives an error near 1; rounding gives about the square of this tolerance or less.
    return GradientCheck(error=worst, ok=bool(worst <= 10 * eps ** (1 / 3)))


def _steps(length: float, eps: float) -> list[float]:
    """Step lengths from a tenth of the size of X (or of 1) down to where rounding of X + t D takes over."""
    longest = 0.1 * max(length, 1.0)
    shortest = eps ** (2 / 3) * (length or 1.0)
    return [longest / 10**j for j in range(1 + math.floor(math.log10(longest / shortest)))]


def _norm(a: Array) -> float:
    xp = array_namespace(a)
    largest = float(xp.max(xp.abs(a)))
    return largest * math.sqrt(float(xp.sum((a / largest) ** 2))) if 0 < largest < math.inf else largest
