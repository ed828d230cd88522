"""Loops of programs that run operation by operation: one round is recorded as a CUDA graph, and replayed.

A batch of thousands of runs shrinks after every step or two, so recording whole steps would cost more than it saves.
But most of a step is one round of a loop, eighty times over, and to record a round takes as long as to launch it once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import torch

from orthoprox.backends._graphs import Buffers
from orthoprox.backends._speculation import Speculation

V = TypeVar("V")
WORTH = 4
"""Rounds from which on a recording pays: one goes by hand, one is recorded."""


class GraphLoops:
    """What runs the loops of programs on one device. The recordings share their memory, which ends with this object."""

    def __init__(self, device: torch.device) -> None:
        self._device, self._records = device, True
        self._side: Any = None
        self._pool: Any = None
        self._last: Any = None
        """A stream to record on, the memory of recordings, and the newest of them, which holds that memory."""

    def run(self, body: Callable[[V], V], state: V, count: int, program: Speculation) -> V:
        """The state after so many rounds; if a round cannot be recorded, they go operation by operation."""
        if count < WORTH or not self._records or self._is_recording():
            return _by_hand(body, state, count)
        with program.aside() as found:
            state = body(state)  # only then has it the layout that it keeps
        _tell(program, found)
        try:
            return self._replay(body, state, count - 1, program, found)
        except Exception:
            self._records = False
            return _by_hand(body, state, count - 1)

    def _replay(self, body: Callable[[V], V], state: V, count: int, program: Speculation, first: list[Any]) -> V:
        buffers = Buffers(state, self._device)
        right = [test if test is True else test.clone() for test in first]

        def act() -> None:
            with program.aside() as found:
                new = body(buffers.view())
            buffers.store(new)
            for test, one in zip(right, found, strict=True):
                if one is True:
                    continue
                if test is True:  # where a number of Python's has become one of the device
                    raise RuntimeError("This round assumes what the first did not, and there is no place to note it.")
                test &= one

        replay = self._recorded(act)
        for _ in range(count):
            replay()
        _tell(program, right)
        last: V = buffers.view()
        return last

    def _recorded(self, act: Callable[[], None]) -> Callable[[], None]:
        """What does it once: on the processor, where only tests come this way, the act itself."""
        if self._device.type != "cuda":
            return act
        if self._side is None:
            self._side, self._pool = torch.cuda.Stream(self._device), torch.cuda.graph_pool_handle()
        graph = torch.cuda.CUDAGraph()
        # Not torch.cuda.graph: it waits for the device, collects garbage and empties caches, for milliseconds.
        self._side.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._side):
            graph.capture_begin(pool=self._pool, capture_error_mode="thread_local")
            try:
                act()
            finally:
                graph.capture_end()
        self._last = graph
        replay: Callable[[], None] = graph.replay
        return replay

    def _is_recording(self) -> bool:
        """Whether the program is being recorded as a whole."""
        return self._device.type == "cuda" and bool(torch.cuda.is_current_stream_capturing())


def _by_hand(body: Callable[[V], V], state: V, count: int) -> V:
    for _ in range(count):
        state = body(state)
    return state


def _tell(program: Speculation, found: list[Any]) -> None:
    """Hand on what rounds assumed."""
    usual, enough = found
    if usual is not True:
        program.assume(usual)
    if enough is not True:
        program.settle(enough)
