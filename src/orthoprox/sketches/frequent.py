"""The directions of largest variance, for covariances that are too large to keep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from orthoprox._memory import check_memory
from orthoprox._powers import times_power
from orthoprox._types import Array
from orthoprox.covariance import SampleCovariance
from orthoprox.maps.sparse import is_sparse
from orthoprox.sketches._base import CovarianceSketch, check_settings, check_size
from orthoprox.sketches._moments import Moments

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class FrequentDirections(CovarianceSketch):
    r"""A few rows B whose products B'B stand for the sums of squares S of all samples, with a bound on the error.

    Samples, centred, are appended to the rows. When there are 2 ``size`` rows, they are replaced by ``size``
    orthogonal ones: with singular values :math:`s_1 \ge s_2 \ge \ldots` and :math:`d = s_{size+1}^2`, all squares lose
    d, and those below are dropped. Each time S - B'B grows by at most d I, so that

    .. math:: B'B \le S \le B'B + \Delta I, \qquad \Delta = \sum d,

    and :math:`\Delta \le |S - S_k|_* / (size + 1 - k)` for every k <= ``size``, where the numerator is the sum of all
    but the k largest eigenvalues of S. When the mean moves by v, a row along v is appended: the centring is exact. The
    variances of single features are kept beside B, exactly. With n features this takes (2 ``size`` + 4) n numbers.

    The directions that are kept have lost about Delta each; ``compensated`` gives it back, for estimates.

    References
    ----------
    - E. Liberty, "Simple and deterministic matrix sketching", KDD 2013; M. Ghashami, E. Liberty, J. M. Phillips,
      D. P. Woodruff, "Frequent directions: simple and deterministic matrix sketching", SIAM J. Comput. 45, 2016.
    - A. Desai, M. Ghashami, J. M. Phillips, "Improved practical matrix sketching with guarantees", IEEE Trans. Knowl.
      Data Eng. 28, 2016 (compensation).

    Examples
    --------
    >>> import numpy as np
    >>> from orthoprox.sketches import FrequentDirections
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((400, 3)) @ rng.standard_normal((3, 50)) + 0.1 * rng.standard_normal((400, 50))
    >>> sketch = FrequentDirections.empty(50, size=20)
    >>> for block in np.split(X, 8):
    ...     sketch = sketch.update(block)
    >>> values = np.linalg.eigvalsh(np.cov(X.T) - sketch.covariance().dense())
    >>> bool(-1e-12 < values[0] and values[-1] < sketch.error < 0.05)
    True
    """

    kind: ClassVar[str] = "frequent"

    moments: Moments
    size: int
    rows: Array
    """B, in units of 2^top, where top is the largest of the powers of the features."""
    spread: Array
    """The sums of squares of the features about their means, in their own units."""
    lost: float = 0.0
    """Delta, in units of 2^(2 top)."""

    @classmethod
    def empty(cls, n_features: int, size: int = 200, half_life: float | None = None) -> Self:
        """A sketch of no samples.

        Parameters
        ----------
        n_features : int
        size : int
            How many directions are kept; ten times the number of components asked for is a good number.
        half_life : float, optional
            After how many further samples a sample counts half, at least 1; without it all count alike.
        """
        n, half_life = check_settings(n_features, half_life)
        size = check_size(size)
        check_memory(6 * size * n, f"A sketch of {size} directions of {n} features")
        return cls(Moments.none(n, half_life), size, np.zeros((0, n)), np.zeros(n))

    @property
    def error(self) -> float:
        return float(times_power(self.lost / self.moments.divisor, 2 * self._top))

    def covariance(self) -> SampleCovariance:
        """B'B over the divisor, which no direction's variance falls short of; what is missing is at most ``error``."""
        B = times_power(self.rows, self._top)
        return SampleCovariance(
            B if len(B) else np.zeros((1, self.n_features)), np.zeros(self.n_features), self.divisor
        )

    @property
    def divisor(self) -> float:
        """What turns sums of squares into variances: one less than the number of samples, if all count alike."""
        return self.moments.divisor

    def compensated(self) -> Array:
        """Rows that estimate S: those of B, turned, with Delta added to the ``size`` largest squares."""
        if self.lost == 0:
            return self.rows
        values, U = self._eigenvalues()
        inside = values > len(values) * _EPS * values[0]
        inside[self.size :] = False
        factors = np.sqrt(1.0 + self.lost / np.where(inside, values, np.inf))
        return np.asarray(factors[:, None] * (U.T @ self.rows))

    def remainder(self, rows: Array) -> Array:
        """What some rows, in the units of B, lack of the sums of squares of single features; never negative."""
        exact = np.ldexp(self.spread, 2 * (self.moments.powers - self._top))
        return np.clip(exact - np.einsum("ij,ij->j", rows, rows), 0.0, None)

    @property
    def _top(self) -> int:
        return int(np.max(self.moments.powers))

    @property
    def _spread(self) -> Array:
        return self.spread

    def _absorb(self, X: Any) -> Self:
        step = self.moments.absorb(X.toarray() if is_sparse(X) else X)
        new = np.vstack([step.rows, step.move]) if np.any(step.move) else step.rows
        spread = step.factor * np.ldexp(self.spread, 2 * step.shift) + np.einsum("ij,ij->j", new, new)
        top = int(np.max(step.moments.powers))
        new = np.ldexp(new, step.moments.powers - top)
        old = np.ldexp(self.rows, self._top - top) * math.sqrt(step.factor)
        lost = step.factor * math.ldexp(self.lost, 2 * (self._top - top))
        return type(self)(step.moments, self.size, np.vstack([old, new]), spread, lost)._shrunk()

    def _join(self, other: Self) -> Self:
        moments, here, there, move = self.moments.merge(other.moments)
        top = int(np.max(moments.powers))
        spread = np.ldexp(self.spread, 2 * here) + np.ldexp(other.spread, 2 * there) + move**2
        both = [np.ldexp(one.rows, one._top - top) for one in (self, other)]
        lost = sum(math.ldexp(one.lost, 2 * (one._top - top)) for one in (self, other))
        rows = np.vstack([*both, np.ldexp(move, moments.powers - top)[None]])
        return type(self)(moments, self.size, rows, spread, lost)._shrunk()

    def _shrunk(self) -> Self:
        """The same with ``size`` rows if there are twice as many or more.

        The rows are turned by the eigenvectors of B B'. Rounding of its entries moves an eigenvalue by at most
        n eps tr(B B') / 2, which is added to Delta.
        """
        B, k = self.rows, self.size
        if len(B) < 2 * k:
            return self
        values, U = self._eigenvalues()
        drop = float(values[k])
        kept = values[:k] - drop
        factors = np.sqrt(np.divide(kept, values[:k], out=np.zeros(k), where=values[:k] > 0))
        rounding = (self.n_features + 2 * len(B)) * _EPS * float(np.sum(values))
        rows = factors[:, None] * (U[:, :k].T @ B)
        return type(self)(self.moments, k, rows, self.spread, self.lost + drop + rounding)

    def _eigenvalues(self) -> tuple[Array, Array]:
        """Those of B B', the largest first, and the eigenvectors as columns."""
        values, U = np.linalg.eigh(self.rows @ self.rows.T)
        return np.clip(values[::-1], 0.0, None), U[:, ::-1]

    def _rows_at_once(self, X: Any) -> int:
        return self.size

    def _same_settings(self, other: Self) -> bool:
        return (self.half_life, self.size) == (other.half_life, other.size)

    def __repr__(self) -> str:
        return (
            f"FrequentDirections({self.n_features} features, size={self.size}, {self.n_samples} samples, "
            f"half_life={self.half_life})"
        )
