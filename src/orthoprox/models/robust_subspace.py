"""The subspace with the least sum of distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from orthoprox._fields import DERIVED, derive
from orthoprox._namespace import array_namespace
from orthoprox._types import Array, Scalar
from orthoprox.backends import backend_of
from orthoprox.manifolds import Stiefel
from orthoprox.maps import LinearMap, Matrix
from orthoprox.maps._base import as_data
from orthoprox.maps._rows import squared_row_norms, unit_rows
from orthoprox.problem import Problem
from orthoprox.terms._base import SmoothTerm
from orthoprox.terms._parameters import check_number


def robust_subspace(Y: Any, *, n_components: int, normalize: bool = True, smoothing: float | None = None) -> Problem:
    r"""The subspace from which the samples have the least sum of distances.

    .. math:: \min_{V'V = I} \tfrac1m \sum_i \sqrt{\|y_i\|^2 - \|V'y_i\|^2 + \delta^2}

    Under the root is the squared distance of a sample from the span of V. PCA adds up the squares of distances and
    follows the samples that are far away; this is their sum, as a median is to a mean. In the variable of the
    orthogonal complement it is ``dual_pcp(Y, codimension=n - d)`` without the smoothing: that form has c = n - d
    columns and suits a small c, this one has d.

    :class:`Reweighting` solves it in a few steps: ``solve(problem, Reweighting())``.

    Parameters
    ----------
    Y : array, SciPy sparse matrix, LinearOperator or LinearMap
        The samples as rows, m by n, centred as you wish: the subspace passes through the origin.
    n_components : int
        The dimension d.
    normalize : bool
        Whether to divide every sample by its length. Distances are then sines of angles, and no sample counts for
        more than another however far away it is; a sample that is zero stays zero.
    smoothing : float, optional
        The length :math:`\delta` below which distances are alike. By default the root mean square of the samples'
        lengths times :math:`\sqrt\epsilon` (1.5e-8 in double precision), or :math:`\epsilon^{2/5}` (6e-7) where the
        samples are not a dense array and the difference of squares has to be taken. The angle to a subspace that could
        be found exactly is about as small.

    References
    ----------
    - G. Lerman, T. Maunu, "Fast, robust and non-convex subspace recovery", Information and Inference 7, 2018.
    - G. Lerman, T. Maunu, "An overview of robust subspace recovery", Proc. IEEE 106, 2018 (what can be recovered).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import solve
    >>> from orthoprox.models import Reweighting, robust_subspace
    >>> rng = np.random.default_rng(0)
    >>> Y = np.vstack([rng.standard_normal((60, 4)) * [1.0, 1.0, 0.0, 0.0], 9 * rng.standard_normal((40, 4))])
    >>> V = solve(robust_subspace(Y, n_components=2), Reweighting()).X
    >>> bool(abs(V[2:]).max() < 1e-5)  # the plane of the first two coordinates
    True
    """
    B, m, n = as_data(Y, "Y")
    f = SubspaceDistance(unit_rows(B) if normalize else B, smoothing, weight=1 / m)
    return Problem(M=Stiefel(n, n_components), f=f)


@dataclass(frozen=True, eq=False)
class SubspaceDistance(SmoothTerm):
    r"""The term :math:`w \sum_i \sqrt{\|y_i\|^2 - \|V'y_i\|^2 + \delta^2}` for V with orthonormal columns.

    On the matrices of spectral norm at most one it is concave, as the root of a concave function, so
    ``upper_curvature`` is zero. The gradient is Lipschitz there with :math:`w \sum_i \|y_i\|^2 (\|y_i\|^2 +
    \delta^2)/\delta^3`, a number too large to be of use; ``lipschitz`` is None, and methods look for their steps.
    Off the manifold the value is that of the distance from VV'y; on it the tangent parts of the gradients agree.
    """

    B: LinearMap
    smoothing: Any = DERIVED
    weight: float = 1.0
    squares: Array = DERIVED

    def __post_init__(self) -> None:
        derive(self, squares=lambda: squared_row_norms(self.B), smoothing=self._default_smoothing)
        object.__setattr__(self, "smoothing", check_number(self.smoothing, "The smoothing", above=0.0))

    def _default_smoothing(self) -> float:
        """A length well above the rounding error of a distance."""
        xp = array_namespace(self.squares)
        scale, eps = math.sqrt(float(xp.mean(self.squares))), backend_of(self.squares).eps(self.squares)
        return (scale or 1.0) * float(eps ** (0.5 if isinstance(self.B, Matrix) else 0.4))

    @property
    def lipschitz(self) -> None:
        return None

    @property
    def upper_curvature(self) -> float:
        return 0.0

    @property
    def rotation_invariant(self) -> bool:
        return self.B.left

    def value(self, X: Array) -> Scalar:
        return self.weight * array_namespace(X).sum(self.distances(X, self.B(X)))

    def gradient(self, X: Array) -> Array:
        BX = self.B(X)
        return -self.weight * self.B.adjoint(BX / self.distances(X, BX))

    def distances(self, X: Array, BX: Array) -> Array:
        """The smoothed distances of the samples, as a column, given B(X)."""
        xp = array_namespace(X)
        if isinstance(self.B, Matrix):  # what is left of a sample keeps digits that a difference of squares loses
            rest = self.B.B - BX @ X.T
            squares = xp.sum(rest * rest, axis=1, keepdims=True)
        else:
            squares = xp.clip(self.squares - xp.sum(BX * BX, axis=1, keepdims=True), 0.0, None)
        return xp.sqrt(squares + self.smoothing**2)
