"""Penalties on weights that something else trains: h - g, and nothing besides."""

from __future__ import annotations

from numbers import Real
from typing import Any

from orthoprox.maps import Identity
from orthoprox.problem import Problem
from orthoprox.terms import ConvexTerm, ProximableTerm, Zero


def penalty_terms(expression: Any, m: int, n: int) -> tuple[ProximableTerm, ConvexTerm] | None:
    """The h and g that a term or a sum of terms describes on m-by-n matrices; None where both are zero."""
    if isinstance(expression, (Real, type)):
        named = f"the class {expression.__name__}" if isinstance(expression, type) else expression
        raise TypeError(f"A penalty is a term of orthoprox.terms, as in 0.01 * L1(); given {named}.")
    try:
        given = Problem.of(expression, over=(max(m, n), min(m, n)))
    except TypeError as error:
        raise TypeError(f"A penalty is a term of orthoprox.terms or a sum of such terms. {error}") from error
    if not isinstance(given.f, Zero):
        raise ValueError(
            "A penalty has terms with a proximal map, and subtracted convex ones; "
            f"{type(given.f).__name__} is smooth: add it to the loss."
        )
    if not isinstance(given.A, Identity):
        raise ValueError(
            "A penalty acts on the entries of the weight; a term bound to a map, as in L1() @ B, does not."
        )
    nothing = isinstance(given.h, Zero) and isinstance(given.g, Zero)
    return None if nothing else (given.h, given.g)
