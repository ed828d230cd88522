"""Gaussian random matrices."""

from __future__ import annotations

from orthoprox.datasets._base import Dataset, RandomOrigin
from orthoprox.datasets._prepare import scale_then_centre

RANDN = Dataset(
    name="randn",
    summary="independent Gaussian numbers, drawn from the seed",
    shape=None,
    source="numpy.random.default_rng(seed).standard_normal((samples, features))",
    licence="none needed",
    origin=RandomOrigin(lambda rng, m, n: rng.standard_normal((m, n))),
    recipe=scale_then_centre,
)
