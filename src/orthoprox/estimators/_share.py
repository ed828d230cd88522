"""Settings that may be a share."""

from __future__ import annotations

import numbers
from typing import Any


def is_share(value: Any) -> bool:
    """Whether this is a fraction between 0 and 1."""
    return isinstance(value, numbers.Real) and 0 < float(value) < 1
