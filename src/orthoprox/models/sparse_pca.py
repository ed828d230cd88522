"""Sparse principal components (equation (7) of the paper)."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from orthoprox._checks import checked_weight
from orthoprox.manifolds import Stiefel
from orthoprox.maps import LinearMap, Matrix, as_map
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.problem import Problem
from orthoprox.terms import L1, ExplainedVariance, LargestK


def sparse_pca(D: Any, *, n_components: int, weight: float, k: int | None = None) -> Problem:
    r"""Principal components with few nonzero loadings.

    .. math:: \min_{X'X = I} \tfrac{1}{2m} (\|D\|^2 - \|DX\|^2) + w (\|X\|_1 - \|X\|_{[k]})

    The first part is the reconstruction error of the paper, which is not Lipschitz-smooth off the
    manifold, in the form that agrees with it there. Without k it is the plain l1 penalty; with k, the
    k largest entries are free, and for a weight that is large enough at most k entries are nonzero.

    Parameters
    ----------
    D : array, SciPy sparse matrix, LinearOperator or LinearMap
        The data, m samples by n features, already prepared (scaled and centred as you wish;
        ``orthoprox.maps.Centred(D)`` centres without forming the centred matrix).
    n_components : int
        The number r of components.
    weight : float
        The factor w of the penalty.
    k : int, optional
        How many entries of X go unpenalised.

    References
    ----------
    J. Gotoh, A. Takeda, K. Tono, "DC formulations and algorithms for sparse optimization problems",
    Math. Program. 169, 2018 (the l1 minus largest-k penalty).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import sparse_pca
    >>> problem = sparse_pca(np.eye(4), n_components=2, weight=0.1, k=3)
    >>> problem.M
    Stiefel(n=4, r=2)
    """
    B = as_map(D, "D")
    if B.columns is None:
        raise ValueError(f"D must be data with a known number of features; given a map of any size, {B}.")
    n = B.columns
    m = B.rows(n)
    w = checked_weight(weight, "the penalty")
    M = Stiefel(n, n_components)
    f = ExplainedVariance(B, weight=1 / m)
    penalty = L1(w) if k is None else L1(w) - LargestK(k, w)
    return Problem.of(frobenius_squared(B) / (2 * m) + f + penalty, over=M, notes=_notes(B, n))


def _notes(B: LinearMap, n: int) -> tuple[str, ...]:
    """What a look at the columns tells."""
    if not isinstance(B, Matrix):
        return ()
    xp = array_namespace(B.B)
    empty = int(xp.count_nonzero(xp.all(B.B == 0, axis=0)))
    return (f"{empty} of the {n} columns of D are zero: they carry no variance and may be dropped",) if empty else ()
