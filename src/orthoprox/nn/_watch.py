"""Looking at a number on the device without waiting for it."""

from __future__ import annotations

from typing import Any

import torch


class Watch:
    """The latest value of a tensor without dimensions; on a GPU it may be a few steps old."""

    def __init__(self, like: Any) -> None:
        self._cuda = like.is_cuda
        self._host = torch.zeros((), dtype=like.dtype, pin_memory=True) if self._cuda else None
        self._event = torch.cuda.Event() if self._cuda else None
        self._pending = False

    def send(self, value: Any) -> None:
        """Ask for a value; nothing while an earlier one is on its way."""
        if self._event is None or self._host is None:
            self._host, self._pending = value.clone(), True
        elif not self._pending:
            self._host.copy_(value, non_blocking=True)
            self._event.record()
            self._pending = True

    def receive(self, wait: bool = False) -> float | None:
        """The value asked for, once it is here; None before."""
        if not self._pending or self._host is None:
            return None
        if self._event is not None:
            if wait:
                self._event.synchronize()
            if not self._event.query():
                return None
        self._pending = False
        return float(self._host)
