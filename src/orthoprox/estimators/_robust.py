"""What the estimators of a subspace among outliers share: a centre, distances, and who is an outlier."""

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
from orthoprox.estimators._input import Data, centred, column_means, validated
from orthoprox.estimators._signs import upright
from orthoprox.maps import LinearMap
from orthoprox.maps._frobenius import frobenius_squared
from orthoprox.models import Reweighting, robust_location
from orthoprox.solvers import Solver

CENTRES = ("affine", "median", "mean")


@dataclass(frozen=True)
class Lowered(Rule):
    """Stop when the last steps have lowered the objective by no more than this part of itself.

    For a method that never increases it but by rounding. It is a better sign than the gradient, in which samples that
    lie in the subspace have weights of one over the smoothing.
    """

    tolerance: float
    window: int = 5

    def __call__(self, now: Snapshot) -> Status | None:
        before = now.recent("objective", self.window)
        if len(before) < self.window:
            return None
        lowered = before[0] - min(*before[1:], now.objective)
        return Status.STALLED if lowered <= self.tolerance * abs(now.objective) else None


class RobustTransformer(OrthogonalTransformer):
    """The base of RobustSubspace and DualPCP."""

    _centre: ClassVar[bool] = False  # the centre is found here
    centre: Any
    normalise: bool
    contamination: str | float

    # ------------------------------------------------------------------ what a subclass writes

    @abc.abstractmethod
    def _dimension(self, data: Data) -> int:
        """The dimension of the subspace."""

    @abc.abstractmethod
    def _canonical(self, X: Array, inliers: LinearMap) -> Array:
        """The solution in the basis and order in which it is shown."""

    @abc.abstractmethod
    def _distances(self, X: Any, components: Array) -> Array:
        """The distances of samples, as they were read, from the subspace."""

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

    def _located(self, data: Data) -> LinearMap:
        """Find the centre; the samples about it."""
        X, n = data.X, data.n_features
        if self.centre is None:
            location = np.zeros(n)
        elif isinstance(self.centre, str):
            location = column_means(X)
            if self.centre != "mean" and data.n_samples > 1:
                d = self._dimension(data) if self.centre == "affine" else 0
                # About the mean first: far from the origin squares have no digits left.
                about = centred(X, location, norm=sys.float_info.max)
                location = location + robust_location(about, n_components=d)[:, 0]
        else:
            location = np.asarray(self.centre, dtype=float)
            if location.shape != (n,) or not np.all(np.isfinite(location)):
                raise ValueError(
                    f"A given centre must be {n} finite numbers, one for each feature; given shape {location.shape}."
                )
        self.location_ = location.astype(X.dtype)
        return centred(X, self.location_)

    def _choose(self, solver: str | Solver[Any]) -> Solver[Any]:
        return Reweighting() if solver == Reweighting.name else super()._choose(solver)

    def _store(self, data: Data, result: Result[Any]) -> None:
        self.mean_ = self.location_
        self.distances_ = self._distances(data.X, result.X.T)
        self.threshold_ = self._threshold(data)
        self.outliers_ = self.distances_ > self.threshold_
        inliers = centred(data.X[~self.outliers_], self.location_, norm=sys.float_info.max)
        V = self._canonical(result.X, inliers)
        self.components_ = np.ascontiguousarray((V * upright(V)).T) + 0.0

    def _threshold(self, data: Data) -> float:
        """The distance from which on a sample is an outlier."""
        distances = self.distances_.astype(np.float64)
        if self.contamination != "auto":
            return float(np.quantile(distances, 1 - float(self.contamination)))
        # Without noise the inliers differ by rounding and smoothing only.
        about = centred(data.X, self.location_, norm=sys.float_info.max)
        size = math.sqrt(frobenius_squared(about) / data.n_samples)
        rounding = 100 * size * float(np.finfo(data.X.dtype).eps ** 0.4)
        left = distances
        for _ in range(10):
            middle = float(np.median(left))
            threshold = middle + 3 * 1.4826 * float(np.median(np.abs(left - middle)))
            fewer = left[left <= threshold]
            if len(fewer) == len(left):
                break
            left = fewer
        return max(threshold, rounding)

    # ------------------------------------------------------------------ what a fitted one does

    def distances(self, X: Any) -> Array:
        """The distance of each sample from the subspace through the centre, in the units of the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        return self._distances(validated(self, X, fitting=False), self.components_)

    def predict(self, X: Any) -> Array:
        """Which samples belong to the subspace: 1 for an inlier, -1 for an outlier, as in scikit-learn.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        return np.where(self.distances(X) > self.threshold_, -1, 1)
