"""A SciPy LinearOperator from the left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator

from orthoprox._fields import DERIVED, cached_property, derive
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import like_of, on_host
from orthoprox.maps._norm import check_norm, norm_bound
from orthoprox.maps._tightness import probe_tightness


@dataclass(frozen=True, eq=False)
class Operator(LinearMap):
    """X -> L X, with L a ``scipy.sparse.linalg.LinearOperator``.

    The products are done by L in NumPy, also for X of another library, and returned in the library and
    float type of X.

    Parameters
    ----------
    L : LinearOperator, shape (m, n)
        Real, with an adjoint (``rmatvec`` or ``rmatmat``).
    norm : float, optional
        A bound on the largest singular value of L; computed when not given.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse.linalg import LinearOperator
    >>> from orthoprox.maps import Operator
    >>> A = Operator(LinearOperator((2, 2), matvec=lambda x: 3 * x, rmatvec=lambda x: 3 * x, dtype=float))
    >>> A(np.ones((2, 1)))
    array([[3.],
           [3.]])
    """

    left: ClassVar[bool] = True

    L: Any
    norm: float = DERIVED

    def __post_init__(self) -> None:
        _check(self.L)
        m, n = self.L.shape
        derive(self, norm=lambda: norm_bound(self.__call__, self.adjoint, m, n, like_of(self)))
        object.__setattr__(self, "norm", check_norm(self.norm, "Operator"))

    @property
    def columns(self) -> int:  # type: ignore[override]
        return int(self.L.shape[1])

    def __call__(self, X: Array) -> Array:
        return on_host(self.L.matmat, X)

    def adjoint(self, Z: Array) -> Array:
        return on_host(self.L.rmatmat, Z)

    def rows(self, n: int) -> int:
        return int(self.L.shape[0])

    def cost(self, n: int) -> int:
        return int(self.L.shape[0] * self.L.shape[1])

    @cached_property
    def tightness(self) -> float | None:
        return probe_tightness(self, like_of(self))

    def __repr__(self) -> str:
        return f"Operator({self.L.shape[0]} by {self.L.shape[1]})"


def is_operator(obj: Any) -> bool:
    """Whether this is a SciPy LinearOperator."""
    return isinstance(obj, LinearOperator)


def _check(L: Any) -> None:
    """Refuse what is not a real operator with the adjoint that belongs to it."""
    if not is_operator(L):
        raise TypeError(f"An Operator needs a SciPy LinearOperator; given {type(L).__name__}.")
    if 0 in L.shape:
        raise ValueError(f"The LinearOperator is empty: given shape {L.shape}; both sides must be at least 1.")
    x = np.random.default_rng(0).standard_normal((L.shape[1], 1))
    Lx = np.asarray(L.matmat(x))
    if np.iscomplexobj(Lx):
        raise TypeError(f"The LinearOperator must be real; given dtype {L.dtype}.")
    size = float(np.max(np.abs(Lx))) or 1.0
    try:
        back = np.asarray(L.rmatmat(Lx / size))
    except (NotImplementedError, TypeError) as error:  # the second comes from calling None
        raise TypeError("The LinearOperator has no working adjoint; give it rmatvec= or rmatmat=.") from error
    # Every method rests on the adjoint, and a wrong one would show only as a run that does not converge.
    one, other = float(np.sum(Lx * (Lx / size))), float(np.sum(x * back))
    if abs(one - other) > 1e-3 * one:
        raise ValueError("The adjoint of the LinearOperator does not belong to it: <Lx, Lx> and <x, L*(Lx)> differ.")
