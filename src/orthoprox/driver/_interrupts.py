"""Ctrl-C during a run: it ends the loop, and waits while the result is put together."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any, Self


class Interrupts:
    """Holds back Ctrl-C inside the context, except where ``raised`` lets it through.

    One that comes elsewhere waits, and ``came`` tells of it: what was begun is completed. Another one does not wait.
    Only Python's own handler is replaced: one that the program has set stays in charge, and threads other than the
    main one are never interrupted.
    """

    def __init__(self) -> None:
        self.came = False
        self._through = self._waiting = False
        self._before: Any = None

    def __enter__(self) -> Self:
        current = signal.getsignal(signal.SIGINT)
        ours = isinstance(getattr(current, "__self__", None), Interrupts)  # a run inside a run
        if threading.current_thread() is threading.main_thread() and (current is signal.default_int_handler or ours):
            self._before = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def raised(self) -> Iterator[None]:
        """Let the first Ctrl-C through; whoever enters here catches KeyboardInterrupt outside."""
        self._through = True
        try:
            yield
        finally:
            self._through = False

    def _hear(self, *_: object) -> None:
        self.came = True
        if self._through or self._waiting:
            self._through = False
            raise KeyboardInterrupt
        self._waiting = True
