"""Nonnegative principal components."""

from __future__ import annotations

from typing import Any

from orthoprox._checks import check_weight
from orthoprox.manifolds import Stiefel
from orthoprox.maps._base import as_data
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.problem import Problem
from orthoprox.terms import ExplainedVariance, NegativePart, Nonnegative


def nonnegative_pca(D: Any, *, n_components: int, weight: float | None = None) -> Problem:
    r"""Principal components whose loadings are not negative.

    .. math:: \min_{X'X = I,\ X \ge 0} \tfrac{1}{2m} (\|D\|^2 - \|DX\|^2)

    Columns that are nonnegative and orthogonal have no nonzero row in common, so each feature belongs to one component
    at most: components are groups of features that rise and fall together.

    Without a weight the constraint is kept exactly, which ``Assignment()`` and ``obcd`` do. With a weight w it is
    replaced by the penalty w times the sum of the negative parts, which every solver takes. If w is large enough, and
    no best X has a row of zeros, both problems have the same best X (Qian, Pan, Xiao); how large is not known, and
    solvers find local minima only. So a solution of the penalised problem is a start for the exact one.

    Parameters
    ----------
    D : array, SciPy sparse matrix, LinearOperator or LinearMap
        The data, m samples by n features, already prepared (``orthoprox.maps.Centred(D)`` centres without forming
        the centred matrix).
    n_components : int
        The number r of components.
    weight : float, optional
        The factor of the penalty, if there is to be one.

    References
    ----------
    R. Zass, A. Shashua, "Nonnegative sparse PCA", NIPS 2006 (the model).

    B. Jiang, X. Meng, Z. Wen, X. Chen, "An exact penalty approach for optimization with nonnegative orthogonality
    constraints", Math. Program. 198, 2023, and Y. Qian, S. Pan, L. Xiao, "Error bound and exact penalty method for
    optimization problems with nonnegative orthogonal constraint", IMA J. Numer. Anal. 44, 2024 (penalties).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import nonnegative_pca
    >>> from orthoprox.solvers import Assignment
    >>> rng = np.random.default_rng(0)
    >>> D = rng.standard_normal((50, 2)) @ np.array([[1.0, 1, 0, 0], [0, 0, 1, 1]])
    >>> X = solve(nonnegative_pca(D, n_components=2), Assignment(), seed=1).X
    >>> (X > 0).sum(axis=1), bool((X >= 0).all())
    (array([1, 1, 1, 1]), True)
    """
    B, m, n = as_data(D, "D")
    sign = Nonnegative() if weight is None else NegativePart(check_weight(weight, "the penalty"))
    f = ExplainedVariance(B, weight=1 / m)
    return Problem.of(frobenius_squared(B) / (2 * m) + f + sign, over=Stiefel(n, n_components))
