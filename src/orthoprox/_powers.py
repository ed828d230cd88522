"""Powers of two: numbers of any size are brought to unit size and back without changing a digit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.sparse import issparse

from orthoprox._namespace import array_namespace
from orthoprox._types import Array

LEAST = -1074
"""The exponent of the smallest number there is, which stands for a feature without any entry."""


def exponent(*arrays: Any) -> int:
    """The e for which the largest magnitude among all entries lies in [2^e, 2^(e + 1)); 0 if all are zero.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox._powers import exponent
    >>> exponent(np.array([0.1, -5.0])), exponent(np.zeros(3))
    (2, 0)
    """
    entries = [X.data if _is_sparse(X) else X for X in arrays]
    top = max((_top(a) for a in entries if math.prod(a.shape)), default=0.0)
    return math.frexp(top)[1] - 1 if top > 0 else 0


def _top(a: Any) -> float:
    xp = array_namespace(a)
    return max(float(xp.max(a)), -float(xp.min(a)))


def column_exponents(X: Any) -> Array:
    """The same for every column, ``LEAST`` for one without an entry other than zero.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox._powers import column_exponents
    >>> column_exponents(np.array([[0.1, 0.0], [-5.0, 0.0]])).tolist()
    [2, -1074]
    """
    if _is_sparse(X):
        tops = np.zeros(X.shape[1])
        np.maximum.at(tops, X.indices, np.abs(X.data))
    else:
        tops = np.maximum(np.max(X, axis=0), -np.min(X, axis=0))
    return np.where(tops > 0, np.frexp(tops)[1] - 1, LEAST).astype(np.int32)


def times_power(X: Any, e: int) -> Any:
    """X times 2^e, a new array or sparse matrix: exact, but infinite or zero beyond the range of its float type."""
    if not isinstance(X, np.ndarray) and not _is_sparse(X):
        parts = max(2, math.ceil(abs(e) / 1000))  # the whole power may be beyond the range
        for i in range(parts):
            X = X * 2.0 ** ((i + 1) * e // parts - i * e // parts)
        return X
    with np.errstate(over="ignore", under="ignore"):
        if not _is_sparse(X):
            return np.ldexp(X, e)
        scaled = X.copy()
        scaled.data = np.ldexp(scaled.data, e)
        return scaled


def _is_sparse(X: Any) -> bool:
    return bool(issparse(X))
