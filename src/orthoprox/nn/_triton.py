"""Kernels of a step on a GPU in float32: what comes before and after the products, and whole steps of small matrices.

They compute what ``Stack.move`` computes, with fewer passes over memory. ``_fused`` decides where they are used.
"""
# mypy: disable-error-code="no-untyped-def,untyped-decorator"

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _curvature(knobs, square, matrix, SCALED: tl.constexpr):
    L = tl.load(knobs)
    if SCALED:
        s = tl.load(square + matrix)
        L = L * (tl.maximum(tl.sqrt(s * tl.load(knobs + 4)), 1e-19) + (s - s))  # NaN where s overflowed
    return L


@triton.jit
def _finite(excess):
    """Whether a number is neither infinite nor NaN."""
    return tl.abs(excess) < 3.4e38


@triton.jit
def _next_trust(excess, trust, reach):
    """The share of the next step, as in ``Stack.adapt``."""
    factor = tl.where(_finite(excess), tl.minimum(tl.maximum(0.7 * reach / excess, 1e-2), 2.0), 1e-2)
    return tl.minimum(tl.maximum(trust * factor, 1.2e-38), 1.0)


@triton.jit
def before(
    X, F, y, z, Y, trust, square, knobs, size, theta, SPLIT: tl.constexpr, SCALED: tl.constexpr, BLOCK: tl.constexpr
):
    """Y = X - step (gradient + z + beta (X - y)), for a piece of one matrix."""
    matrix = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask, at = at < size, matrix * size + at
    L = _curvature(knobs, square, matrix, SCALED)
    x, pull = tl.load(X + at, mask), tl.load(F + at, mask) * tl.load(knobs + 3)
    step = tl.load(trust + matrix) / (theta * L)
    if SPLIT:
        beta = L * tl.load(knobs + 2)
        step = tl.load(trust + matrix) / (theta * (L + beta))
        pull = pull + tl.load(z + at, mask) + beta * (x - tl.load(y + at, mask))
    tl.store(Y + at, x - step * pull, mask)


@triton.jit
def combine(E, square, q, left, right, rest, size, a, b, c, d, f, g, BLOCK: tl.constexpr):
    """The three matrices of the last product of the polynomial."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = at < size
    e, s, p = tl.load(E + at, mask), tl.load(square + at, mask), tl.load(q + at, mask)
    tl.store(left + at, p + a * s + b * e, mask)
    tl.store(right + at, p + c * s, mask)
    tl.store(rest + at, d * p + f * s + g * e, mask)


@triton.jit
def after(
    QY,
    Y,
    X,
    y,
    z,
    excess,
    trust,
    square,
    knobs,
    size,
    reach,
    h,
    l1,
    SPLIT: tl.constexpr,
    SCALED: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """X becomes Q Y + h Y where the step is taken; then the prox of the l1 norm and the multiplier."""
    matrix = tl.program_id(1).to(tl.int64)
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask, at = at < size, matrix * size + at
    over = tl.load(excess + matrix)
    new = tl.load(QY + at, mask) + h * tl.load(Y + at, mask)
    x = tl.where(over <= reach, new, tl.load(X + at, mask))
    tl.store(X + at, x, mask)
    if SPLIT:
        beta = _curvature(knobs, square, matrix, SCALED) * tl.load(knobs + 2)
        b, t = x + tl.load(z + at, mask) / beta, tl.load(knobs + 1) * l1 / beta
        inside, kept = tl.minimum(tl.maximum(b, -t), t), mask & _finite(over + tl.zeros((BLOCK,), tl.float32))
        tl.store(y + at, b - inside, kept)
        tl.store(z + at, beta * inside, kept)
    if tl.program_id(0) == 0:
        tl.store(trust + matrix, _next_trust(over, tl.load(trust + matrix), reach))


@triton.jit
def whole(
    X,
    F,
    y,
    z,
    excess,
    trust,
    square,
    knobs,
    p,
    n,
    short,
    long,
    theta,
    reach,
    l1,
    k0,
    k1,
    a,
    b,
    c,
    d,
    f,
    g,
    h,
    SPLIT: tl.constexpr,
    SCALED: tl.constexpr,
    P: tl.constexpr,
    N: tl.constexpr,
    PRECISION: tl.constexpr,
):
    """The whole step of one small matrix, with p rows on its short side and n on its long one."""
    matrix = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, P)[:, None], tl.arange(0, N)[None, :]
    mask, at = (i < p) & (j < n), matrix * p * n + i * short + j * long
    L = _curvature(knobs, square, matrix, SCALED)
    trusted = tl.load(trust + matrix)
    x = tl.load(X + at, mask, 0.0)
    pull = tl.load(F + at, mask, 0.0) * tl.load(knobs + 3)
    beta = L * tl.load(knobs + 2)
    step = trusted / (theta * L)
    if SPLIT:
        step = trusted / (theta * (L + beta))
        pull = pull + tl.load(z + at, mask, 0.0) + beta * (x - tl.load(y + at, mask, 0.0))
    Y = x - step * pull
    k = tl.arange(0, P)[None, :]
    E = tl.dot(Y, tl.trans(Y), input_precision=PRECISION) - tl.where((i == k) & (i < p), 1.0, 0.0)
    S = tl.dot(E, E, input_precision=PRECISION)
    over = tl.sqrt(tl.sqrt(tl.sum(S * S)))
    q = tl.dot(S, k0 * S + k1 * E, input_precision=PRECISION)
    Q = tl.dot(q + a * S + b * E, q + c * S, input_precision=PRECISION) + d * q + f * S + g * E
    new = h * Y + tl.dot(Q, Y, input_precision=PRECISION)
    x = tl.where(over <= reach, new, x)
    tl.store(X + at, x, mask)
    tl.store(excess + matrix, over)
    tl.store(trust + matrix, _next_trust(over, trusted, reach))
    if SPLIT:
        v, t = x + tl.load(z + at, mask, 0.0) / beta, tl.load(knobs + 1) * l1 / beta
        inside, kept = tl.minimum(tl.maximum(v, -t), t), mask & _finite(over + tl.zeros((P, N), tl.float32))
        tl.store(y + at, v - inside, kept)
        tl.store(z + at, beta * inside, kept)
