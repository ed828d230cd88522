"""Optional libraries, imported only when used."""

from __future__ import annotations

import contextlib
import importlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


def extra(module: str, name: str, purpose: str) -> Any:
    """Import an optional library, or say which extra brings it."""
    try:
        with _holding_interrupts():
            return importlib.import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f"{purpose} needs {package}, which is not installed: pip install 'orthoprox[{name}]', or in a clone "
            f"pip install '.[{name}]'.",
            name=package,
        ) from None


@contextlib.contextmanager
def _holding_interrupts() -> Iterator[None]:
    """Let Ctrl-C wait until the block ends: numba, interrupted in its import, cannot be imported in that process again.

    Only the main thread is interrupted, and only it may say what happens then.
    """
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is None:
        yield
        return
    held = []
    before = signal.signal(signal.SIGINT, lambda *_: held.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            signal.raise_signal(signal.SIGINT)
