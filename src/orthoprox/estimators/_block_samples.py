"""Samples with so many features that their covariance is not formed, in blocks: every product is a pass over them."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from orthoprox._fields import DERIVED, cached_property, replace
from orthoprox._types import Array
from orthoprox.blocks import Rows
from orthoprox.covariance import BlockCovariance
from orthoprox.estimators._units import times_power
from orthoprox.maps import Blocked


@dataclass(frozen=True, eq=False)
class BlockSamples:
    """What :class:`Samples` are to a fit, without an array of them: the map, sizes and units."""

    rows: Rows
    exponent: int
    """The data, less the mean, are 2^exponent times these samples, times ``scale`` where there is one."""
    scale: Array | None = None
    """What every feature is divided by besides."""
    divisor: float | None = None
    remainder: ClassVar[None] = None  # nothing is left out, as a sketch does
    in_one_process: ClassVar[bool] = True
    """One product occupies all threads or workers, and rows in their memory cannot go to another process."""

    @classmethod
    def of(cls, rows: Rows) -> BlockSamples:
        """The rows about their mean, of unit size."""
        found = rows.moments
        top = float(np.max(found.top))
        return cls(rows, found.exponent + (math.frexp(top)[1] - 1 if top > 0 else 0))

    @property
    def n_samples(self) -> int:
        return self.rows.shape[0]

    @property
    def n_features(self) -> int:
        return self.rows.shape[1]

    @property
    def like(self) -> Array:
        """An empty array with the float type of the samples."""
        return np.empty((0, 0), dtype=self.rows.dtype)

    @property
    def mean(self) -> Array:
        """The centre in the units of the data."""
        return np.asarray(self.rows.centring.mean.astype(self.rows.dtype))

    @property
    def degrees_of_freedom(self) -> float:
        return max(self.n_samples - 1, 1)

    @cached_property
    def B(self) -> Blocked:
        """The samples as a map."""
        return self._map()

    @cached_property
    def rough(self) -> Blocked:
        """The same map without a bound on its norm."""
        return self._map(sys.float_info.max)

    def _map(self, norm: float = DERIVED) -> Blocked:
        unit = np.full(self.n_features, math.ldexp(1.0, self.exponent))
        return Blocked(self.rows, center=True, scale=unit if self.scale is None else unit * self.scale, norm=norm)

    def place(self, V: Array) -> Array:
        """V where scores are computed: here."""
        return V

    def scores(self, V: Array) -> Array:
        """The products of the samples with the columns of V."""
        return self.rough(V)

    def squares(self, V: Array) -> Array:
        """The sum of squares of the scores on each column of V."""
        return np.asarray(np.sum(np.square(self.scores(V), dtype=np.float64), axis=0))

    def moments(self, V: Array) -> Array:
        """The second moments of the scores, times the number of samples."""
        T = self.scores(V).astype(np.float64)
        return np.asarray(T.T @ T)

    @cached_property
    def covariance(self) -> BlockCovariance:
        """That of these samples."""
        return BlockCovariance(self.rough, self.degrees_of_freedom)

    @property
    def total_squares(self) -> float:
        return self.rough.squares

    @property
    def total_variance(self) -> float:
        return self.total_squares / self.degrees_of_freedom

    @property
    def deviations(self) -> Array:
        """The standard deviation of every feature, in the units of the data."""
        spread = self.to_data(np.sqrt(self.rough.column_squares / self.degrees_of_freedom))
        constant = spread <= 16 * np.finfo(np.float64).eps * np.abs(self.rows.centring.mean)
        return np.where(constant, 0.0, spread).astype(self.rows.dtype)

    def divided(self, scale: Array) -> BlockSamples:
        """Every feature divided by its scale, a number in the units of the data."""
        return replace(self, exponent=0, scale=np.asarray(scale, dtype=np.float64))

    def features(self, columns: Array) -> Any:
        """Some of the features: samples in memory with their covariance, from one pass."""
        from orthoprox.blocks._moments import Moments
        from orthoprox.estimators._blocks import samples_of

        C = self.covariance.cross(columns, columns) * self.degrees_of_freedom
        nothing = np.zeros(len(columns))
        found = Moments(self.n_samples, nothing, C, nothing, nothing)
        part = samples_of(found, self.rows.dtype)
        return replace(part, exponent=part.exponent + self.exponent, mean=self.mean[columns])

    def to_data(self, value: Any, power: int = 1) -> Any:
        """A length of these samples (or a variance, power 2, and so on) in the units of the data."""
        scaled = times_power(value, power * self.exponent)
        return scaled if isinstance(value, np.ndarray) else float(scaled)

    def to_unit(self, value: float, power: int = 1) -> float:
        """A number in the units of the data in those of these samples."""
        return float(times_power(float(value), -power * self.exponent))
