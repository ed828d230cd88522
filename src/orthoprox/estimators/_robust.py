"""The base of the robust subspace estimators: a centre, distances and outliers."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from orthoprox._types import Array
from orthoprox.driver import Result, Rule, Snapshot, Status
from orthoprox.estimators._base import OrthogonalTransformer
from orthoprox.estimators._blocks import each_block, is_blocked
from orthoprox.estimators._device import host, like_input
from orthoprox.estimators._input import Samples, about, column_means, no_centre, validate
from orthoprox.estimators._signs import choose_signs
from orthoprox.estimators._units import times_power
from orthoprox.estimators._warn import warn_caller
from orthoprox.models import Reweighting, robust_location
from orthoprox.solvers import Solver

CENTERS = ("affine", "median", "mean")
_FAR = 3.0
"""How many times farther than they spread samples may lie from the origin before a fit about it gives a warning."""


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
    """The base of RobustSubspace and DualPCP: transformers with the methods of scikit-learn's outlier detectors.

    They are not tagged as detectors: scikit-learn's checks want one to find outliers in any samples, and
    ``contamination="auto"`` finds none where there are none.
    """

    _least_samples: ClassVar[int] = 1
    center: Any
    normalize: bool
    contamination: str | float

    # ------------------------------------------------------------------ what a subclass writes

    @abc.abstractmethod
    def _dimension(self, n_features: int) -> int:
        """The dimension of the affine subspace whose centre is sought."""

    def _subspace_dimension(self, n_features: int) -> int:
        """That of the subspace that is fitted."""
        return self._dimension(n_features)

    @abc.abstractmethod
    def _canonical(self, X: Array, inliers: Samples) -> Array:
        """The solution in its canonical basis and order."""

    @abc.abstractmethod
    def _distances(self, data: Samples, V: Array) -> Array:
        """The distances of samples of unit size from the subspace that the columns of V stand for."""

    # ------------------------------------------------------------------ the fit

    def _check_settings(self) -> None:
        super()._check_settings()
        share = self.contamination
        if share != "auto" and not (isinstance(share, (int, float)) and 0 <= share < 1):
            raise ValueError(f"contamination must be 'auto' or a share from 0 up to 1; given {share!r}.")
        if isinstance(self.center, str) and self.center not in CENTERS:
            raise ValueError(
                f"center must be one of {', '.join(map(repr, CENTERS))}, None or an array; given {self.center!r}."
            )

    def _location(self, X: Any) -> Array:
        m, n = X.shape
        mean = column_means(X)
        if self.center is None:
            self._warn_if_far(about(X, mean))
            return no_centre(X)
        if isinstance(self.center, str):
            if self.center == "mean" or m == 1:
                return mean
            # Subtract the mean first: squares far from the origin lose all digits.
            data = about(X, mean)
            shift = host(robust_location(data.rough, n_components=self._dimension(n) if self.center == "affine" else 0))
            return np.asarray(mean + data.to_data(shift[:, 0]))
        location = np.asarray(host(self.center), dtype=float)
        if location.shape != (n,) or not np.all(np.isfinite(location)):
            raise ValueError(
                f"A given center must be {n} finite numbers, one for each feature; given shape {location.shape}."
            )
        return location.astype(mean.dtype)

    def _warn_if_far(self, data: Samples) -> None:
        """Warn if the mean of the samples lies far from the origin, beside their distances from the mean."""
        spread = math.sqrt(data.total_squares / data.n_samples)
        offset = float(np.linalg.norm(times_power(data.mean.astype(np.float64), -data.exponent)))
        if offset > _FAR * spread > 0:
            warn_caller(
                f"{type(self).__name__}: the samples lie {offset / spread:.3g} times farther from the origin than from "
                "their mean, and with center=None the subspace has to pass through the origin. It may be far from that "
                "of the samples; leave center out, or give center='affine'.",
                UserWarning,
            )

    def _resolve_solver(self, solver: str | Solver[Any]) -> Solver[Any]:
        return Reweighting() if solver == Reweighting.name else super()._resolve_solver(solver)

    def _warn_if_few(self, data: Samples) -> None:
        """Warn if there are so few samples that a subspace contains them whatever they are."""
        m, d = data.n_samples, self._subspace_dimension(data.n_features)
        if m <= d + (self.center is not None):
            warn_caller(
                f"{type(self).__name__}: A subspace of {d} dimensions contains any "
                f"{'sample' if m == 1 else f'{m} samples'}, so the one found says nothing of others, and none of these "
                "can be an outlier. Give more samples.",
                UserWarning,
            )

    def _store(self, data: Samples, result: Result[Any]) -> None:
        self._warn_if_few(data)
        distances, threshold = self._judge(data, result.X)
        V = self._canonical(result.X, data.take(distances <= threshold))
        self.components_ = np.ascontiguousarray((V * choose_signs(V)).T) + 0.0
        # Again with the components that are kept: rounding must not let predict differ from outliers_.
        distances, threshold = self._judge(data, self.components_.T)
        self.location_, self.outliers_ = data.mean, distances > threshold
        self.distances_, self.threshold_ = data.to_data(distances), data.to_data(threshold)
        self.offset_ = -self.threshold_

    def _judge(self, data: Samples, V: Array) -> tuple[Array, float]:
        """The distances of the samples, and the one above which a sample is an outlier."""
        distances = self._distances(data, V)
        return distances, self._threshold(data, distances.astype(np.float64))

    def _threshold(self, data: Samples, distances: Array) -> float:
        """The distance above which a sample is an outlier."""
        if self.contamination != "auto":
            return float(np.quantile(distances, 1 - float(self.contamination)))
        # Without noise the distances of inliers are rounding and smoothing only.
        size = math.sqrt(data.total_squares / data.n_samples)
        rounding = 100 * size * float(np.finfo(data.like.dtype).eps ** 0.4)
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

    @like_input
    def distances(self, X: Any) -> Array:
        """The distance of each sample from the subspace through the centre, in the units of the data.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        check_is_fitted(self)
        if is_blocked(X):
            return each_block(self, X, self._distances_of)
        return self._distances_of(validate(self, X, fitting=False))

    def _distances_of(self, X: Any) -> Array:
        data = about(X, self.location_)
        return np.asarray(data.to_data(self._distances(data, self.components_.T)))

    def score_samples(self, X: Any) -> Array:
        """How well each sample fits the subspace: minus its distance, so that outliers have the lowest scores.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        return -self.distances(X)

    def decision_function(self, X: Any) -> Array:
        """How far inside the threshold each sample lies: ``score_samples(X) - offset_``, negative for an outlier.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        return self.score_samples(X) - self.offset_

    @like_input
    def predict(self, X: Any) -> Array:
        """Which samples belong to the subspace: 1 for an inlier, -1 for an outlier, as in scikit-learn.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        """
        return np.where(host(self.decision_function(X)) < 0, -1, 1)

    def fit_predict(self, X: Any, y: Any = None) -> Array:
        """Fit, and say which samples belong to the subspace: 1 for an inlier, -1 for an outlier.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape (n_samples, n_features)
        y : ignored
        """
        labels: Array = self.fit(X).predict(X)
        return labels
