"""PyTorch: top-k, recorded steps, waiting for the device, moves to and from the host, numbers without a graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import torch

from orthoprox._fields import parts
from orthoprox._types import Array
from orthoprox.backends._base import Backend
from orthoprox.backends._graphs import LIBRARY
from orthoprox.backends._loops import GraphLoops
from orthoprox.backends._roots import inverse_roots
from orthoprox.backends._speculation import speculation

V = TypeVar("V")


class TorchBackend(Backend):
    """Tensors on any device."""

    name = "torch"

    def is_asynchronous(self, a: Array) -> bool:
        return a.device.type in RECORDED

    def stacks_pay(self, a: Array) -> bool:
        return a.device.type in RECORDED  # on a processor two take twice as long as a stack

    def vmap(self, function: Callable[..., Any], axes: tuple[Any, ...]) -> Callable[..., Any]:
        found: Callable[..., Any] = torch.func.vmap(function, in_dims=axes)
        return found

    def number(self, value: float, like: Array) -> Array:
        dtype = torch.bool if isinstance(value, bool) else like.dtype
        return torch.full((), value, dtype=dtype, device=like.device)

    def identity(self, size: int, like: Array) -> Array:
        return _identity(size, like.dtype, like.device)  # three launches each time it is made

    def repeat(self, step: Callable[[Any, V], V], problem: Any, state: V, count: int) -> V:
        device = _recording_device(state)
        if device is None or speculation() is not None:  # inside a program there is nothing left to record
            return super().repeat(step, problem, state, count)
        return LIBRARY.repeat(step, problem, state, count, device)

    def loops(self, like: Array) -> GraphLoops | None:
        return GraphLoops(like.device) if like.device.type in RECORDED else None

    def evaluate(self, function: Callable[[Any, Any], tuple[Any, ...]], problem: Any, state: Any) -> list[float]:
        device = _recording_device(state)
        found = None if device is None else LIBRARY.evaluate(function, problem, state, device)
        return super().evaluate(function, problem, state) if found is None else found

    def prefers_products(self, gram: Array) -> bool:
        return bool(gram.is_cuda)

    def inverse_root(self, gram: Array, steps: int) -> tuple[Array, Array] | None:
        return inverse_roots(gram, steps)

    def where(self, test: Any, yes: Any, no: Any) -> Any:
        if not isinstance(yes, torch.Tensor) and not isinstance(no, torch.Tensor):
            if yes == no:
                return yes
            # A bare number would become one of the default float type, which is single precision.
            kind = torch.float64 if isinstance(yes, float) or isinstance(no, float) else torch.int64
            yes = torch.full((), yes, dtype=kind, device=test.device)
        return torch.where(test, yes, no)

    def dot(self, a: Array, b: Array) -> Array:
        return torch.dot(a.reshape(-1), b.reshape(-1))

    def solve(self, K: Array, b: Array) -> Array:
        if not K.is_cuda:
            return self._solve(K, b)
        library = torch.backends.cuda.preferred_linalg_library
        before = library()
        library("cusolver")  # the other one waits for the host, and takes longer
        try:
            return self._solve(K, b)
        finally:
            library(before)

    @staticmethod
    def _solve(K: Array, b: Array) -> Array:
        found: Array = torch.linalg.solve_ex(K, b[:, None]).result[:, 0]  # nobody is asked whether K is singular
        return found

    def sign(self, a: Array) -> Array:
        return torch.where(torch.isnan(a), a, torch.sign(a))  # which by itself takes NaN for 0

    def clip(self, a: Array, low: Any, high: Any) -> Array:
        if isinstance(low, torch.Tensor) != isinstance(high, torch.Tensor):
            low, high = _tensor(low, a), _tensor(high, a)
        return torch.clamp(a, low, high)

    def top_k_mask(self, values: Array, k: int) -> Array:
        flat = values.reshape(-1)
        if k <= 0 or k >= flat.numel():
            return torch.full(values.shape, k > 0, device=values.device)
        kth = torch.topk(flat, k, sorted=True).values[-1]
        above, ties = flat > kth, flat == kth
        # topk breaks ties as it likes; the first ones by index win here, as everywhere.
        mask = above | (ties & (torch.cumsum(ties, 0) <= k - above.sum()))
        return mask.reshape(values.shape)

    def to_numpy(self, a: Array) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = a.numpy(force=True)
        return np.array(found) if a.device.type == "cpu" else found  # from elsewhere it is a copy already

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        copy = np.array(a, order="C")  # PyTorch knows no negative strides
        return torch.from_numpy(copy).to(dtype=like.dtype, device=like.device)

    def index(self, a: np.ndarray[Any, Any], like: Array, kept: dict[Any, Any]) -> Array:
        key = (id(a), like.device)
        if key not in kept:
            kept[key] = torch.from_numpy(a).to(like.device)
        return kept[key]

    def constant(self, a: Any) -> Any:
        # A user's function may hold parameters that are being learnt: its graph would grow with every iteration.
        return a.detach() if isinstance(a, torch.Tensor) else a

    def finish(self, a: Array) -> None:
        if a.is_cuda:
            torch.cuda.synchronize(a.device)

    def eps(self, a: Array) -> float:
        return float(torch.finfo(a.dtype).eps)


def _tensor(number: Any, like: torch.Tensor) -> torch.Tensor:
    if isinstance(number, torch.Tensor):
        return number
    return torch.full((), number, dtype=like.dtype, device=like.device)


@functools.lru_cache(maxsize=64)
def _identity(size: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    with torch.inference_mode(False):
        return torch.eye(size, dtype=dtype, device=device)


RECORDED = {"cuda"}
"""Kinds of device on which steps are recorded; on others a recording would only be slower."""


def _recording_device(state: Any) -> torch.device | None:
    """Where the tensors of a state live, if steps are recorded there."""
    device = next(part.device for part in parts(state) if isinstance(part, torch.Tensor) and part.ndim > 0)
    return device if device.type in RECORDED else None


TORCH = TorchBackend()
