"""Leading eigenvectors of a symmetric matrix that is known by its products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from orthoprox._deadline import is_over
from orthoprox._linalg import symmetric
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of

_SPARE = 10  # vectors beside those that are wanted, which speed up the iteration


class Eigenvectors(NamedTuple):
    """Orthonormal columns with eigenvalues in falling order."""

    values: Array
    vectors: Array | None
    """None where a product is not finite."""
    columns: int
    """How many columns were multiplied in all."""


def leading_eigenvectors(
    product: Callable[[Array], Array], n: int, count: int, like: Array, *, tolerance: float, steps: int
) -> Eigenvectors:
    """The eigenvectors with the eigenvalues of largest magnitude, the sum of cubes of each positive.

    Subspace iteration from a fixed start with a Rayleigh-Ritz step each time, until no Ritz value changes by more than
    ``tolerance`` times the largest one, or the time is over. Signs do not depend on the order of rows,
    and powers of two in the data change nothing else.

    References
    ----------
    .. [1] Y. Saad, "Numerical Methods for Large Eigenvalue Problems", 2nd edition, SIAM 2011, chapter 5.
    """
    xp, width = array_namespace(like), min(n, count + _SPARE)
    Q = backend_of(like).from_numpy(np.random.default_rng(0).standard_normal((n, width)), like)
    values: Array | None = None
    assert steps > 0
    for used in range(1, steps + 1):
        Q = xp.linalg.qr(Q, mode="reduced")[0]
        HQ = product(Q)
        if not bool(xp.all(xp.isfinite(HQ))):
            return Eigenvectors(Q[0, :0], None, used * width)
        unit = _power_of_two(HQ)
        HQ = HQ / unit
        ritz, W = xp.linalg.eigh(symmetric(Q.T @ HQ))
        W = xp.flip(W, axis=1)
        V, Q = Q @ W, HQ @ W
        before, values = values, unit * xp.flip(ritz, axis=0)[:count]
        largest = float(xp.max(xp.abs(values)))
        if is_over() or (before is not None and float(xp.max(xp.abs(values - before))) <= tolerance * largest):
            break
    return Eigenvectors(values, with_signs(V[:, :count]), used * width)


def with_signs(V: Array) -> Array:
    """The columns with the sign that makes their sum of cubes positive, in whatever order their entries are."""
    xp = array_namespace(V)
    return xp.where(xp.sum(V * V * V, axis=0) < 0, -V, V)


def _power_of_two(a: Array) -> float:
    """The one next to the largest entry: the same bits in any units; 1 where that is zero."""
    largest = float(array_namespace(a).max(array_namespace(a).abs(a)))
    return math.ldexp(1.0, math.frexp(largest)[1]) if largest > 0 else 1.0
