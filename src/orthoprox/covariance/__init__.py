"""Covariances that are not formed as a whole: products with them, their diagonal, and blocks."""

from orthoprox.covariance._base import Covariance
from orthoprox.covariance.blocks import BlockCovariance
from orthoprox.covariance.dense import DenseCovariance
from orthoprox.covariance.device import DeviceCovariance
from orthoprox.covariance.sample import SampleCovariance
from orthoprox.covariance.variances import WithVariances

__all__ = [
    "BlockCovariance",
    "Covariance",
    "DenseCovariance",
    "DeviceCovariance",
    "SampleCovariance",
    "WithVariances",
]
