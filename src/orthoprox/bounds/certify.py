"""How far given components are from the best ones with as many nonzeros."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from orthoprox._fields import require
from orthoprox._types import Array
from orthoprox.bounds._source import Scaled, covariance_of
from orthoprox.bounds.variance_bound import Effort, VarianceBound, variance_bound
from orthoprox.maps.sparse import is_sparse

_FAR = 0.1
"""Rows that are further from orthonormal than this are no orthonormal components at all."""
_SMALL = 1e-6
"""Up to here they are orthonormal to rounding, in single precision too."""
_OPTIMAL = 1e-6


@dataclass(frozen=True, eq=False)
class Certified:
    """Components, what they keep, and what no components can exceed.

    Attributes
    ----------
    variance : float
        tr(V C V'), the variance that the components keep.
    bound : VarianceBound
        What no components with the same allowance exceed, and the proof.
    gap : float
        ``bound.value - variance``. Negative only where V is not orthonormal or has more nonzeros than allowed.
    relative_gap : float
        The gap as a share of the variance.
    total_variance : float
        The trace of C.
    infeasibility : float
        The largest entry of V V' - I in size.
    n_nonzero : int
        The nonzeros of V.
    n_nonzero_per_component : tuple of int
    """

    variance: float
    bound: VarianceBound
    total_variance: float
    infeasibility: float
    n_nonzero: int
    n_nonzero_per_component: tuple[int, ...]

    @property
    def gap(self) -> float:
        return self.bound.value - self.variance

    @property
    def relative_gap(self) -> float:
        return self.gap / self.variance if self.variance > 0 else math.inf

    @property
    def optimal(self) -> bool:
        """Whether the components are proved optimal, to a millionth of their variance."""
        return self.infeasibility <= _SMALL and self.fits and self.relative_gap <= _OPTIMAL

    @property
    def fits(self) -> bool:
        """Whether V has no more nonzeros than the bound allows."""
        counts = sorted(self.n_nonzero_per_component, reverse=True)
        caps = self.bound.n_nonzero_per_component
        return self.n_nonzero <= self.bound.n_nonzero and all(c <= cap for c, cap in zip(counts, caps, strict=True))

    def __str__(self) -> str:
        counts = ", ".join(map(str, self.n_nonzero_per_component))
        share = 100 * self.variance / self.total_variance if self.total_variance > 0 else math.nan
        lines = [
            f"{self.bound.n_components} components with {self.n_nonzero} nonzeros ({counts})",
            f"variance       {self.variance:.6g}  ({share:.2f} % of the total)",
            f"upper bound    {self.bound.value:.6g}  ({self.bound.kind})",
            f"gap            {self.gap:.3g}  ({100 * self.relative_gap:.3g} %)",
        ]
        if self.optimal:
            lines.append("No components with as many nonzeros keep more: this is proved.")
        if self.infeasibility > _SMALL:
            lines.append(
                f"The components are orthonormal to {self.infeasibility:.2g} only; the bound is for orthonormal ones."
            )
        if not self.fits:
            lines.append("The components have more nonzeros than the bound allows.")
        return "\n".join(lines)


def certify(
    V: Any,
    C: Any = None,
    *,
    X: Any = None,
    n_nonzero: int | None = None,
    n_nonzero_per_component: Any = None,
    effort: Effort = "balanced",
    time_limit: float = 10.0,
) -> Certified:
    """Compare the variance of sparse components, of whatever origin, with an upper bound for all such components.

    Parameters
    ----------
    V : array of shape (r, n)
        Orthonormal rows with exact zeros, as scikit-learn stores ``components_``.
    C : array of shape (n, n), optional
        The covariance or correlation matrix.
    X : array or sparse matrix of shape (m, n), optional
        Samples in place of C; their covariance has the divisor m - 1, as in scikit-learn.
    n_nonzero, n_nonzero_per_component : int or sequence of int, optional
        What the components are allowed, as for ``variance_bound``; by default, the number of nonzeros that V has.
    effort, time_limit
        As for ``variance_bound``.

    Returns
    -------
    Certified
        Print it for a summary.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox import certify
    >>> from orthoprox.datasets import pitprops
    >>> C, names = pitprops()
    >>> V = np.zeros((2, 13))
    >>> V[0, :2] = V[1, 2:4] = 0.5**0.5  # topdiam with length, moist with testsg
    >>> result = certify(V, C, n_nonzero_per_component=2)
    >>> print(result)
    2 components with 4 nonzeros (2, 2)
    variance       3.836  (29.51 % of the total)
    upper bound    3.836  (clipped)
    gap            ...
    No components with as many nonzeros keep more: this is proved.
    """
    require((C is None) != (X is None), "Give either the covariance matrix C or the samples X.")
    source = Scaled.of(C).source if X is None else covariance_of(X)
    V = _components(V, source.n)
    infeasibility = float(np.max(np.abs(V @ V.T - np.eye(len(V)))))
    require(
        infeasibility <= _FAR,
        f"V must have orthonormal rows; V V' is off the identity by {infeasibility:.2g}. "
        "Orthonormalise the components (that changes their zeros), or compare another quantity: the bound says nothing "
        "about components that overlap.",
    )
    counts = tuple(int(count) for count in np.count_nonzero(V, axis=1))
    if n_nonzero is None and n_nonzero_per_component is None:
        n_nonzero = sum(counts)
    variance = float(np.sum(V.T * source.product(V.T)))
    bound = variance_bound(
        source,
        len(V),
        n_nonzero=n_nonzero,
        n_nonzero_per_component=n_nonzero_per_component,
        effort=effort,
        incumbent=variance if infeasibility <= _SMALL else None,
        time_limit=time_limit,
    )
    return Certified(variance, bound, float(np.sum(source.diagonal)), infeasibility, sum(counts), counts)


def _components(V: Any, n: int) -> Array:
    if hasattr(V, "components_"):
        raise TypeError(f"V must be a matrix of components; given {type(V).__name__}: give its components_.")
    V = np.asarray(V.toarray() if is_sparse(V) else V)
    if V.dtype.kind not in "fiu":
        raise TypeError(f"V must hold real numbers; given dtype {V.dtype}.")
    V = np.atleast_2d(V.astype(np.float64))
    hint = " It has the shape of its transpose: give V.T." if V.ndim == 2 and V.shape[0] == n else ""
    require(V.ndim == 2 and V.shape[1] == n, f"V must have shape (r, {n}); given shape {V.shape}.{hint}")
    require(bool(np.all(np.isfinite(V))), "V must be finite; given entries that are NaN or infinite.")
    if empty := np.flatnonzero(~np.any(V, axis=1)).tolist():
        raise ValueError(f"Each component needs a nonzero; component {empty[0]} has none.")
    return V
