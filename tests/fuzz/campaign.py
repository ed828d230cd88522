"""How many cases a campaign tries: a few in `make test`, as many as asked for in `make fuzz`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, settings

CASES = int(os.environ.get("ORTHOPROX_FUZZ_CASES", "0"))
"""Cases of each campaign; 0 for the short form, the same cases every time."""


def campaign(short: int) -> Callable[[Any], Any]:
    """Settings for one campaign: ``short`` cases, or the number asked for, drawn anew from the seed."""
    if not CASES:
        return settings(max_examples=short, derandomize=True, phases=[Phase.generate])
    return settings(
        max_examples=CASES,
        derandomize=False,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
