"""A centre that outliers do not move."""

from __future__ import annotations

from typing import Any

from array_api_compat import device

from orthoprox._namespace import array_namespace
from orthoprox._types import Array
from orthoprox.backends import backend_of
from orthoprox.maps import Centred, LinearMap, Matrix
from orthoprox.maps._base import as_data
from orthoprox.maps._host import like_of
from orthoprox.models.reweighting import leading_eigenvectors
from orthoprox.models.robust_subspace import SubspaceDistance

ROUNDS = 500


def robust_location(D: Any, *, n_components: int = 0) -> Array:
    r"""The geometric median of the samples, or a centre of the affine subspace with the least sum of distances.

    .. math:: \min_{c,\; V'V = I} \sum_i \sqrt{\|(I - VV')(x_i - c)\|^2 + \delta^2}

    Without V (``n_components=0``) it is the geometric median. Each round weighs the samples by one over their
    distance; the weighted mean and the leading eigenvectors of the weighted covariance minimise an upper bound that is
    equal at the point before (see :class:`Reweighting`), so the sum never increases. Rounds end when it no longer
    falls. Along the subspace the centre may be anywhere; there it is that of the geometric median.

    Parameters
    ----------
    D : array, SciPy sparse matrix, LinearOperator or LinearMap
        The samples as rows, m by n.
    n_components : int
        The dimension of the affine subspace; the iteration starts at the geometric median.

    Returns
    -------
    array, shape (n, 1)

    References
    ----------
    E. Weiszfeld, "Sur le point pour lequel la somme des distances de n points donnes est minimum", Tohoku Math. J. 43,
    1937.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.models import robust_location
    >>> robust_location(np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0], [90.0, 7.0]])).T.round(3)
    array([[0., 1.]])
    """
    B, m, n = as_data(D, "D")
    if not 0 <= n_components <= n:
        raise ValueError(f"n_components must lie between 0 and the {n} features; given {n_components}.")
    like = like_of(B)
    xp = array_namespace(like)
    empty = xp.eye(n, 0, dtype=like.dtype, device=device(like))
    ones = xp.ones((m, 1), dtype=like.dtype, device=device(like))
    median, _ = _descend(B, B.adjoint(ones) / m, empty)
    if n_components == 0:
        return median
    f = SubspaceDistance(_centre_at(B, median))
    start = xp.eye(n, n_components, dtype=like.dtype, device=device(like))
    start = leading_eigenvectors(
        f.B, 1.0 / f.distances(empty, f.B(empty)) ** 2, start
    )  # as if samples were of unit length
    c, V = _descend(B, median, start)
    return c + V @ (V.T @ (median - c))


def _descend(B: LinearMap, c: Array, V: Array) -> tuple[Array, Array]:
    """Reweight until the sum of distances no longer falls; return the centre and the subspace."""
    xp = array_namespace(c)
    f = SubspaceDistance(_centre_at(B, c))
    q = f.distances(V, f.B(V))
    for _ in range(ROUNDS):
        w = 1.0 / q
        w = w / xp.sum(w)
        c_new = B.adjoint(w)
        f = SubspaceDistance(_centre_at(B, c_new), f.smoothing)
        V_new = leading_eigenvectors(f.B, w, V)
        q_new = f.distances(V_new, f.B(V_new))
        if not float(xp.sum(q_new)) < float(xp.sum(q)) * (1 - 8 * backend_of(c).eps(c)):
            break
        c, V, q = c_new, V_new, q_new
    return c, V


def _centre_at(B: LinearMap, c: Array) -> LinearMap:
    """Subtract c from every sample; nothing uses the norm."""
    if isinstance(B, Matrix):
        return Matrix(B.B - c.T, norm=0.0)
    return Centred(B.B, B.mean + c, norm=0.0) if isinstance(B, Centred) else Centred(B, c, norm=0.0)
