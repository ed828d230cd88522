"""Inverse square roots of tiny matrices on a GPU, in one kernel for a whole stack of them.

By products of matrices they take some thirty launches for each polar factor, and stacks of tiny matrices are what
libraries multiply worst: 10,000 products of 5 by 5 take an H200 57 microseconds, where the data would take one.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch
from torch import library

LARGEST = 16
"""Rows of a matrix that fits the registers of a few warps."""


def inverse_roots(gram: Any, steps: int) -> tuple[Any, Any] | None:
    """What ``manifolds._polar`` computes by products, and None where there is no kernel for it."""
    if not gram.is_cuda or gram.shape[-1] > LARGEST or not _works(gram.device, gram.dtype, _size(gram.shape[-1])):
        return None
    found: tuple[Any, Any] = _operator()(gram, steps)
    return found


def _size(r: int) -> int:
    """The matrices that the kernel knows, of which the others are a corner."""
    return 8 if r <= 8 else LARGEST


@functools.cache
def _operator() -> Any:
    """The kernel as an operator of PyTorch's, which knows what it is for a stack; None without Triton."""
    try:
        kernels = importlib.import_module("orthoprox.backends._roots_triton")
        register = library.register_vmap
    except (ImportError, AttributeError):
        return None

    def launch(gram: torch.Tensor, steps: int) -> tuple[torch.Tensor, torch.Tensor]:
        r, stack = gram.shape[-1], gram.contiguous()
        root, residual = torch.empty_like(stack), stack.new_empty(stack.shape[:-2])
        size = _size(r)
        grid = (max(residual.numel(), 1),)
        kernels.inverse_root[grid](stack, root, residual, r, STEPS=steps, R=size, num_warps=1 if size == 8 else 4)
        return root, residual

    operator = library.custom_op("orthoprox::inverse_roots", launch, mutates_args=())

    def together(info: Any, axes: Any, gram: Any, steps: int) -> Any:
        return operator(gram.movedim(axes[0], 0), steps), (0, 0)

    register(operator, together)
    return operator


@functools.cache
def _works(device: Any, dtype: Any, size: int) -> bool:
    """Whether the kernel gives a known inverse root to rounding; what fails, fails here.

    In float32 the larger one does not: it is off by as much as products in TF32 are, which a compiler may make of sums.
    """
    try:
        operator = _operator()
        if operator is None:
            return False
        kind, r = {"dtype": dtype, "device": device}, size - 3
        values, v = 1.0 + torch.arange(r, **kind) / r, torch.ones(r, 1, **kind) / r**0.5
        turn = torch.eye(r, **kind) - 2 * v @ v.T  # a reflection: known eigenvectors
        root, residual = operator(turn * values @ turn, 12)
        off = root - turn * values**-0.5 @ turn
        return float(off.abs().max()) < 1e3 * torch.finfo(dtype).eps and float(residual) < 1e-3
    except Exception:
        return False
