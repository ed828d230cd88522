"""Sorts the summands of an expression into f, g, h and A."""

from __future__ import annotations

from typing import Any

from orthoprox.maps import Identity, LinearMap, Stack
from orthoprox.terms import (
    ComposedConvex,
    ConvexSum,
    ConvexTerm,
    ProximableTerm,
    SeparableSum,
    SmoothTerm,
    Zero,
    compose_smooth,
    sum_smooth,
)
from orthoprox.terms._expression import Summand, as_expression


def sort_summands(expression: Any, n: int) -> tuple[SmoothTerm, ConvexTerm, ProximableTerm, LinearMap, float]:
    """The parts f, g, h, A and the constant of an expression in a matrix with n rows."""
    given = as_expression(expression)
    if given is None:
        what = type(expression).__name__ + "."
        if isinstance(expression, type):
            what = f"the class {expression.__name__}: call it."
        elif callable(expression):
            what += " Wrap a function of your own as Smooth(value, gradient)."
        raise TypeError(f"A problem needs terms, as in f - g + h @ A; given {what}")
    smooth: list[SmoothTerm] = []
    convex: list[ConvexTerm] = []
    proximable: list[tuple[ProximableTerm, LinearMap]] = []
    for summand in given.summands:
        sign, term, A = summand
        if isinstance(term, Zero):
            continue
        if isinstance(term, SmoothTerm):
            signed = term if sign > 0 else -1.0 * term
            smooth.append(signed if A is None else compose_smooth(signed, A))
        elif sign < 0 and isinstance(term, ConvexTerm):
            convex.append(term if A is None else ComposedConvex(term, A))
        elif sign > 0 and isinstance(term, ProximableTerm):
            proximable.append((term, Identity() if A is None else A))
        else:
            raise ValueError(_explain_refusal(summand))
    h, A = _stack(proximable, n)
    return _one(smooth, sum_smooth), _one(convex, ConvexSum), h, A, given.constant


def _one(terms: list[Any], combine: Any) -> Any:
    if not terms:
        return Zero()
    return terms[0] if len(terms) == 1 else combine(tuple(terms))


def _stack(pairs: list[tuple[ProximableTerm, LinearMap]], n: int) -> tuple[ProximableTerm, LinearMap]:
    """One h over one A: a single pair as it is, several as a separable sum over a stack."""
    if not pairs:
        return Zero(), Identity()
    if len(pairs) == 1:
        return pairs[0]
    for _, A in pairs:
        A.check(n)
    terms, maps = zip(*pairs, strict=True)
    return SeparableSum(tuple(terms), tuple(A.rows(n) for A in maps)), Stack(*maps, columns=n)


def _explain_refusal(summand: Summand) -> str:
    reason = (
        "an added term must be smooth or have a proximal map"
        if summand.sign > 0
        else "a subtracted term must be smooth or convex"
    )
    return f"'{summand}' does not fit f - g + h(A(X)): {reason}."
