"""Independent components of bounded sources, by the range of their order statistics."""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import device

from orthoprox._checks import check_matrix
from orthoprox._linalg import norm
from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.manifolds import Stiefel
from orthoprox.maps import LinearMap
from orthoprox.maps._base import as_data
from orthoprox.maps._host import like_of
from orthoprox.problem import Problem
from orthoprox.terms import ColumnRange

_ROUNDS = 5


def range_ica(Z: Any, *, n_components: int, order: int = 1) -> Problem:
    r"""Independent components of bounded sources: the directions in which white data have the smallest range.

    .. math:: \min_{X'X = I} \sum_j R_k(Z x_j)

    where R_k is the mean of the k largest entries minus that of the k smallest.

    Why that separates: let ``z = Q s`` with Q orthogonal and the sources s independent and bounded, and write
    ``W = Q'X``. The range of a sum of independent variables is the sum of their ranges, so for infinitely many samples
    the objective is ``sum_ij |W_ij| R(s_i)``. The entries of the orthogonal W are at most one in magnitude, so it is
    at least ``sum_i R(s_i) sum_j W_ij^2 = sum_i R(s_i)``, with equality exactly if all entries are 0 or +-1: the
    minimisers are the sources up to order and sign. Averaging k order statistics instead of taking one makes it
    robust against noise in the extremes.

    The objective is convex and polyhedral before X'X = I comes in; all of it is h, a
    :class:`~orthoprox.terms.ColumnRange`, behind the linear map Z.

    Parameters
    ----------
    Z : array, SciPy sparse matrix, LinearOperator or LinearMap
        White data, m samples by n: ``Z'Z/m = I`` and columns of mean zero. A note says so if they are not white.
    n_components : int
        The number r of sources; n for all of them.
    order : int
        The number k of order statistics averaged at either end; at most m/2.

    References
    ----------
    F. Vrins, J. A. Lee, M. Verleysen, "A minimum-range approach to blind extraction of bounded sources", IEEE Trans.
    Neural Netw. 18, 2007. S. E. Selvan, S. T. George, R. Balakrishnan, "Range-based ICA using a nonsmooth quasi-Newton
    optimizer for electroencephalographic source localization in focal epilepsy", Neural Comput. 27, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import range_ica
    >>> s = np.linspace(-1, 1, 20)
    >>> S = np.stack(np.meshgrid(s, s), axis=-1).reshape(-1, 2) / np.std(s)  # two independent bounded sources
    >>> Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    >>> X = solve(range_ica(S @ Q.T, n_components=2), seed=1).X
    >>> np.abs(Q.T @ X).round(3) @ [1, 2] % 3 == [1, 2]  # a permutation
    array([ True,  True])
    """
    A, m, n = as_data(Z, "Z")
    h = ColumnRange(order)
    if 2 * h.k > m:
        raise ValueError(
            f"order must be at most half the number of samples, so that the two ends share none; given {h.k} and "
            f"{m} samples."
        )
    return Problem.of(h @ A, over=Stiefel(n, n_components), notes=_notes(A, m))


def _notes(A: LinearMap, m: int) -> tuple[str, ...]:
    """Whether the data are white."""
    like, n = like_of(A), int(A.columns or 0)
    eye = array_namespace(like).eye(n, dtype=like.dtype, device=device(like))
    off = float(norm(A.adjoint(A(eye)) / m - eye)) / math.sqrt(n)
    return (f"Z is not white: Z'Z/m is {off:.2g} from the identity; whiten it first",) if off > 1e-2 else ()


