"""PyTorch: top-k, waiting for the device, moves to and from the host, numbers without a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from orthoprox._types import Array
from orthoprox.backends._base import Backend


class TorchBackend(Backend):
    """Tensors on any device."""

    name = "torch"

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
        return np.array(a.numpy(force=True))

    def from_numpy(self, a: np.ndarray[Any, Any], like: Array) -> Array:
        copy = np.array(a, order="C")  # PyTorch knows no negative strides
        return torch.from_numpy(copy).to(dtype=like.dtype, device=like.device)

    def constant(self, a: Any) -> Any:
        # A user's function may hold parameters that are being learnt: its graph would grow with every iteration.
        return a.detach() if isinstance(a, torch.Tensor) else a

    def finish(self, a: Array) -> None:
        if a.is_cuda:
            torch.cuda.synchronize(a.device)

    def eps(self, a: Array) -> float:
        return float(torch.finfo(a.dtype).eps)


TORCH = TorchBackend()
