"""The base of the robust subspace estimators: a centre, distances and outliers."""

from __future__ import annotations

import abc
import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from orthoprox._types import Array
from orthoprox.driver import Result, Rule, Snapshot, Status
from orthoprox.estimators._base import OrthogonalTransformer
from orthoprox.estimators._input import Samples, centre_at, column_means, validate
from orthoprox.estimators._signs import choose_signs
from orthoprox.maps import LinearMap
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.models import Reweighting, robust_location
from orthoprox.solvers import Solver

CENTRES = ("affine", "median", "mean")


@dataclass(frozen=True)
class SmallDecrease(Rule):
    """Stop when the last steps lowered the objective by at most ``tolerance``, relatively.

    For a monotone method. More reliable than the gradient, in which samples that lie in the subspace have weights of
    one over the smoothing.
    """

    tolerance: float
    window: int = 5

    def __call__(self, now: Snapshot) -> Status | None:
        objectives = now.recent("objective", self.window)
        if len(objectives) < self.window:
            return None
        decrease = objectives[0] - min(*objectives[1:], now.objective)
        return Status.STALLED if decrease <= self.tolerance * abs(now.objective) else None


class RobustTransformer(OrthogonalTransformer):
    """The base of RobustSubspace and DualPCP."""

    _centre: ClassVar[bool] = False  # _locate finds the centre
    centre: Any
    normalise: bool
    contamination: str | float

    # ------------------------------------------------------------------ what a subclass writes

    @abc.abstractmethod
    def _dimension(self, data: Samples) -> int:
        """The dimension of the subspace."""

    @abc.abstractmethod
    def _canonical(self, X: Array, inliers: LinearMap) -> Array:
        """The solution in its canonical basis and order."""

    @abc.abstractmethod
    def _distances(self, X: Any, components: Array) -> Array:
        """The distances of validated samples from the subspace."""

    # ------------------------------------------------------------------ the fit

    def _check_settings(self) -> None:
        super()._check_settings()
        share = self.contamination
        if share != "auto" and not (isinstance(share, (int, float)) and 0 <= share < 1):
            raise ValueError(f"contamination must be 'auto' or a share from 0 up to 1; given {share!r}.")
        if isinstance(self.centre, str) and self.centre not in CENTRES:
            raise ValueError(
                f"centre must be one of {', '.join(map(repr, CENTRES))}, None or an array; given {self.centre!r}."
            )

    def _locate(self, data: Samples) -> LinearMap:
        """Find the centre and subtract it from the samples."""
        X, n = data.X, data.n_features
        if self.centre is None:
            location = np.zeros(n)
        elif isinstance(self.centre, str):
            location = column_means(X)
            if self.centre != "mean" and data.n_samples > 1:
                d = self._dimension(data) if self.centre == "affine" else 0
                # Subtract the mean first: squares far from the origin lose all digits.
                shifted = centre_at(X, location, norm=sys.float_info.max)
                location = location + robust_location(shifted, n_components=d)[:, 0]
        else:
            location = np.asarray(self.centre, dtype=float)
            if location.shape != (n,) or not np.all(np.isfinite(location)):
                raise ValueError(
                    f"A given centre must be {n} finite numbers, one for each feature; given shape {location.shape}."
                )
        self.location_ = location.astype(X.dtype)
        return centre_at(X, self.location_)

    def _resolve_solver(self, solver: str | Solver[Any]) -> Solver[Any]:
        return Reweighting() if solver == Reweighting.name else super()._resolve_solver(solver)

    def _store(self, data: Samples, result: Result[Any]) -> None:
        self.mean_ = self.location_
        self.distances_ = self._distances(data.X, result.X.T)
        self.threshold_ = self._threshold(data)
        self.outliers_ = self.distances_ > self.threshold_
        inliers = centre_at(data.X[~self.outliers_], self.location_, norm=sys.float_info.max)
        V = self._canonical(result.X, inliers)
        self.components_ = np.ascontiguousarray((V * choose_signs(V)).T) + 0.0

    def _threshold(self, data: Samples) -> float:
        """The distance above which a sample is an outlier."""
        distances = self.distances_.astype(np.float64)
        if self.contamination != "auto":
            return float(np.quantile(distances, 1 - float(self.contamination)))
        # Without noise the distances of inliers are rounding and smoothing only.
        shifted = centre_at(data.X, self.location_, norm=sys.float_info.max)
        size = math.sqrt(frobenius_squared(shifted) / data.n_samples)
        rounding = 100 * size * float(np.finfo(data.X.dtype).eps ** 0.4)
        rest = distances
        for _ in range(10):
            middle = float(np.median(rest))
            threshold = middle + 3 * 1.4826 * float(np.median(np.abs(rest - middle)))
            fewer = rest[rest <= threshold]
            if len(fewer) == len(rest):
                break
            rest = fewer
        return max(threshold, rounding)

    # ------------------------------------------------------------------ after the fit

    def distances(self, X: Any) -> Array:
        """The distance of each sample from the subspace through the centre, in the units of the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._distances(validate(self, X, fitting=False), self.components_)

    def predict(self, X: Any) -> Array:
        """Which samples belong to the subspace: 1 for an inlier, -1 for an outlier, as in scikit-learn.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        return np.where(self.distances(X) > self.threshold_, -1, 1)
