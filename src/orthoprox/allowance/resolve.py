"""Turn a requested sparsity into numbers of nonzero loadings."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from orthoprox.allowance.allowance import Allowance

_SHARE = 0.2
_LEAST = 2


def resolve_allowance(n_nonzero: Any, per_component: Any, n: int, r: int) -> Allowance:
    """The allowance of r components of n features; without any wish, the default total.

    Examples
    --------
    >>> from orthoprox.allowance import resolve_allowance
    >>> resolve_allowance(9, 4, n=10, r=3)
    Allowance(total=9, caps=(4, 4, 4))
    >>> resolve_allowance(None, [5, 2], n=10, r=2)
    Allowance(total=7, caps=(5, 2))
    """
    caps = tuple([n] * r if per_component is None else resolve_caps(per_component, n, r))
    if n_nonzero is None and per_component is not None:
        return Allowance(sum(caps), caps)
    return Allowance(min(resolve_total(n_nonzero, n, r), sum(caps)), caps)


def resolve_total(n_nonzero: Any, n: int, r: int) -> int:
    """The number of nonzero entries in all r components of n features.

    By default a fifth of all entries, and at least two for each component.
    """
    if n_nonzero is None:
        return max(math.ceil(_SHARE * n * r), min(_LEAST, n) * r)
    k = _resolve_count(n_nonzero, n * r, "n_nonzero", f"all n_features * n_components = {n * r} entries")
    if k < r:
        if isinstance(n_nonzero, float):
            return r
        raise ValueError(
            f"n_nonzero = {n_nonzero} is too few: each of the {r} components needs a nonzero entry. "
            "n_nonzero counts the entries of all components together; n_nonzero_per_component those of each."
        )
    return k


def resolve_caps(n_nonzero_per_component: Any, n: int, r: int) -> list[int]:
    """The largest number of nonzero entries in each of r components of n features."""
    name, whole = "n_nonzero_per_component", f"all {n} features"
    given = n_nonzero_per_component
    if (not isinstance(given, str) and isinstance(given, Sequence)) or getattr(given, "ndim", 0) == 1:
        if len(given) != r:
            raise ValueError(
                f"{name} must be one number, or one for each of the {r} components; given {len(given)} numbers."
            )
        counts = [_resolve_count(c, n, name, whole) for c in given]
    else:
        counts = [_resolve_count(given, n, name, whole)] * r
    return [max(1, c) for c in counts]


def _resolve_count(request: Any, most: int, name: str, whole: str) -> int:
    """Return a whole number unchanged, a fraction as that share of ``most``, rounded down."""
    if isinstance(request, (bool, np.bool_)):
        raise ValueError(f"{name} must be a whole number or a fraction; given {request}.")
    if isinstance(request, (str, bytes)):  # float would take "0.5"
        raise TypeError(f"{name} must be a whole number or a fraction; given {request!r}.")
    try:
        k = operator.index(request)
    except TypeError:
        try:
            share = float(request)
        except (TypeError, ValueError):
            raise TypeError(f"{name} must be a whole number or a fraction; given {request!r}.") from None
        if not 0 < share <= 1:
            raise ValueError(
                f"{name} as a fraction of {whole} must be above 0 and at most 1; given {request!r}. "
                "Give a whole number to count entries."
            ) from None
        return math.floor(share * most * (1 + 1e-12))
    if k < 1:
        raise ValueError(f"{name} must be at least 1; given {request!r}.")
    return min(k, most)
