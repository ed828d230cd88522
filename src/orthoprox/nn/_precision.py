"""Products in the precision of their factors, whatever the caller allows elsewhere."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch


@contextlib.contextmanager
def full_precision(like: Any) -> Iterator[None]:
    """A block without autocasting and without TF32 or bfloat16 inside products of float32, on the device of a tensor.

    Orthonormality to 1e-5 needs the 24 bits of float32, and TF32 has 11.
    """
    with torch.no_grad(), torch.autocast(like.device.type, enabled=False), contextlib.ExitStack() as settings:
        if like.is_cuda:
            settings.enter_context(torch.cuda.device(like.device))
        for holder, name, exact in _settings(like.device.type):
            before = getattr(holder, name)
            if before != exact:
                setattr(holder, name, exact)
                settings.callback(setattr, holder, name, before)
        yield


def _settings(device: str) -> list[tuple[Any, str, Any]]:
    """Where PyTorch keeps the precision of float32 products on a device, and the value for full precision."""
    matmul = torch.backends.cuda.matmul if device == "cuda" else getattr(torch.backends.mkldnn, "matmul", None)
    if matmul is not None and hasattr(matmul, "fp32_precision"):
        return [(matmul, "fp32_precision", "ieee")]
    return [(matmul, "allow_tf32", False)] if device == "cuda" else []
