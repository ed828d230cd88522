"""How much has been read: blocks, bytes and workers, for progress."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Traffic:
    """What has passed since the rows were opened.

    Examples
    --------
    >>> from orthoprox.blocks import Traffic
    >>> print(Traffic(blocks=640, of=64, bytes=2 * 10**9, seconds=4.0, passes=10, workers=2))
    block 64 of 64, pass 10, 2 workers, 500 MB/s
    """

    blocks: int
    """Blocks that a product has used, counted once for each product."""
    of: int
    """The blocks of one pass."""
    bytes: int
    seconds: float
    """The time that products took."""
    passes: int
    """Products so far, the one at work included."""
    workers: int

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        here = (self.blocks - 1) % self.of + 1 if self.blocks else 0
        who = f"{self.workers} worker{'s' if self.workers != 1 else ''}"
        return f"block {here} of {self.of}, pass {self.passes}, {who}, {self.rate / 1e6:.0f} MB/s"


class Meter:
    """Counts; ``watch`` is called after every block, or after every product of a cluster."""

    def __init__(self, watch: Callable[[Traffic], None] | None = None) -> None:
        self.watch = watch
        self._blocks = self._of = self._bytes = self._passes = 0
        self._workers, self._seconds = 1, 0.0
        self._since: float | None = None

    def begin(self, of: int, workers: int) -> None:
        """A pass begins."""
        self._of, self._workers, self._passes = of, workers, self._passes + 1
        self._since = time.perf_counter()

    def count(self, blocks: int, size: int) -> None:
        """Blocks were used."""
        self._blocks, self._bytes = self._blocks + blocks, self._bytes + size
        if self.watch is not None:
            self.watch(self.traffic)

    def end(self) -> None:
        """A pass has ended."""
        self._seconds, self._since = self._seconds + self._running, None

    @property
    def _running(self) -> float:
        return 0.0 if self._since is None else time.perf_counter() - self._since

    @property
    def traffic(self) -> Traffic:
        """What has passed."""
        seconds = self._seconds + self._running
        return Traffic(self._blocks, self._of, self._bytes, seconds, self._passes, self._workers)
