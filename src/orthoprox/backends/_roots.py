"""Inverse square roots of tiny matrices on a GPU, in one kernel for a whole stack of them.

By products of matrices they take some thirty launches for each polar factor, and stacks of tiny matrices are what
libraries multiply worst: 10,000 products of 5 by 5 take an H200 57 microseconds, where the data would take one.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

LARGEST = 16
"""Rows of a matrix that fits the registers of a few warps."""


def inverse_roots(gram: Any, steps: int) -> tuple[Any, Any] | None:
    """What ``manifolds._polar`` computes by products, and None where there is no kernel for it."""
    if not gram.is_cuda or gram.requires_grad or gram.shape[-1] > LARGEST:
        return None
    return roots(gram, steps) if _works(gram.device, gram.dtype, _size(gram.shape[-1])) else None


def roots(gram: Any, steps: int) -> tuple[Any, Any]:
    """The same by the kernel, of each matrix of a stack.

    Inside ``vmap`` a matrix stands for a whole stack, which is taken out here and whose roots are wrapped again. As an
    operator of PyTorch's with a rule for ``vmap`` a call would take Python seven times as long, and a block has 80 of
    them. The functions for it are not public, so ``_works`` tries them.
    """
    stacks = torch._C._functorch
    if stacks.is_batchedtensor(gram):
        level, axis = stacks.maybe_get_level(gram), stacks.maybe_get_bdim(gram)
        root, residual = roots(stacks.get_unwrapped(gram).movedim(axis, 0), steps)
        return stacks._add_batch_dim(root, 0, level), stacks._add_batch_dim(residual, 0, level)
    root, residual = torch.empty_like(gram, memory_format=torch.contiguous_format), gram.new_empty(gram.shape[:-2])
    _launch(gram.contiguous(), root, residual, steps)
    return root, residual


def _launch(gram: torch.Tensor, root: torch.Tensor, residual: torch.Tensor, steps: int) -> None:
    """Fill two tensors with the roots of a stack and what is left to be desired of each."""
    r = gram.shape[-1]
    size = _size(r)
    grid = (max(residual.numel(), 1),)
    _kernels().inverse_root[grid](gram, root, residual, r, STEPS=steps, R=size, num_warps=1 if size == 8 else 4)


@functools.cache
def _kernels() -> Any:
    """Without Triton an error, which ``_works`` hears."""
    return importlib.import_module("orthoprox.backends._roots_triton")


def _size(r: int) -> int:
    """The matrices that the kernel knows, of which the others are a corner."""
    return 8 if r <= 8 else LARGEST


@functools.cache
def _works(device: Any, dtype: Any, size: int) -> bool:
    """Whether the kernel gives a known inverse root to rounding; what fails, fails here.

    In float32 the larger one does not: it is off by as much as products in TF32 are, which a compiler may make of sums.
    """
    try:
        kind, r = {"dtype": dtype, "device": device}, size - 3
        values, v = 1.0 + torch.arange(r, **kind) / r, torch.ones(r, 1, **kind) / r**0.5
        turn = torch.eye(r, **kind) - 2 * v @ v.T  # a reflection: known eigenvectors
        one = turn * values @ turn
        root, residual = torch.func.vmap(lambda gram: roots(gram, 12))(torch.stack([one, 4 * one]))
        off = torch.stack([root[0], 2 * root[1]]) - turn * values**-0.5 @ turn
        return float(off.abs().max()) < 1e3 * torch.finfo(dtype).eps and float(residual.max()) < 1e-3
    except Exception:
        return False
