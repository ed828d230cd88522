"""How long programs have taken to compile or record, which is no part of a method's time."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

_spent: ContextVar[float] = ContextVar("compiling", default=0.0)
_counting: ContextVar[bool] = ContextVar("counting", default=False)


def compile_seconds() -> float:
    """The seconds so far, in this thread."""
    return _spent.get()


def add_compile_seconds(seconds: float) -> None:
    """Count what a library compiled by itself, unless it did so inside of what is counted as a whole."""
    if not _counting.get():
        _spent.set(_spent.get() + seconds)


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Count what happens inside as compiling."""
    since, outer = time.perf_counter(), _counting.set(True)
    try:
        yield
    finally:
        _counting.reset(outer)
        add_compile_seconds(time.perf_counter() - since)
