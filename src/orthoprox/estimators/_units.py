"""Units: samples of any size are brought to unit size, and what is found back to theirs, by powers of two.

A power of two changes no digit, so a fit to samples times 2^k takes the same steps as one to the samples.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.estimators._device import is_elsewhere, place
from orthoprox.maps.sparse import is_sparse


def exponent(*arrays: Any) -> int:
    """The e for which the largest magnitude among all entries lies in [2^e, 2^(e + 1)); 0 if all are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.estimators._units import exponent
    >>> exponent(np.array([0.1, -5.0])), exponent(np.zeros(3))
    (2, 0)
    """
    entries = [X.data if is_sparse(X) else X for X in arrays]
    top = max((_top(a) for a in entries if math.prod(a.shape)), default=0.0)
    return math.frexp(top)[1] - 1 if top > 0 else 0


def _top(a: Any) -> float:
    xp = array_namespace(a)
    return max(float(xp.max(a)), -float(xp.min(a)))


def times_power(X: Any, e: int) -> Any:
    """X times 2^e, a new array or sparse matrix: exact, but infinite or zero beyond the range of its float type."""
    if is_elsewhere(X):
        return X * 2.0 ** (e // 2) * 2.0 ** (e - e // 2)  # the whole power may be beyond the range
    with np.errstate(over="ignore", under="ignore"):
        if not is_sparse(X):
            return np.ldexp(X, e)
        scaled = X.copy()
        scaled.data = np.ldexp(scaled.data, e)
        return scaled


def affine(S: Array, V: Array, mean: Array) -> Array:
    """S V + mean for factors of any size; infinite only where an entry of the result is beyond the range."""
    e, f = exponent(S), exponent(V)
    g = max(e + f, exponent(mean))
    P = times_power(times_power(S, -e) @ place(times_power(V, -f), S), e + f - g)
    return times_power(P + place(times_power(mean, -g), S), g)
