"""Steps with fewer passes over memory, on GPUs with Triton: which stacks they serve, and how they are launched."""

from __future__ import annotations

import functools
import importlib
from typing import Any

import torch

from orthoprox.manifolds.inverse_root import inverse_root
from orthoprox.nn._polar import polar_near
from orthoprox.terms import L1

_SMALL = {"tf32x3": 64, "ieee": 32}  # the longest side of matrices whose whole step is one kernel; more compiles slowly
_BLOCK = 1024
_CLOSE = 1e-5  # how far a fused step may be from the plain one, in the trial that every process makes once


class Fused:
    """The fused steps of one stack; ``make`` says whether there are any."""

    def __init__(self, stack: Any, kernels: Any, precision: str) -> None:
        self.stack, self.kernels, self.precision = stack, kernels, precision
        b, m, n = stack.shape
        self.small = max(m, n) <= _SMALL[precision]
        penalty = stack.penalty
        self.split = penalty is not None
        self.l1 = penalty.h.weight if penalty is not None else 0.0
        self.size = m * n
        self.grid = (-(-self.size // _BLOCK), b)

    @staticmethod
    def make(stack: Any) -> Fused | None:
        """Fused steps where they can be had: float32 on a GPU, and no penalty or the l1 norm, less some g."""
        rule, penalty = stack.rule, stack.penalty
        usual = rule.sigma == 1.0 and rule.tau == 0.0
        if penalty is not None and not (isinstance(penalty.h, L1) and usual):
            return None
        if not (stack.X.is_cuda and stack.X.dtype == torch.float32 and stack.shape[0] < 65536):
            return None
        found = kernels_for(stack.X.device)
        return None if found is None else Fused(stack, *found)

    def move(self, scaled: bool) -> None:
        """What ``Stack.move`` does."""
        s = self.stack
        F = s.direction
        if s.penalty is not None and s.penalty.subtracts:
            F = F - (s.knobs[1] / s.knobs[3]) * s.penalty.pull(s.X)
        y, z = (s.y, s.z) if self.split else (s.X, s.X)
        if self.small:
            self._whole(F, y, z, scaled)
        else:
            self._in_parts(F, y, z, scaled)
        torch.amax(s.excess, 0, out=s.worst)

    def _whole(self, F: Any, y: Any, z: Any, scaled: bool) -> None:
        s, root = self.stack, inverse_root()
        b, m, n = s.shape
        p, long = min(m, n), max(m, n)
        strides = (n, 1) if m <= n else (1, n)
        P, N = (max(16, 1 << (k - 1).bit_length()) for k in (p, long))
        self.kernels.whole[(b,)](
            s.X, F, y, z, s.excess, s.trust, s.square, s.knobs, p, long, *strides, s.rule.theta, s.reach, self.l1,
            *root[:9], SPLIT=self.split, SCALED=scaled, P=P, N=N, PRECISION=self.precision,
            num_warps=warps(P * N),
        )  # fmt: skip

    def _in_parts(self, F: Any, y: Any, z: Any, scaled: bool) -> None:
        s, root, kernels = self.stack, inverse_root(), self.kernels
        how = {"SPLIT": self.split, "SCALED": scaled, "BLOCK": _BLOCK}
        Y = torch.empty_like(s.X)
        kernels.before[self.grid](s.X, F, y, z, Y, s.trust, s.square, s.knobs, self.size, s.rule.theta, **how)
        wide = s.shape[1] <= s.shape[2]
        E = torch.bmm(Y, Y.mT) if wide else torch.bmm(Y.mT, Y)
        E.diagonal(dim1=1, dim2=2).sub_(1.0)
        square = torch.bmm(E, E)
        torch.linalg.vector_norm(square, dim=(1, 2), out=s.excess).sqrt_()
        q = torch.bmm(square, torch.add(root.y * E, square, alpha=root.x))
        left, right, rest = (torch.empty_like(E) for _ in range(3))
        count = E.numel()
        kernels.combine[(-(-count // _BLOCK),)](E, square, q, left, right, rest, count, *root[2:8], BLOCK=_BLOCK)
        Q = rest.baddbmm_(left, right)
        QY = torch.bmm(Q, Y) if wide else torch.bmm(Y, Q)
        kernels.after[self.grid](
            QY, Y, s.X, y, z, s.excess, s.trust, s.square, s.knobs, self.size, s.reach, root.h, self.l1, **how
        )


def warps(entries: int) -> int:
    """How many warps work on a small matrix."""
    return 4 if entries > 2048 else 2 if entries > 512 else 1


@functools.cache
def kernels_for(device: Any) -> tuple[Any, str] | None:
    """The kernels and the precision of their products, after a trial; None where they do not work.

    Three products in TF32 give nearly all digits of float32 and use the fast units; a device without them computes in
    plain float32. What fails, fails here: Triton missing, no compiler, another kind of GPU.
    """
    try:
        kernels = importlib.import_module("orthoprox.nn._triton")
    except ImportError:
        return None
    for precision in ("tf32x3", "ieee"):
        try:
            if _agrees(kernels, precision, device):
                return kernels, precision
        except Exception:
            continue
    return None


def _agrees(kernels: Any, precision: str, device: Any) -> bool:
    """Whether one fused projection is that of :func:`polar_near`, on a matrix that is off by as much as may be."""
    draw = torch.Generator().manual_seed(0)
    X = torch.linalg.qr(torch.randn(3, 40, 24, generator=draw))[0].mT.contiguous().to(device)
    F = torch.randn(X.shape, generator=draw).to(device)
    ones, knobs = torch.ones(3, device=device), torch.tensor([60.0, 0, 0, 1, 1], device=device)
    wanted = polar_near(X - F / 60.0)
    excess, root = torch.zeros(3, device=device), inverse_root()
    kernels.whole[(3,)](
        X, F, X, X, excess, ones, ones, knobs, 24, 40, 40, 1, 1.0, root.reach, 0.0, *root[:9],
        SPLIT=False, SCALED=False, P=32, N=64, PRECISION=precision, num_warps=4,
    )  # fmt: skip
    short = torch.bmm(X.double(), X.double().mT) - torch.eye(24, device=device, dtype=torch.float64)
    inside = bool((wanted.excess < root.reach).all())
    return inside and float((X - wanted.X).abs().max()) < _CLOSE and float(short.abs().max()) < 0.2 * _CLOSE
