"""Steps on a processor: memory that is kept between steps, few passes over it, and decisions that cost nothing.

There the host may look at numbers while it goes. So it sees how far a stack is from orthonormal and takes a polynomial
of that degree, writes the weights in place unless a step has to be refused, and uses plain numbers where all matrices
have the same. The step is that of ``Stack.move``.
"""

from __future__ import annotations

from typing import Any

import torch

from orthoprox.manifolds.inverse_root import inverse_root, short_root
from orthoprox.nn._polar import correct, without_constant
from orthoprox.terms import L1


class Scratch:
    """Memory for what a step needs in between, shared by all stacks of an optimiser, which step one after the other."""

    def __init__(self) -> None:
        self._held: dict[Any, Any] = {}
        self.grown = 0
        """How often memory was replaced by more of it; tensors from before are to be asked for again."""

    def __call__(self, name: str, shape: tuple[int, ...], like: Any) -> Any:
        """A tensor with arbitrary values; the next one of that name and kind has the same memory."""
        count, key = torch.Size(shape).numel(), (name, like.dtype, like.device)
        held = self._held.get(key)
        if held is None or held.numel() < count:
            held = self._held[key] = torch.empty(count, dtype=like.dtype, device=like.device)
            self.grown += 1
        return held[:count].view(shape)


class Host:
    """The steps of one stack on a processor; ``make`` says whether it is on one."""

    def __init__(self, stack: Any, scratch: Scratch) -> None:
        self.stack, self.scratch = stack, scratch
        rule, penalty = stack.rule, stack.penalty
        plain = rule.sigma == 1.0 and rule.tau == 0.0
        self.l1 = penalty.h.weight if plain and penalty is not None and isinstance(penalty.h, L1) else None
        self._grown = -1

    def _memory(self) -> None:
        """Y and its transpose, and matrices of the short side."""
        if self._grown == self.scratch.grown:
            return
        s, p = self.stack, min(self.stack.shape[1:])
        self.Y = self.scratch("Y", s.shape, s.X)
        small = (self.scratch(name, (s.shape[0], p, p), s.X) for name in ("E", "E2", "Q"))
        self.E, self.square, self.Q = small
        self.factors = (self.Y, self.Y.mT) if s.shape[1] <= s.shape[2] else (self.Y.mT, self.Y)
        self.eye = torch.eye(p, dtype=s.X.dtype).expand(s.shape[0], p, p)
        self._grown = self.scratch.grown

    @staticmethod
    def make(stack: Any, scratch: Scratch | None) -> Host | None:
        return Host(stack, scratch or Scratch()) if stack.X.device.type == "cpu" else None

    def move(self, scaled: bool) -> None:
        """What ``Stack.move`` does."""
        s, (curvature, weight, growth, correction, _) = self.stack, self.stack.numbers
        L = s.curvature(scaled) if scaled else curvature
        beta = L * growth
        step = 1.0 / (s.rule.theta * (L if s.penalty is None else L + beta))
        shortened = float(s.trust.min()) < 1.0
        if shortened:
            step = step * s.trust.view(-1, 1, 1)
        self._memory()
        Y = self.Y
        if s.penalty is None:
            _sum(s.X, s.direction, -correction * step, Y)
        else:
            torch.lerp(s.X, s.y, step * beta, out=Y)
            _sum(Y, s.direction, -correction * step, Y)
            _sum(Y, s.z, -step, Y)
            if s.penalty.subtracts:
                _sum(Y, s.penalty.pull(s.X), weight * step, Y)
        within = self._project(shortened)
        if s.penalty is None:
            return
        if within and self.l1 is not None:
            self._split(beta, weight * self.l1)
        else:
            s.split(s.penalty, s.curvature(scaled) * s.knobs[2], s.knobs[1])

    def _project(self, shortened: bool) -> bool:
        """Move the weights to the polar factors of Y if all are within reach; otherwise only those that are."""
        s, E, Y = self.stack, self.E, self.Y
        torch.baddbmm(self.eye, *self.factors, beta=-1.0, out=E)
        torch.bmm(E, E, out=self.square)
        torch.linalg.vector_norm(self.square, dim=(1, 2), out=s.excess).sqrt_()
        torch.amax(s.excess, 0, out=s.worst)
        worst = float(s.worst)
        if not worst <= s.reach:
            s.accept(Y)
            return False
        if shortened or worst > s.aim:
            s.adapt()
        Q, h = self._polynomial(worst)
        if Y.dtype == torch.float64:
            Q = correct(Q, E, h)
        torch.baddbmm(Y, *((Q, Y) if s.shape[1] <= s.shape[2] else (Y, Q)), beta=h, out=s.X)
        return True

    def _polynomial(self, worst: float) -> tuple[Any, float]:
        """The inverse root of I + E less h I, and h: of the least degree that reaches as far as E is large."""
        E, square = self.E, self.square
        two, four, root = short_root(2), short_root(4), inverse_root()
        if worst > four.reach:
            return without_constant(root, E, square), root.h
        Q = E if E.dtype == torch.float32 else self.Q  # E is needed once more where digits are added
        if worst <= two.reach:
            k = two.coefficients
            return torch.add(E, square, alpha=k[2] / k[1], out=Q).mul_(k[1]), k[0]
        # with U = E^2 + u E, whose square has the powers 2, 3 and 4, it is k4 U^2 + c U + d E
        k = four.coefficients
        u = k[3] / (2 * k[4])
        c = k[2] - k[4] * u * u
        d = k[1] - c * u
        U = square.add_(E, alpha=u)
        torch.add(E, U, alpha=c / d, out=Q)
        return Q.baddbmm_(U, U, beta=d, alpha=k[4]), k[0]

    def _split(self, beta: Any, most: float) -> None:
        """S3 and S4 for an l1 norm at sigma = 1: z + beta X cut to [-most, most] is the new z, the rest is beta y."""
        s, v = self.stack, self.Y
        _sum(s.z, s.X, beta, v)
        torch.clamp(v, -most, most, out=s.z)
        torch.sub(v, s.z, out=s.y).mul_(1.0 / beta)


def _sum(A: Any, B: Any, factor: Any, out: Any) -> None:
    """A + factor B, where the factor is one number, or one for each matrix."""
    if isinstance(factor, float):
        torch.add(A, B, alpha=factor, out=out)
    else:
        torch.addcmul(A, B, factor, out=out)
