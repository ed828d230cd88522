"""Orthogonal dictionaries: orthonormal atoms in which the samples are sparse."""

from __future__ import annotations

from typing import Any

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.manifolds import Stiefel
from orthoprox.maps._base import as_data
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.problem import Problem
from orthoprox.terms import L1, ComposedConvex, ExplainedVariance, Huber, SmoothConvex

OBJECTIVES = ("l1", "l4", "codes")


def orthogonal_dictionary(Y: Any, *, n_components: int, objective: str = "l1", weight: float | None = None) -> Problem:
    r"""Orthonormal atoms, the columns of X, in which the samples have sparse coefficients YX.

    .. math::

        \text{l1:}\quad & \min_{X'X = I} \tfrac{1}{m} \|YX\|_1 \\
        \text{l4:}\quad & \max_{X'X = I} \tfrac{1}{4m} \|YX\|_4^4 \\
        \text{codes:}\quad & \min_{X'X = I,\, C} \tfrac{1}{2m} \|Y - CX'\|^2 + \tfrac{w}{m} \|C\|_1

    The first is the sharpest where the coefficients are exactly sparse, and nonsmooth. The second is smooth, and minus
    a convex function: linearising it gives the projected power iteration of Zhai et al. The third allows for noise of
    the size of w. Its codes need no loop of their own: for given atoms they are soft-thresholded coefficients, and
    with them put in it is

    .. math:: \tfrac{1}{2m} (\|Y\|^2 - \|YX\|^2) + \tfrac{1}{m} \sum_{ij} H_w((YX)_{ij})

    where ``H_w(t) = t^2/2`` up to w and ``w|t| - w^2/2`` beyond: the Huber function.

    Parameters
    ----------
    Y : array, SciPy sparse matrix, LinearOperator or LinearMap
        The data, m samples by n features.
    n_components : int
        The number r of atoms; n for a complete dictionary.
    objective : {"l1", "l4", "codes"}
    weight : float, optional
        The threshold w of "codes", in the units of the data; the others have none.

    References
    ----------
    J. Sun, Q. Qu, J. Wright, "Complete dictionary recovery over the sphere", IEEE Trans. Inf. Theory 63, 2017. Y. Bai,
    Q. Jiang, J. Sun, "Subgradient descent learns orthogonal dictionaries", ICLR 2019 (l1). Y. Zhai, Z. Yang, Z. Liao,
    J. Wright, Y. Ma, "Complete dictionary learning via l4-norm maximization over the orthogonal group", JMLR 21, 2020.
    C. Bao, J.-F. Cai, H. Ji, "Fast sparsity-based orthogonal dictionary learning for image restoration", ICCV 2013
    (codes and atoms).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import orthogonal_dictionary
    >>> C = np.repeat(np.eye(3), 4, axis=0)  # each sample uses one atom
    >>> atoms = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3
    >>> X = solve(orthogonal_dictionary(C @ atoms, n_components=3), seed=1).X
    >>> np.abs(atoms @ X).max(axis=0).round(4)
    array([1., 1., 1.])
    """
    B, m, n = as_data(Y, "Y")
    M = Stiefel(n, n_components)
    if objective not in OBJECTIVES:
        raise ValueError(f"objective must be one of {', '.join(OBJECTIVES)}; given {objective!r}.")
    if (weight is None) != (objective != "codes"):
        raise ValueError(f'weight belongs to objective = "codes", which needs it; given {weight} with {objective!r}.')
    if objective == "l1":
        return Problem.of(L1(1 / m) @ B, over=M)
    if objective == "l4":
        return Problem(M=M, g=ComposedConvex(SmoothConvex(_fourth_powers, _cubes), B, weight=1 / m))
    w = check_weight(weight, "the codes")
    if w == 0:
        raise ValueError("The weight of the codes must be positive: without it every dictionary is as good.")
    f = ExplainedVariance(B, weight=1 / m)
    return Problem.of(frobenius_squared(B) / (2 * m) + f + Huber(w, w / m) @ B, over=M)


def _fourth_powers(C: Array) -> Scalar:
    squares = C * C
    return array_namespace(C).sum(squares * squares) / 4


def _cubes(C: Array) -> Array:
    return C * C * C
