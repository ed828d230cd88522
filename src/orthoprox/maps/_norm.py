"""Upper bounds on the spectral norm of a map that is known by its products."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps._host import identity_blocks

EXACT = 512
"""Up to this many rows or columns the norm is exact."""
STEPS = 50
"""Lanczos steps for larger maps."""
RISK = 1e-8
"""The probability that the bound for a larger map is too small."""

_STARTS, _PASSES = 16, 12  # of Lanczos runs side by side, where a product is a pass over the data

_Product = Callable[[Array], Array]


def norm_bound(
    apply: _Product, adjoint: _Product, m: int, n: int, like: Array, ceiling: Callable[[], float] | None = None
) -> float:
    r"""An upper bound on the largest singular value of a linear map from n to m dimensions.

    When the shorter side has at most 512 entries, the Gram matrix of that side is formed and its largest
    eigenvalue is the squared norm, raised by a bound on the rounding errors.

    For larger maps 50 Lanczos steps on the Gram operator, with full reorthogonalisation and from a random
    start, give a value :math:`\theta` not above the largest eigenvalue :math:`\lambda`. For a start drawn
    evenly from the sphere in :math:`d` dimensions and :math:`k` steps, with any spectrum,

    .. math:: P[\lambda > \theta / (1 - \varepsilon)] \le 1.648 \sqrt{d} \, e^{-\sqrt{\varepsilon} (2k - 1)}

    [1]_. The :math:`\varepsilon` that makes the right-hand side 1e-8 raises the norm by about three per
    cent. Where a bound that always holds is cheap, the smaller of the two is taken.

    Parameters
    ----------
    apply, adjoint : callable
        The map and its adjoint, on matrices with any number of columns.
    m, n : int
        The numbers of rows of what they return.
    like : array
        An array of the library, device and float type to work in.
    ceiling : callable, optional
        Returns a bound that always holds; asked only for larger maps.

    Returns
    -------
    float
        Never below the norm, and 0.0 for the zero map.

    References
    ----------
    .. [1] J. Kuczynski, H. Wozniakowski, "Estimating the largest eigenvalue by the power and Lanczos
       algorithms with a random start", SIAM J. Matrix Anal. Appl. 13 (1992), Theorem 4.2.
    """
    # One product with a random vector gives the size of things, so that no square over- or underflows.
    scale = _largest(apply(_start(n, like)))
    if not math.isfinite(scale):
        raise ValueError(
            "A product with the map gave NaN or infinite values, so its norm has no bound. Check or rescale the map."
        )
    if scale == 0.0:
        return 0.0
    inner, outer = (apply, adjoint) if n <= m else (adjoint, apply)
    short, long = min(m, n), max(m, n)

    def gram(V: Array) -> Array:
        return outer(inner(V) / scale) / scale

    if short <= EXACT:
        return scale * _exact(gram, short, long, like)
    bound = scale * _lanczos_bound(gram, short, like)
    return bound if ceiling is None else min(bound, ceiling())


def _exact(gram: _Product, short: int, long: int, like: Array) -> float:
    """The root of the largest eigenvalue, rounding included."""
    xp = array_namespace(like)
    S = xp.concat([gram(E) for E in identity_blocks(short, long, like)], axis=1)
    top = max(float(xp.max(xp.linalg.eigvalsh((S + S.T) / 2))), 0.0)
    return math.sqrt(top * rounding(backend_of(like).eps(like), short, long))


def rounding(eps: float, short: int, long: int) -> float:
    """A factor above what rounding can take from the largest eigenvalue of a computed Gram matrix.

    The eigenvalues cost about ``short`` units in the last place. Errors in sums of ``long`` numbers grow like the
    root of their number, and the norm of a matrix of such errors like the root of its size.
    """
    return 1.0 + 8.0 * eps * (short + math.sqrt(short * long))


def _lanczos_bound(gram: _Product, size: int, like: Array) -> float:
    """The root of the largest Ritz value after 50 steps, raised as the reference allows."""
    theta = _largest_ritz_value(gram, _start(size, like), STEPS)
    root_eps = math.log(1.648 * math.sqrt(size) / RISK) / (2 * STEPS - 1)
    return math.sqrt(theta / (1.0 - root_eps**2))


def norm_in_passes(gram: _Product, size: int, ceiling: float) -> float:
    """An upper bound on the norm from few products with A'A, each of which may have many columns.

    Several Lanczos runs from independent starts go side by side, and all have to fail for the bound to fail: with
    probability p each, p to their number together. So each may take a risk of 0.3, and twelve steps are enough.

    Parameters
    ----------
    gram : callable
        X -> A'(A X), of NumPy arrays.
    size : int
        The rows of X.
    ceiling : float
        A bound that always holds, such as the Frobenius norm.
    """
    if ceiling == 0.0:
        return 0.0
    starts = np.random.default_rng(size).standard_normal((size, _STARTS))
    theta = _side_by_side(lambda V: gram(V / ceiling) / ceiling, starts / np.linalg.norm(starts, axis=0))
    root_eps = math.log(1.648 * math.sqrt(size) / RISK ** (1 / _STARTS)) / (2 * _PASSES - 1)
    if root_eps >= 1:
        return ceiling
    return ceiling * min(1.0, math.sqrt(theta / (1.0 - root_eps**2)))


def _side_by_side(gram: _Product, Q: Any) -> float:
    """The largest Ritz value of several Lanczos runs, which share each product."""
    bases = [[Q[:, j : j + 1]] for j in range(Q.shape[1])]
    images: list[list[Any]] = [[] for _ in bases]
    for step in range(min(_PASSES, len(Q))):
        W = gram(np.concatenate([basis[-1] for basis in bases], axis=1))
        for j, (basis, image) in enumerate(zip(bases, images, strict=True)):
            if len(image) < step:  # its Krylov space is complete
                continue
            image.append(W[:, j : j + 1])
            found = _new_direction(W[:, j : j + 1], np.concatenate(basis, axis=1))
            if found is not None:
                basis.append(found[0])
    top = 0.0
    for basis, image in zip(bases, images, strict=True):
        V, W = np.concatenate(basis[: len(image)], axis=1), np.concatenate(image, axis=1)
        T = V.T @ W
        top = max(top, float(np.linalg.eigvalsh((T + T.T) / 2)[-1]))
    return top


def _largest_ritz_value(gram: _Product, start: Array, steps: int) -> float:
    """The largest eigenvalue of the Gram operator on a Krylov space."""
    xp = array_namespace(start)
    Q = start / _length(start)
    q, diagonal, off_diagonal = Q, [], []
    while True:
        w = gram(q)
        diagonal.append(float(xp.sum(q * w)))
        if len(diagonal) == steps:
            break
        found = _new_direction(w, Q)
        if found is None:  # the Krylov space is complete
            break
        q, length = found
        off_diagonal.append(length)
        Q = xp.concat([Q, q], axis=1)
    T = np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    return max(float(np.linalg.eigvalsh(T)[-1]), 0.0)


def _new_direction(w: Array, Q: Array) -> tuple[Array, float] | None:
    """The direction of w that is not in the space of Q, and the length of w along it; None if there is none.

    What is left of w may be rounding alone. Only a direction that stays as long when Q is taken out of it once
    more is orthogonal to Q, and without that the Ritz values would be too large.
    """
    length = 1.0
    for turn in range(5):
        w = w - Q @ (Q.T @ w)
        left = _length(w)
        if left == 0.0:
            return None
        w, length = w / left, length * left
        if turn > 0 and left > 0.7:
            return w, length
    return None


def _start(size: int, like: Array) -> Array:
    """A random direction, the same for the same size."""
    return backend_of(like).from_numpy(np.random.default_rng(size).standard_normal((size, 1)), like)


def _largest(a: Array) -> float:
    xp = array_namespace(a)
    return float(xp.max(xp.abs(a)))


def _length(v: Array) -> float:
    xp = array_namespace(v)
    return math.sqrt(float(xp.sum(v * v)))


def entry_bound(top: float, squares: float, row: float, column: float, terms: int, eps: float) -> float:
    """The smaller of the Frobenius norm and sqrt(largest row sum * largest column sum) of absolute values.

    The sums are those of the entries divided by the largest one, ``top``; the longest has ``terms`` terms.
    """
    return top * math.sqrt(min(squares, row * column)) * (1.0 + 8.0 * eps * math.sqrt(terms))


def check_norm(norm: Any, owner: str) -> float:
    """A norm that the caller gave, as a float."""
    try:
        value = float(norm)
    except (TypeError, ValueError):
        raise TypeError(f"The norm of {owner} must be a number; given {norm!r}.") from None
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"The norm of {owner} must be finite and not negative; given {value}.")
    return value


def check_square(norm: float, like: Array, what: str) -> None:
    """Refuse a norm whose square overflows or underflows."""
    info = array_namespace(like).finfo(like.dtype)
    low, high = (math.sqrt(float(bound)) for bound in (info.smallest_normal, info.max))
    if norm != 0 and not low <= norm <= high:
        raise ValueError(
            f"The squares of {what} leave the range of {like.dtype}: the norm is {norm:.3g}, and must lie between "
            f"{low:.0e} and {high:.0e}. Divide by a constant, for instance by 2.0**{round(math.log2(norm))}."
        )
