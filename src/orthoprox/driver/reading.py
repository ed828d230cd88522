"""A bar of the blocks that are read."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from orthoprox.blocks import Rows, Traffic
from orthoprox.driver.observers import bar_class


class Reading:
    """A live bar with blocks, passes, workers and rate, from now until it is closed.

    Whoever watched the rows before is told as well, and alone again afterwards.

    Parameters
    ----------
    rows : Rows
    file : text stream
        Standard error by default.
    every : float
        Seconds between two refreshes.
    """

    def __init__(self, rows: Rows, file: TextIO | None = None, every: float = 0.1) -> None:
        self.rows, self.file, self.every = rows, file, every
        self._bar: Any = None
        self._next = 0.0
        self._before = rows.watch(self._show)

    def _show(self, now: Traffic) -> None:
        if self._before is not None:
            self._before(now)
        moment = time.monotonic()
        if moment < self._next and now.blocks % now.of:
            return
        self._next = moment + self.every
        if self._bar is None:
            file = sys.stderr if self.file is None else self.file
            self._bar = bar_class()(total=now.of, desc="reading", unit="block", file=file, initial=0, leave=True)
        self._bar.total, self._bar.n = now.of * now.passes, now.blocks
        self._bar.set_postfix_str(str(now).partition(", ")[2], refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        """Leave the last values on the screen."""
        self.rows.watch(self._before)
        if self._bar is not None:
            self._bar.close()
            self._bar = None
