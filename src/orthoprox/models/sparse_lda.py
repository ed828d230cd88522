"""Sparse discriminant directions by the maximum margin criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj

from orthoprox._checks import check_weight
from orthoprox._fields import require
from orthoprox.backends import backend_of
from orthoprox.manifolds import Stiefel
from orthoprox.maps import Centred, Matrix
from orthoprox.maps._base import as_data
from orthoprox.maps._host import like_of
from orthoprox.problem import Problem
from orthoprox.terms import L1, ExplainedVariance, LeastSquares


def sparse_lda(D: Any, y: Any, *, n_components: int, weight: float, margin: float = 1.0) -> Problem:
    r"""Orthonormal directions with few nonzeros that hold classes together and keep them apart.

    .. math:: \min_{X'X = I} \tfrac12 \operatorname{tr} X'(S_w - c S_b)X + w \|X\|_1

    :math:`S_w` is the covariance within classes, :math:`S_b` that of the class means, both divided by the number of
    samples. It is the maximum margin criterion, the difference where Fisher's criterion is a quotient: nothing is
    inverted, so there may be fewer samples than features, and one block of orthonormal columns is all there is.

    The covariance of all samples is :math:`S_t = S_w + S_b`, so the smooth part is
    :math:`\tfrac12 \operatorname{tr} X'(S_t - (1 + c) S_b)X`: products with the centred samples and with one row for
    each class. No n-by-n matrix is needed and sparse samples stay sparse.

    At most as many directions as there are classes less one have anything of :math:`S_b`; further ones are directions
    of small variance within classes.

    Sparse canonical correlation analysis is not here: it has a pair of matrices, :math:`X'S_{xx}X = I` and
    :math:`Z'S_{zz}Z = I`, with a constraint each. Stacked into one matrix with orthonormal columns they would be bound
    together by one constraint, which lets one of the two vanish: another problem.

    Parameters
    ----------
    D : array, SciPy sparse matrix, LinearOperator or LinearMap
        The samples as rows, m by n; centred here.
    y : sequence of labels, length m
        The class of every sample; at least two classes.
    n_components : int
        The number of directions.
    weight : float
        The factor w of the penalty.
    margin : float
        The factor c of the covariance of the means; not negative.

    References
    ----------
    H. Li, T. Jiang, K. Zhang, "Efficient and robust feature extraction by maximum margin criterion", IEEE Trans.
    Neural Networks 17, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import sparse_lda
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["a", "b"], 50)
    >>> D = rng.standard_normal((100, 6)) + np.outer(np.where(y == "a", 3.0, -3.0), [0.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> result = solve(sparse_lda(D, y, n_components=1, weight=1.0))
    >>> np.flatnonzero(result.y[:, 0])  # the second feature separates the classes
    array([1])
    """
    B, m, n = as_data(D, "D")
    indicators = _indicators(y, m)
    M = Stiefel(n, n_components)
    w, c = check_weight(weight, "the penalty"), check_weight(margin, "the class means (margin)")
    T = Centred(B)
    like = like_of(B)
    # A row sqrt(m_k / m) (mean_k - mean)' for each class k: S_b is the Gram matrix of these.
    means = T.adjoint(backend_of(like).from_numpy(indicators / np.sqrt(m * indicators.sum(axis=0)), like))
    return Problem.of(LeastSquares(T, weight=1 / m) + ExplainedVariance(Matrix(means.T), weight=1 + c) + L1(w), over=M)


def _indicators(y: Any, m: int) -> np.ndarray[Any, Any]:
    """The class indicator matrix: a column of zeros and ones for each class."""
    labels = backend_of(y).to_numpy(y) if is_array_api_obj(y) else np.asarray(y)
    require(labels.shape == (m,), f"y must have one label for each of the {m} samples; given shape {labels.shape}.")
    require(
        labels.dtype.kind != "f" or bool(np.all(np.isfinite(labels))),
        "y must hold labels; given some that are NaN or infinite. Drop those samples first.",
    )
    classes, number = np.unique(labels, return_inverse=True)
    require(len(classes) > 1, f"Discriminant directions need at least two classes; given {len(classes)}.")
    return np.eye(len(classes))[number]
