"""The time by which a run should end, for loops inside a step that may take long."""

from __future__ import annotations

import time
from contextvars import ContextVar

GRACE = 0.5
"""Seconds after the limit at which a long step is cut short: steps as short as this stay what they are."""

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def allow(seconds: float | None) -> None:
    """Let the loops inside a step end this many seconds from now, and a little; None for no limit."""
    _deadline.set(None if seconds is None else time.perf_counter() + seconds + GRACE)


def is_limited() -> bool:
    """Whether there is a limit at all."""
    return _deadline.get() is not None


def is_over() -> bool:
    """Whether a loop should end where it is, because the run ends after its step in any case."""
    deadline = _deadline.get()
    return deadline is not None and time.perf_counter() > deadline
