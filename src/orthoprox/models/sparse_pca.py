"""Sparse principal components (equation (7) of the paper)."""

from __future__ import annotations

import math
from typing import Any

from orthoprox._checks import check_weight
from orthoprox._namespace import array_namespace
from orthoprox.manifolds import Stiefel
from orthoprox.maps import LinearMap, Matrix
from orthoprox.maps._base import as_data
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.problem import Problem
from orthoprox.terms import L1, MCP, SCAD, ExplainedVariance, Expression, GroupL2, LargestK, Term

PENALTIES = ("l1", "mcp", "scad", "group")


def sparse_pca(
    D: Any,
    *,
    n_components: int,
    weight: float,
    penalty: str = "l1",
    k: int | None = None,
    gamma: float | None = None,
    a: float | None = None,
) -> Problem:
    r"""Principal components with few nonzero loadings.

    .. math:: \min_{X'X = I} \tfrac{1}{2m} (\|D\|^2 - \|DX\|^2) + p(X)

    The first part is the reconstruction error of the paper, which is not Lipschitz-smooth off the
    manifold, in the form that agrees with it there. The penalties rise with slope w at zero:

    - ``"l1"``: :math:`w \|X\|_1`; with k, :math:`w (\|X\|_1 - \|X\|_{[k]})`: the k largest entries are free,
      and for a weight that is large enough at most k entries are nonzero;
    - ``"mcp"`` and ``"scad"``: like l1 for small entries and constant for large ones, which therefore are not
      shrunk. The unit is :math:`u = 1/\sqrt{n}`, the root mean square of the entries of an orthonormal X:
      the penalties are constant beyond ``gamma`` u and ``a`` u, and the scale of the data plays no part;
    - ``"group"``: :math:`w \sum_i \|x_i\|_2` over the rows of X, so that a feature takes part in all
      components or in none.

    Parameters
    ----------
    D : array, SciPy sparse matrix, LinearOperator or LinearMap
        The data, m samples by n features, already prepared (scaled and centred as you wish;
        ``orthoprox.maps.Centred(D)`` centres without forming the centred matrix).
    n_components : int
        The number r of components.
    weight : float
        The factor w of the penalty.
    penalty : {"l1", "mcp", "scad", "group"}
        Its kind.
    k : int, optional
        How many entries of X go unpenalised; with l1 only.
    gamma : float, optional
        With MCP only: where it becomes constant, in units of u; 3 by default.
    a : float, optional
        With SCAD only: where it becomes constant, in units of u; greater than 1, 3.7 by default.

    References
    ----------
    - J. Gotoh, A. Takeda, K. Tono, "DC formulations and algorithms for sparse optimization problems",
      Math. Program. 169, 2018 (the l1 minus largest-k penalty).
    - C.-H. Zhang, "Nearly unbiased variable selection under minimax concave penalty", Annals of Statistics 38,
      2010 (MCP); J. Fan, R. Li, "Variable selection via nonconcave penalized likelihood and its oracle
      properties", JASA 96, 2001 (SCAD).
    - Z. Ma, "Sparse principal component analysis and iterative thresholding", Annals of Statistics 41, 2013, and
      V. Q. Vu, J. Lei, "Minimax sparse principal subspace estimation in high dimensions", Annals of Statistics
      41, 2013 (subspaces that few features span: row sparsity).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import sparse_pca
    >>> problem = sparse_pca(np.eye(4), n_components=2, weight=0.1, k=3)
    >>> problem.M
    Stiefel(n=4, r=2)
    >>> sparse_pca(np.eye(4), n_components=2, weight=0.1, penalty="group").h
    GroupL2(by='rows', weight=0.1)
    """
    B, m, n = as_data(D, "D")
    w = check_weight(weight, "the penalty")
    M = Stiefel(n, n_components)
    f = ExplainedVariance(B, weight=1 / m)
    p = _penalty(penalty, w, 1 / math.sqrt(n), k, gamma, a)
    return Problem.of(frobenius_squared(B) / (2 * m) + f + p, over=M, notes=_notes(B, n))


def _penalty(name: str, w: float, u: float, k: int | None, gamma: float | None, a: float | None) -> Term | Expression:
    """The penalty of that name, with slope w at zero, for entries of size u."""
    if name not in PENALTIES:
        raise ValueError(f"penalty must be one of {', '.join(map(repr, PENALTIES))}; given {name!r}.")
    for setting, value, owner in (("k", k, "l1"), ("gamma", gamma, "mcp"), ("a", a, "scad")):
        if value is not None and name != owner:
            raise ValueError(f"{setting} belongs to penalty={owner!r}; given {setting} = {value} with {name!r}.")
    if name == "mcp":
        return MCP(lam=u, gamma=3.0 if gamma is None else gamma, weight=w / u)
    if name == "scad":
        return SCAD(lam=u, a=3.7 if a is None else a, weight=w / u)
    if name == "group":
        return GroupL2("rows", weight=w)
    return L1(w) if k is None else L1(w) - LargestK(k, w)


def _notes(B: LinearMap, n: int) -> tuple[str, ...]:
    """A note on zero columns."""
    if not isinstance(B, Matrix):
        return ()
    xp = array_namespace(B.B)
    empty = int(xp.count_nonzero(xp.all(B.B == 0, axis=0)))
    return (f"{empty} of the {n} columns of D are zero: they carry no variance and may be dropped",) if empty else ()