def least_range(Y: Array, *, order: int = 1, tol: float = 3e-4, steps: int = 300) -> Array:
    r"""Sources with the smallest ranges, no longer held to be uncorrelated in the sample.

    Independent sources are correlated in a sample, by about :math:`1/\sqrt m`. Components of white data cannot be,
    which limits every method that whitens. The range itself can be known to about 1/m; so from sources Y that are
    nearly separated this goes on without the constraint, on the contrast

    .. math:: \min_T \sum_j \log R_k(Y t_j) - \log |\det T|

    In a round every column is replaced by the one of smallest range among ``t_j`` with ``t_jj = 1``, a convex problem
    that is solved for all columns at once by ADMM. To first order the determinant does not change, so this is a
    direction of descent; it is halved until the contrast falls, and the rounds end when it does not.

    Parameters
    ----------
    Y : array, shape (m, r)
        Sources nearly separated, more samples than sources.
    order : int
        The number k of order statistics at either end.
    tol : float
        Accuracy of the sources, relative; rounds end when the contrast falls by less.
    steps : int
        Iterations in a round, at most.

    Returns
    -------
    T : array, shape (r, r)
        ``Y @ T`` has the refined sources as columns.

    References
    ----------
    D.-T. Pham, "Blind separation of instantaneous mixture of sources based on order statistics", IEEE Trans. Signal
    Process. 48, 2000 (the contrast). J.-F. Cardoso, "On the performance of orthogonal source separation algorithms",
    EUSIPCO 1994 (the limit set by whitening).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import amari_index, least_range
    >>> S = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> P = np.array([[1.0, 0.03], [-0.02, 1.0]])
    >>> bool(amari_index(P @ least_range(S @ P)) < 0.1 * amari_index(P))
    True
    """
    check_matrix(Y, "Y")
    xp, h = array_namespace(Y), ColumnRange(order)
    m, r = Y.shape
    if m <= r:
        raise ValueError(f"Y must have more samples than sources; given {m} and {r}.")
    scale = xp.linalg.matrix_norm(Y, ord=-2), xp.linalg.matrix_norm(Y, ord=2)
    if not bool(scale[0] > 8 * m * backend_of(Y).eps(Y) * scale[1]):
        raise ValueError("The columns of Y are linearly dependent: these are not separate sources.")
    T = xp.eye(r, dtype=Y.dtype, device=device(Y))
    value = _contrast(h, Y, T)
    for _ in range(_ROUNDS if r > 1 else 0):
        E = T @ _shears(h, Y @ T, tol, steps)
        length = next((t for t in (1.0, 0.5, 0.25, 0.125) if _contrast(h, Y, T + t * E) < value), 0.0)
        gain = value - _contrast(h, Y, T + length * E)
        T, value = T + length * E, value - gain
        if gain < tol:
            break
    return T


def _contrast(h: ColumnRange, Y: Array, T: Array) -> float:
    xp = array_namespace(Y)
    S = Y @ T
    ranges = [float(h.value(S[:, j : j + 1])) for j in range(S.shape[1])]
    if min(ranges) <= 0:
        return math.inf
    return float(sum(math.log(size) for size in ranges)) - float(xp.linalg.slogdet(T)[1])


def _shears(h: ColumnRange, Y: Array, tol: float, steps: int) -> Array:
    """E with zero diagonal that makes the range of each column of Y + Y E smaller; ADMM with y = Y + Y E."""
    xp = array_namespace(Y)
    m, r = Y.shape
    C = xp.linalg.inv(Y.T @ Y)
    diagonal = xp.eye(r, dtype=Y.dtype, device=device(Y))
    own = xp.sum(C * diagonal, axis=0, keepdims=True)
    beta = 10 * h.lipschitz_constant((m, r)) / float(norm(Y))
    enough = tol * float(norm(Y))
    S, z = Y, 0.0 * Y
    for _ in range(steps):
        y = h.prox(S + z / beta, 1 / beta)
        z = z + beta * (S - y)
        # Least squares of what is missing on the other columns: all of them, less the share of the own.
        G = C @ (Y.T @ (y - z / beta - Y))
        E = G - C * (xp.sum(G * diagonal, axis=0, keepdims=True) / own)
        S_prev, S = S, Y + Y @ E
        if float(norm(S - y)) <= enough and float(norm(S - S_prev)) <= enough:
            break
    return E


def amari_index(P: Array) -> float:
    """How far a square matrix is from a scaled permutation: 0 if it is one, 1 if all entries have one magnitude.

    For sources that were mixed by ``mixing`` and unmixed by ``components``, ``P = components @ mixing``.

    Parameters
    ----------
    P : array, shape (r, r)

    References
    ----------
    S. Amari, A. Cichocki, H. H. Yang, "A new learning algorithm for blind signal separation", NIPS 8, 1996.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import amari_index
    >>> amari_index(np.array([[0.0, -3.0], [0.5, 0.0]])), amari_index(np.ones((4, 4)))
    (0.0, 1.0)
    """
    check_matrix(P, "P")
    xp, (r, c) = array_namespace(P), P.shape
    size = xp.abs(P)
    if r != c or r < 2:
        raise ValueError(f"P must be square, with at least two rows; given shape {(r, c)}.")
    rows, columns = xp.max(size, axis=1, keepdims=True), xp.max(size, axis=0, keepdims=True)
    if not bool(xp.all(rows > 0)) or not bool(xp.all(columns > 0)):
        raise ValueError("A row or a column of P is zero: a source is lost, and the index says nothing.")
    excess = float(xp.sum(size / rows)) + float(xp.sum(size / columns)) - 2 * int(r)
    return excess / (2 * int(r) * (int(r) - 1))
