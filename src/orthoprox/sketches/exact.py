"""The covariance itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from orthoprox._memory import check_memory
from orthoprox._types import Array
from orthoprox.covariance import DenseCovariance
from orthoprox.maps.sparse import is_sparse
from orthoprox.sketches._base import CovarianceSketch, check_settings
from orthoprox.sketches._moments import Moments, add_outer

_ENTRIES = 2**22  # of a block, at a time
_FULL = 0.1  # the share of entries from which a sparse block is multiplied as a dense one


@dataclass(frozen=True, eq=False)
class ExactCovariance(CovarianceSketch):
    """The mean and the covariance, exact up to rounding; for n features it keeps n^2 numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.sketches import ExactCovariance
    >>> X = np.random.default_rng(0).standard_normal((100, 3))
    >>> sketch = ExactCovariance.empty(3)
    >>> for block in np.split(X, 10):
    ...     sketch = sketch.update(block)
    >>> bool(np.allclose(sketch.covariance().dense(), np.cov(X.T), rtol=1e-13))
    True
    """

    kind: ClassVar[str] = "exact"

    moments: Moments
    scatter: Array
    """The sums of products about the mean, entry (i, j) in units of 2^(powers[i] + powers[j])."""

    @classmethod
    def empty(cls, n_features: int, half_life: float | None = None) -> Self:
        """A sketch of no samples.

        Parameters
        ----------
        n_features : int
        half_life : float, optional
            After how many further samples a sample counts half, at least 1; without it all count alike.
        """
        n, half_life = check_settings(n_features, half_life)
        check_memory(3 * n * n, f"The covariance of {n} features, while a block is added to it,")
        return cls(Moments.none(n, half_life), np.zeros((n, n)))

    @property
    def error(self) -> float:
        """Zero."""
        return 0.0

    def covariance(self) -> DenseCovariance:
        C = self.scatter / 2 + self.scatter.T / 2
        powers = self.moments.powers
        with np.errstate(over="ignore", under="ignore"):
            return DenseCovariance(np.ldexp(C / self.moments.divisor, powers[:, None] + powers))

    @property
    def _spread(self) -> Array:
        return np.clip(np.diagonal(self.scatter), 0.0, None)

    def _absorb(self, X: Any) -> Self:
        step = self.moments.absorb(X.toarray() if is_sparse(X) and X.nnz > _FULL * X.shape[0] * X.shape[1] else X)
        scatter = step.scatter()
        scatter += step.factor * self._in_units(step.shift)
        return type(self)(step.moments, scatter)

    def _join(self, other: Self) -> Self:
        moments, here, there, move = self.moments.merge(other.moments)
        scatter = self._in_units(here) + other._in_units(there)
        return type(self)(moments, add_outer(scatter, move, move))

    def _in_units(self, shift: Array) -> Array:
        return np.ldexp(self.scatter, shift[:, None] + shift) if np.any(shift) else self.scatter

    def _rows_at_once(self, X: Any) -> int:
        return max(256, _ENTRIES // self.n_features)

    def _same_settings(self, other: Self) -> bool:
        return self.half_life == other.half_life

    def __repr__(self) -> str:
        return f"ExactCovariance({self.n_features} features, {self.n_samples} samples, half_life={self.half_life})"
