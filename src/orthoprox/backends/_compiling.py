"""How long programs have taken to compile or record, which is no part of a method's time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

_spent: ContextVar[float] = ContextVar("compiling", default=0.0)


def compile_seconds() -> float:
    """The seconds so far, in this thread."""
    return _spent.get()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Count what happens inside as compiling."""
    since = time.perf_counter()
    try:
        yield
    finally:
        _spent.set(_spent.get() + time.perf_counter() - since)
