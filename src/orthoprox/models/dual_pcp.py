"""Dual principal component pursuit: the directions that most samples have nothing of."""

from __future__ import annotations

from typing import Any

from orthoprox._fields import require
from orthoprox._namespace import array_namespace
from orthoprox.manifolds import Stiefel
from orthoprox.maps import LinearMap
from orthoprox.maps._base import as_data
from orthoprox.maps._rows import squared_row_norms, unit_rows
from orthoprox.problem import Problem
from orthoprox.terms import L1, GroupL2

NORMS = ("rows", "entries")


def dual_pcp(Y: Any, *, codimension: int, norm: str = "rows", normalize: bool = True) -> Problem:
    r"""The orthogonal complement of the subspace that holds most samples.

    .. math:: \min_{X'X = I} \tfrac1m \|YX\|_{2,1} = \tfrac1m \sum_i \|X'y_i\|_2
              \quad\text{or}\quad \tfrac1m \|YX\|_1

    :math:`\|X'y_i\|` is the distance of a sample from the subspace orthogonal to the columns of X, so the first
    form is the sum of distances to a subspace of dimension n - c. A sum of distances, unlike one of squares, is not
    decided by the samples that are far away.

    What is known: with inliers spread well in their subspace and outliers spread well on the sphere, the minimiser is
    the complement of the inliers' subspace even when there are many times more outliers than inliers (about the square
    of their number). Outliers that lie in a low-dimensional subspace of their own are a subspace as good as any other:
    then no such criterion finds the inliers once the outliers weigh more.

    Parameters
    ----------
    Y : array, SciPy sparse matrix, LinearOperator or LinearMap
        The samples as rows, m by n, centred as you wish: the subspace passes through the origin.
    codimension : int
        The number c of directions; the subspace has dimension n - c.
    norm : {"rows", "entries"}
        Whether to add up the lengths of the rows of YX or the magnitudes of its entries. The first does not depend on
        the choice of a basis.
    normalize : bool
        Whether to divide every sample by its length, as the references do; a sample that is zero stays zero.

    References
    ----------
    - M. C. Tsakiris, R. Vidal, "Dual principal component pursuit", JMLR 19, 2018.
    - Z. Zhu, Y. Wang, D. Robinson, D. Naiman, R. Vidal, M. C. Tsakiris, "Dual principal component pursuit: improved
      analysis and efficient algorithms", NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import dual_pcp
    >>> rng = np.random.default_rng(0)
    >>> Y = np.vstack([rng.standard_normal((60, 3)) * [1.0, 1.0, 0.0], rng.standard_normal((40, 3))])
    >>> X = solve(dual_pcp(Y, codimension=1)).X  # most samples have nothing of the third coordinate
    >>> bool(abs(X[2, 0]) > 1 - 1e-9)
    True
    """
    B, m, n = as_data(Y, "Y")
    require(
        isinstance(norm, str) and norm in NORMS,
        f"norm must be one of {', '.join(map(repr, NORMS))}; given {norm!r}.",
    )
    M = Stiefel(n, codimension)
    notes = _notes(B, m)
    if normalize:
        B = unit_rows(B)
    h = GroupL2("rows", weight=1 / m) if norm == "rows" else L1(1 / m)
    return Problem.of(h @ B, over=M, notes=notes)


def _notes(B: LinearMap, m: int) -> tuple[str, ...]:
    """A note on zero rows."""
    squares = squared_row_norms(B)
    zero = int(array_namespace(squares).count_nonzero(squares == 0))
    return (f"{zero} of the {m} rows of Y are zero: they lie in every subspace",) if zero else ()
