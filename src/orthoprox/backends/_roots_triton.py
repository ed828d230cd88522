"""The kernel of ``_roots``: Newton-Schulz steps on one tiny matrix, all of them in its registers."""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _product(A, B):
    return tl.sum(A[:, :, None] * B[None, :, :], axis=1)


@triton.jit
def inverse_root(gram, root, residual, r, STEPS: tl.constexpr, R: tl.constexpr):
    """The inverse square root S of a matrix, and the largest entry of S G S - I before the last step."""
    matrix = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, R)[:, None], tl.arange(0, R)[None, :]
    mask, at = (i < r) & (j < r), matrix * r * r + i * r + j
    G = tl.load(gram + at, mask, 0.0)
    identity = tl.where((i == j) & (i < r), 1.0, 0.0).to(G.dtype)
    trace, largest = tl.sum(tl.sum(G * identity, axis=1), axis=0), tl.max(tl.sum(tl.abs(G), axis=0), axis=0)
    scale = tl.maximum(2 * trace / r, largest)
    H = G / scale
    S = identity * tl.sqrt(2 / scale)
    for _ in range(STEPS - 1):
        T = 1.5 * identity - H
        S = _product(S, T)
        H = _product(T, _product(H, T))
    S = _product(S, 1.5 * identity - H)
    off = tl.max(tl.max(tl.abs(H - 0.5 * identity), axis=1), axis=0)
    total = tl.sum(tl.sum(H, axis=1), axis=0)
    tl.store(root + at, S, mask)
    tl.store(residual + matrix, 2 * off + (total - total))  # a maximum passes over NaN, a sum does not
