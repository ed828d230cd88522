"""Compressed modes: localised solutions of Schroedinger's equation on a ring."""

from __future__ import annotations

import operator

from orthoprox._checks import check_weight
from orthoprox.manifolds import Stiefel
from orthoprox.maps import Difference
from orthoprox.problem import Problem
from orthoprox.terms import L1, LeastSquares


def compressed_modes(n: int, *, n_components: int, weight: float, length: float = 50.0) -> Problem:
    r"""Localised modes of the free-electron Hamiltonian.

    .. math:: \min_{X'X = I} \operatorname{tr}(X'HX) + w \|X\|_1, \qquad H = -\tfrac12 \Delta

    where H is the periodic second difference on n points of an interval. Its quadratic form is that of
    first differences, ``tr(X'HX) = |X_{i+1} - X_i|^2 / (2 dx^2)``, so no matrix is formed and any array
    library will do.

    Parameters
    ----------
    n : int
        Grid points, at least 3.
    n_components : int
        The number of modes.
    weight : float
        The factor w; larger means more localised.
    length : float
        The length of the interval.

    References
    ----------
    V. Ozolins, R. Lai, R. Caflisch, S. Osher, "Compressed modes for variational problems in mathematics
    and physics", PNAS 110, 2013.

    Examples
    --------
    >>> from orthoprox.models import compressed_modes
    >>> round(compressed_modes(128, n_components=10, weight=0.1).f.lipschitz, 4)  # 4 / dx^2
    26.2144
    """
    try:
        n = operator.index(n)
    except TypeError:
        raise TypeError(f"n must be a whole number of grid points; given {n!r}.") from None
    if n < 3:
        raise ValueError(f"A periodic second difference needs at least 3 grid points; given n = {n}.")
    if not 0 < length < float("inf"):
        raise ValueError(f"length must be positive and finite; given {length}.")
    M = Stiefel(n, n_components)
    w = check_weight(weight, "the penalty")
    dx = length / n
    f = LeastSquares(Difference(periodic=True, columns=n), weight=1 / dx**2)
    return Problem.of(f + L1(w), over=M)
