"""Which sketch is made for how many features."""

from __future__ import annotations

from typing import Any

from orthoprox.sketches._base import CovarianceSketch, check_settings, check_size
from orthoprox.sketches.exact import ExactCovariance
from orthoprox.sketches.frequent import FrequentDirections

EXACT_FEATURES = 4000
"""Up to so many features the covariance itself is kept: 128 MB, and three times as much while a block is added."""


def new_sketch(n_features: int, size: Any = None, half_life: Any = None, least: int = 200) -> CovarianceSketch:
    """An empty sketch.

    Parameters
    ----------
    n_features : int
    size : int, optional
        How many directions to keep; as many as there are features or more means the covariance itself. Without it
        that is kept for up to 4,000 features, and ``least`` directions for more.
    half_life : float, optional
        After how many further samples a sample counts half, at least 1.
    least : int
        How many directions to keep where ``size`` is left out and the covariance is too large.

    Examples
    --------
    >>> from orthoprox.sketches import new_sketch
    >>> new_sketch(50), new_sketch(10_000)
    (ExactCovariance(50 features, 0 samples, half_life=None),
     FrequentDirections(10000 features, size=200, 0 samples, half_life=None))
    """
    n, half_life = check_settings(n_features, half_life)
    if size is None and n > EXACT_FEATURES:
        size = least
    if size is None or check_size(size) >= n:
        return ExactCovariance.empty(n, half_life)
    return FrequentDirections.empty(n, size, half_life)
