"""The covariance of samples that come in blocks, in bounded memory: exact, or the directions that matter most."""

from orthoprox.sketches._base import CovarianceSketch
from orthoprox.sketches._choice import EXACT_FEATURES, new_sketch
from orthoprox.sketches._file import load_sketch
from orthoprox.sketches.exact import ExactCovariance
from orthoprox.sketches.frequent import FrequentDirections

__all__ = [
    "EXACT_FEATURES",
    "CovarianceSketch",
    "ExactCovariance",
    "FrequentDirections",
    "load_sketch",
    "new_sketch",
]
