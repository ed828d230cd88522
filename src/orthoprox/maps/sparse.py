"""A sparse matrix from the left."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, issparse

from orthoprox._fields import DERIVED, cached_property, derive
from orthoprox._types import Array
from orthoprox.maps._base import LinearMap
from orthoprox.maps._host import like_of, on_host
from orthoprox.maps._norm import check_norm, entry_bound, norm_bound
from orthoprox.maps._tightness import probe_tightness


@dataclass(frozen=True, eq=False)
class Sparse(LinearMap):
    """X -> B X, with B a SciPy sparse matrix or array.

    The products are done by SciPy, also for X of another library, and returned in the library and
    float type of X.

    Parameters
    ----------
    B : sparse matrix or array, shape (m, n)
        Any SciPy format, real floating-point numbers, all finite; kept as a ``csr_array``.
    norm : float, optional
        A bound on the largest singular value of B; computed when not given.
    name : str
        What error messages call B.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import coo_array
    >>> from orthoprox.maps import Sparse
    >>> A = Sparse(coo_array(([3.0, 2.0], ([0, 1], [0, 2])), shape=(2, 3)))
    >>> A(np.ones((3, 1)))
    array([[3.],
           [2.]])
    """

    left: ClassVar[bool] = True

    B: Any
    norm: float = DERIVED
    name: InitVar[str] = "B"

    def __post_init__(self, name: str) -> None:
        object.__setattr__(self, "B", _check_kind(self.B, name))
        m, n = self.B.shape
        like = np.zeros((1, 1), dtype=self.B.dtype)
        derive(self, norm=lambda: norm_bound(self.__call__, self.adjoint, m, n, like, lambda: _ceiling(self.B)))
        object.__setattr__(self, "norm", check_norm(self.norm, "Sparse"))

    @property
    def columns(self) -> int:  # type: ignore[override]
        return int(self.B.shape[1])

    def __call__(self, X: Array) -> Array:
        return on_host(lambda V: self.B @ V, X)

    def adjoint(self, Z: Array) -> Array:
        # The transpose is a view. A transpose stored by rows was not faster (9394 by 36771 with 1.2 million
        # nonzeros and 20 columns: 9.3 ms against 10.8, the other way round 10.5 against 8.9) and doubles the memory.
        return on_host(lambda V: self.B.T @ V, Z)

    def rows(self, n: int) -> int:
        return int(self.B.shape[0])

    def cost(self, n: int) -> int:
        return int(self.B.nnz)

    @cached_property
    def tightness(self) -> float | None:
        return probe_tightness(self, like_of(self))

    def __repr__(self) -> str:
        return f"Sparse({self.B.shape[0]} by {self.B.shape[1]}, {self.B.nnz} nonzeros)"


def is_sparse(obj: Any) -> bool:
    """Whether this is a SciPy sparse matrix or array."""
    return bool(issparse(obj))


def _check_kind(B: Any, name: str) -> Any:
    """The same matrix by rows, each entry once, if it is a non-empty matrix of finite floats."""
    if not is_sparse(B):
        raise TypeError(f"{name} must be a SciPy sparse matrix; given {type(B).__name__}. For a dense one use Matrix.")
    if len(B.shape) != 2:
        raise ValueError(f"{name} must have two dimensions; given shape {tuple(B.shape)}.")
    if 0 in B.shape:
        raise ValueError(f"{name} is empty: given shape {tuple(B.shape)}; both sides must be at least 1.")
    if not np.issubdtype(B.dtype, np.floating):
        raise TypeError(
            f"{name} must hold real floating-point numbers; given dtype {B.dtype}. "
            f"Convert it first, for example with {name}.astype(float)."
        )
    by_rows = csr_array(B)
    if not by_rows.has_canonical_format:  # the given matrix stays as it is
        by_rows = by_rows.copy()
        by_rows.sum_duplicates()
    bad = int(np.count_nonzero(~np.isfinite(by_rows.data)))
    if bad:
        raise ValueError(
            f"{name} must be finite; given {bad} entries that are NaN or infinite out of {by_rows.nnz} stored ones. "
            "Fill or drop them first."
        )
    return by_rows


def _ceiling(B: Any) -> float:
    """A bound from sums of absolute values."""
    sizes = abs(B)
    top = float(sizes.data.max())
    sizes.data /= top
    row, column = float(sizes.sum(axis=1).max()), float(sizes.sum(axis=0).max())
    squares = float(np.sum(sizes.data * sizes.data))
    return entry_bound(top, squares, row, column, max(B.shape), float(np.finfo(B.dtype).eps))
