"""CUDA graphs: a step of some thirty short kernels as one launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_WARM = 3  # steps before a capture, in which libraries set themselves up
_MOST = 1 << 25  # entries; larger stacks are busy anyway, and a graph keeps its temporary memory


class Replay:
    """A function without arguments on fixed memory, recorded once and replayed from then on."""

    def __init__(self, function: Callable[[], None], like: Any, entries: int, wanted: bool) -> None:
        self._function, self._graph, self._calls = function, None, 0
        self._device = like.device
        self._may = wanted and like.is_cuda and entries <= _MOST

    def __call__(self) -> None:
        if self._graph is not None:
            self._graph.replay()
            return
        self._function()
        self._calls += 1
        if self._may and self._calls == _WARM:
            self._capture()

    def _capture(self) -> None:
        graph: Any = torch.cuda.CUDAGraph()
        try:
            # Other threads may go on using the GPU meanwhile: loaders of data, the watchdog of a process group.
            with torch.cuda.device(self._device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._function()
        except RuntimeError:  # a penalty that asks the host: it goes on without
            self._may = False
        else:
            self._graph = graph


def not_compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """A step that is called from a compiled function runs as it is: it looks at addresses and numbers."""
    disable = getattr(torch, "_disable_dynamo", None)
    return function if disable is None else disable(function)
