"""Gaussian random matrices."""

from __future__ import annotations

from orthoprox.datasets._base import Dataset, Drawn
from orthoprox.datasets._prepare import unit_then_centred

RANDN = Dataset(
    name="randn",
    summary="independent Gaussian numbers, drawn from the seed",
    shape=None,
    source="numpy.random.default_rng(seed).standard_normal((samples, features))",
    licence="none needed",
    origin=Drawn(lambda rng, m, n: rng.standard_normal((m, n))),
    recipe=unit_then_centred,
)
