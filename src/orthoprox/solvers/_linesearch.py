"""Backtracking line search, and Barzilai-Borwein step sizes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of, either

SHORTEST = 2.0**-60
"""A search ends at this share of the first step size."""


def backtrack(
    trial: Callable[[Scalar], tuple[Any, Scalar]], eta: Scalar, gamma: float, wanted: Scalar, slack: Scalar
) -> tuple[Scalar, Any, Any, Any]:
    """The first of eta, gamma eta, gamma^2 eta, ... whose change is at most ``-wanted * eta``, up to rounding.

    Parameters
    ----------
    trial : callable
        Maps a step size to its outcome and the change of the merit there.
    slack : float
        What rounding may add to a computed change. Without it a line search at a stationary point never ends.

    Returns
    -------
    eta, outcome, trials, accepted
        The last step size, its outcome, the number of trials, and whether it is acceptable: if not, no step is.
    """
    outcome, change = trial(eta)
    most = math.ceil(math.log(SHORTEST) / math.log(gamma))

    def refused(run: tuple[Any, ...]) -> Any:
        eta, _, change, trials = run
        # This form refuses a NaN: a shorter step may stay in the domain.
        return ~(change <= slack - wanted * eta) & (trials <= most)

    def shorten(run: tuple[Any, ...]) -> tuple[Any, ...]:
        eta, _, _, trials = run
        eta = gamma * eta
        outcome, change = trial(eta)
        return eta, outcome, change, trials + 1

    backend = backend_of(wanted) if hasattr(wanted, "dtype") else backend_of(change)
    eta, outcome, change, trials = backend.while_loop(refused, shorten, (eta, outcome, change, 1))
    return eta, outcome, trials, change <= slack - wanted * eta


def barzilai_borwein(S: Array, Z: Array, short: Any) -> Scalar:
    """The quotient |<S, Z>|/<Z, Z>, the short one, or <S, S>/|<S, Z>|; 0 where it is not defined.

    S is the last step and Z the change of the Riemannian gradient. The footnote of section 3 has Z
    with the opposite sign, for which the inner product is negative where the problem is convex; its
    magnitude is right for both.
    """
    xp = array_namespace(S)
    inner = abs(xp.sum(S * Z))
    above, below = backend_of(S).cond(short, lambda: (inner, xp.sum(Z * Z)), lambda: (xp.sum(S * S), inner))
    defined = below > 0
    return either(defined, above / either(defined, below, 1.0), 0.0 * below)
