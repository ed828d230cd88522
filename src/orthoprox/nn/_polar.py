"""The polar factor of a matrix that is nearly orthonormal, for stacks of matrices and by products alone.

With the short side's Gram matrix C = I + E the factor is (I + E)^(-1/2) Y. A polynomial in E replaces the inverse
root. Two products have the size of Y, the others that of E; a Newton-Schulz step has two of the size of Y each time.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.polynomial import Chebyshev, Polynomial

_DEGREE = {torch.float32: 6, torch.float64: 16}
"""With so few products the range of E is wide enough for steps of any useful length."""
_TOLERANCE = {torch.float32: 1.2e-7, torch.float64: 1e-14}
"""The relative error of the polynomial: about a unit in the last place, or what powers of E leave of one."""


class Root(NamedTuple):
    """A polynomial that is (I + E)^(-1/2) to rounding, as long as the spectral norm of E is at most ``reach``."""

    coefficients: tuple[float, ...]
    reach: float


@functools.cache
def inverse_root(dtype: Any) -> Root:
    """The polynomial for a float type, and how far it reaches.

    The reach is the largest radius at which the polynomial, relative to the root, keeps to its tolerance: the error of
    orthonormality is then twice that, besides the rounding of the products.
    """
    degree, low, high = _DEGREE[dtype], 0.01, 0.9
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _error(degree, middle) <= _TOLERANCE[dtype] else (low, middle)
    return Root(tuple(float(c) for c in _polynomial(degree, low).coef), low)


def _polynomial(degree: int, radius: float) -> Any:
    """The polynomial that interpolates the inverse root on an interval; of high degree the Taylor polynomial.

    Interpolation reaches nearly twice as far, but the powers of x of high degree would have coefficients of 1e20.
    """
    if degree > 8:
        return Polynomial(np.cumprod([1.0, *((0.5 - k) / k for k in range(1, degree + 1))]))
    return Chebyshev.interpolate(lambda x: (1 + x) ** -0.5, degree, [-radius, radius]).convert(kind=Polynomial)


def _error(degree: int, radius: float) -> float:
    x = radius * np.cos(np.linspace(0, math.pi, 400))
    return float(np.abs(_polynomial(degree, radius)(x) * np.sqrt(1 + x) - 1).max())


class Factor(NamedTuple):
    """What :func:`polar_near` found."""

    X: Any
    """The polar factors; meaningless where ``excess`` is not at most the reach."""
    excess: Any
    """An upper bound of the spectral norm of E, one for each matrix; NaN where the input is not finite."""


def polar_near(Y: Any) -> Factor:
    """The polar factors of a stack of matrices, all nearly orthonormal along their short side.

    Parameters
    ----------
    Y : tensor, shape (b, m, n)

    Examples
    --------
    >>> import torch
    >>> from orthoprox.nn._polar import polar_near
    >>> found = polar_near(torch.tensor([[[1.1, 0.0, 0.0], [0.0, 0.0, 0.9]]]))
    >>> found.X.round(decimals=5)
    tensor([[[1., 0., 0.],
             [0., 0., 1.]]])
    """
    a = inverse_root(Y.dtype).coefficients
    wide = Y.shape[1] <= Y.shape[2]
    E = torch.bmm(Y, Y.mT) if wide else torch.bmm(Y.mT, Y)
    E.diagonal(dim1=1, dim2=2).sub_(1.0)
    square = torch.bmm(E, E)
    # The spectral norm of E^2, which is the square of that of E, is at most its Frobenius norm.
    excess = torch.linalg.vector_norm(square, dim=(1, 2)).sqrt_()
    Q = _without_constant(a, E, square)
    X = torch.baddbmm(Y, Q, Y, beta=a[0]) if wide else torch.baddbmm(Y, Y, Q, beta=a[0])
    return Factor(X, excess)


def _without_constant(a: tuple[float, ...], E: Any, square: Any) -> Any:
    """a[1] E + a[2] E^2 + ..., by Paterson and Stockmeyer's scheme: Horner's, in powers of E^2."""
    if len(a) > 7:
        return _in_fourth_powers(a, E, square)
    P = torch.add(a[5] * E, square, alpha=a[6])
    P.diagonal(dim1=1, dim2=2).add_(a[4])
    P = torch.baddbmm(E, square, P, beta=a[3])
    P.diagonal(dim1=1, dim2=2).add_(a[2])
    return torch.baddbmm(E, square, P, beta=a[1])


def _in_fourth_powers(a: tuple[float, ...], E: Any, square: Any) -> Any:
    cube, fourth = torch.bmm(E, square), torch.bmm(square, square)

    def block(k: int) -> Any:
        part = torch.add(a[k + 1] * E, square, alpha=a[k + 2]).add_(cube, alpha=a[k + 3])
        if k > 0:
            part.diagonal(dim1=1, dim2=2).add_(a[k])
        return part

    P = block(12).add_(fourth, alpha=a[16])
    for k in (8, 4, 0):
        P = torch.baddbmm(block(k), fourth, P)
    return P


def infeasibility(X: Any) -> Any:
    """The largest entry of |X X' - I| on the short side, one for each matrix of a stack."""
    E = torch.bmm(X, X.mT) if X.shape[1] <= X.shape[2] else torch.bmm(X.mT, X)
    E.diagonal(dim1=1, dim2=2).sub_(1.0)
    return E.abs().amax(dim=(1, 2))


def nearest(Y: Any, name: str) -> Any:
    """The polar factors of any stack of full rank, by singular values in float64; a sentence for others."""
    wide = Y.double()
    if not bool(torch.isfinite(wide).all()):
        raise ValueError(f"{name} has NaN or infinite entries; an orthogonal weight starts from finite ones.")
    U, sizes, Vt = torch.linalg.svd(wide, full_matrices=False)
    least, most = sizes[:, -1], sizes[:, 0]
    deficient = least <= max(Y.shape[1:]) * torch.finfo(Y.dtype).eps * most
    if bool(deficient.any()):
        which = int(deficient.nonzero()[0, 0])
        where = f" (its matrix {which})" if Y.shape[0] > 1 else ""
        raise ValueError(
            f"{name} has not full rank{where}, so no orthonormal matrix is nearest to it; initialise it otherwise, "
            "or pass init='random'."
        )
    return torch.bmm(U, Vt).to(Y.dtype)
