"""Steepest descent in a spectral norm: along a direction in which all of the tangent space moves at one rate.

For wide X with orthonormal rows a tangent matrix is A X + N, with a skew A and N X' = 0. The norm is the larger of the
spectral norms of A and N. Its steepest direction has their nearest partial isometries in their places, which odd
polynomials approximate by products alone (Amsel, Persson, Musco and Gower, "The Polar Express", 2025).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch

_LEAST = 1e-3
"""Down to this share of the norm of the gradient, singular values become ones; smaller ones grow by the same factor."""
_EXACT = 0.05
"""How far below one they may be then."""


@functools.cache
def odd_polynomials() -> tuple[tuple[float, float, float], ...]:
    """Coefficients of s, s^3 and s^5, of polynomials that bring [_LEAST, 1] into [1 - _EXACT, 1] one after the other.

    Each is the closest to one on the interval where the one before leaves singular values. The last is divided by its
    largest value, so that nothing becomes longer than one.
    """
    low, high, found = _LEAST, 1.0, []
    while low < (1.0 - _EXACT) * high:
        k, low, high = _closest_to_one(low, high)
        found.append(k)
    a, b, c = (float(v) / high for v in found.pop())
    return (*found, (a, b, c))


def _closest_to_one(low: float, high: float) -> tuple[tuple[float, float, float], float, float]:
    """The odd polynomial of degree five closest to one on an interval, and its least and its largest value there.

    Remez's exchange: the error is the same, with alternating signs, at both ends and at two points in between.
    """
    inner = np.array([0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high])
    while True:
        s = np.array([low, *inner, high])
        a, b, c, error = np.linalg.solve(np.stack([s, s**3, s**5, [1.0, -1.0, 1.0, -1.0]], axis=1), np.ones(4))
        root = np.sqrt(9 * b * b - 20 * a * c)
        before, inner = inner, np.sqrt((-3 * b + np.array([-root, root])) / (10 * c))
        if np.abs(inner - before).max() <= 1e-12 * high:
            return (float(a), float(b), float(c)), 1.0 - abs(float(error)), 1.0 + abs(float(error))


def isometry(Z: Any) -> Any:
    """Nearly the nearest partial isometry of each matrix of a stack, for matrices no longer than one."""
    wide = Z.shape[1] <= Z.shape[2]
    for a, b, c in odd_polynomials():
        C = torch.bmm(Z, Z.mT) if wide else torch.bmm(Z.mT, Z)
        P = torch.baddbmm(C, C, C, beta=b, alpha=c)
        Z = torch.baddbmm(Z, *((P, Z) if wide else (Z, P)), beta=a)
    return Z


def rates(shape: tuple[int, ...]) -> int:
    """How many singular values A and N have together that are not zero for every matrix of that shape."""
    p, n = min(shape[-2:]), max(shape[-2:])
    return max(2 * (p // 2) + min(p, n - p), 1)


def longest(shape: tuple[int, ...], excess: float) -> float:
    """How long a tangent step E may be, so that the root of the Frobenius norm of (E E')^2 is at most an excess.

    E E' is A A' + N N', and no spectral norm of A or N is above the length.
    """
    p, n = min(shape[-2:]), max(shape[-2:])
    return float((excess / ((1 + (n > p)) * p**0.25)) ** 0.5)


def steepest_step(X: Any, F: Any, step: Any, excess: float) -> Any:
    """The tangent E that minimises -<F, E> + r/(2 step) |E|^2 in the spectral norm, up to a length within reach.

    r is the number of :func:`rates`, so that r |E|^2 is at least the squared Frobenius norm.

    Parameters
    ----------
    X, F : tensors, shape (b, m, n)
        Orthonormal along the short side; any.
    step : tensor that broadcasts to (b, 1, 1)
    excess : float
        What (X - E)(X - E)' - I may be like.
    """
    if X.shape[1] > X.shape[2]:
        return steepest_step(X.mT, F.mT, step, excess).mT
    size = F.abs().amax(dim=(1, 2), keepdim=True)
    F = F / size.clamp_min(torch.finfo(F.dtype).tiny)  # a NaN or an infinity becomes NaN
    S = torch.bmm(F, X.mT)
    A = (S - S.mT) / 2
    N = torch.baddbmm(F, S, X, alpha=-1.0) if X.shape[1] < X.shape[2] else None
    length = torch.linalg.vector_norm(A, dim=(1, 2), keepdim=True)
    if N is not None:
        N = torch.baddbmm(N, torch.bmm(N, X.mT), X, alpha=-1.0)  # once more, for what the first left by rounding
        length = torch.hypot(length, torch.linalg.vector_norm(N, dim=(1, 2), keepdim=True))
    per = 1.0 / length.clamp_min(torch.finfo(F.dtype).tiny)
    U = isometry(A * per)
    U = (U - U.mT) / 2
    gain = (A * U).sum((1, 2), keepdim=True)
    E = torch.bmm(U, X)
    if N is not None:
        V = isometry(N * per)
        gain = gain + (N * V).sum((1, 2), keepdim=True)
        E = E.add_(V)
    # in this order nothing is not a number where the gain is zero and the rest overflows
    rate = gain / rates(X.shape) * step * size
    return E.mul_(rate.clamp_max(longest(X.shape, excess)))
