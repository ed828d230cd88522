"""Orthogonal nonnegative matrix factorisation."""

from __future__ import annotations

from typing import Any

from orthoprox._namespace import array_namespace
from orthoprox.maps import LinearMap, as_map
from orthoprox.maps.operator import is_operator
from orthoprox.maps.sparse import is_sparse
from orthoprox.models.nonnegative_pca import nonnegative_pca
from orthoprox.problem import Problem


def orthogonal_nmf(X: Any, *, n_components: int, weight: float | None = None) -> Problem:
    r"""Nonnegative data as W H with few columns in W, which are nonnegative and orthonormal.

    .. math:: \min_{W'W = I,\ W \ge 0} \tfrac{1}{2n} \|X - WW'X\|^2

    The other factor is best as H = W'X, which is nonnegative by itself. Each sample has at most one nonzero entry in
    its row of W: it is a multiple of one row of H, so the factorisation is a clustering by direction, a spherical
    k-means in which long samples weigh more (Pompili et al.). The problem is nonnegative PCA of the transposed data,
    without centring; the n features take the place of samples.

    Parameters
    ----------
    X : array or SciPy sparse matrix
        The data, m samples by n features, none of them negative.
    n_components : int
        The number r of columns of W, at most m.
    weight : float, optional
        The factor of a penalty on negative entries of W in place of the constraint; see ``nonnegative_pca``.

    References
    ----------
    C. Ding, T. Li, W. Peng, H. Park, "Orthogonal nonnegative matrix tri-factorizations for clustering", KDD 2006.

    F. Pompili, N. Gillis, P.-A. Absil, F. Glineur, "Two algorithms for orthogonal nonnegative matrix factorization
    with application to clustering", Neurocomputing 141, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import orthogonal_nmf
    >>> from orthoprox.solvers import Assignment
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 3.0]])
    >>> result = solve(orthogonal_nmf(X, n_components=2), Assignment(), seed=2)
    >>> W = result.X
    >>> bool(np.allclose(W @ W.T @ X, X)), bool(abs(result.objective) < 1e-12)
    (True, True)
    """
    if isinstance(X, LinearMap) or is_operator(X):
        raise TypeError(
            f"X must be an array or a SciPy sparse matrix, whose entries can be seen not to be negative; given "
            f"{type(X).__name__}. For other data use nonnegative_pca on their transpose."
        )
    Xt = as_map(X.T if hasattr(X, "T") else X, "X")
    entries = Xt.B.data if is_sparse(X) else Xt.B  # type: ignore[attr-defined]
    negative = int(array_namespace(entries).count_nonzero(entries < 0))
    if negative:
        raise ValueError(
            f"X must not be negative; given {negative} negative entries. Clip or shift them, or use nonnegative_pca."
        )
    return nonnegative_pca(Xt, n_components=n_components, weight=weight)
