"""One step of stochastic OADMM-EP on all parameters of one shape at once."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch

from orthoprox.manifolds.inverse_root import inverse_root
from orthoprox.nn._fused import Fused
from orthoprox.nn._groups import places_of
from orthoprox.nn._host import Host, Scratch
from orthoprox.nn._marks import Mark
from orthoprox.nn._penalty import Penalty
from orthoprox.nn._polar import are_orthonormal, nearest, polar_near
from orthoprox.nn._precision import full_precision
from orthoprox.nn._spectral import steepest_step

_AIM = 0.7  # the share of the reach that the next step is to use at most; the rest is for what it does not foresee
_BACK = 2.0  # a shortened step grows again by this factor at most at once
_LEAST = 1e-2  # a refused step is shortened to this share at most at once


@dataclass(frozen=True)
class Rule:
    """The constants of the method, in the letters of the paper; ``beta`` is in units of the curvature 1/step."""

    beta: float = 1.0
    theta: float = 1.0
    sigma: float = 1.0
    tau: float = 0.0
    xi: float = 0.0
    p: float = 1 / 3

    def growth(self, t: int) -> float:
        """The penalty of the splitting at step t over the curvature."""
        return self.beta * (1.0 + self.xi * math.pow(t, self.p))


class Stack:
    """The parameters of one shape, their state in stacked tensors, and the step.

    The step decides on the device and never waits for it. Steps are shortened to stay within the reach of the
    polynomial for the polar factor. A matrix whose step would leave it all the same stays where it is, and so does one
    with a gradient that is not finite.
    """

    def __init__(
        self,
        params: list[Any],
        marks: list[Mark],
        penalty: Penalty | None,
        rule: Rule,
        state: Any,
        scratch: Scratch | None = None,
        *,
        nesterov: bool = False,
        tangent: bool = False,
        norm: str = "frobenius",
    ) -> None:
        self.params, self.marks, self.penalty, self.rule = params, marks, penalty, rule
        self.nesterov, self.tangent, self.spectral = nesterov, tangent, norm == "spectral"
        shapes = [mark.shape(p) for p, mark in zip(params, marks, strict=True)]
        counts, (m, n) = [s[0] for s in shapes], shapes[0][1:]
        self.shape, first = (sum(counts), m, n), params[0]
        self.reach = inverse_root().reach
        self.aim = _AIM * self.reach
        like = {"dtype": first.dtype, "device": first.device}
        alone = marks[0].read(first) if len(params) == 1 else None
        # The parameter's own memory where it is one stack by itself.
        self.alone = alone is not None and alone.data_ptr() == first.data_ptr() and alone.is_contiguous()
        self.X: Any = torch.empty(self.shape, **like)
        if self.alone:
            self.X = alone
        ends = [sum(counts[: i + 1]) for i in range(len(counts))]
        self._pieces = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
        self.views = [mark.view(p.detach()) for p, mark in zip(params, marks, strict=True)]
        self.slots = self._slots(self.X)
        self._members = [(p, mark, mark.way in ("batch", "out")) for p, mark in zip(params, marks, strict=True)]
        self.read()
        self.momentum = self._keep("momentum", torch.zeros(self.shape, **like), state)
        self.trust = self._keep("trust", torch.ones(self.shape[0], **like), state)
        self.square = self._keep("square", torch.zeros(self.shape[0], **like), state)
        if penalty is not None:
            self.y = self._keep("y", self.X.clone(), state)
            self.z = self._keep("z", torch.zeros(self.shape, **like), state)
        self.momentum_slots = self._slots(self.momentum)
        # The gradients, and then the average that the next step would have if its gradients were the same: Nesterov's.
        self.ahead: Any = torch.zeros_like(self.momentum) if nesterov or tangent else None
        self.ahead_slots = self._slots(self.ahead) if nesterov or tangent else []
        self.direction = self.ahead if nesterov else self.momentum
        self.excess = torch.zeros(self.shape[0], **like)
        self.worst = torch.zeros((), **like)
        self.knobs = torch.zeros(5, **like)
        self.numbers: tuple[float, ...] = ()
        self.places = places_of(params)
        self.fused: Fused | Host | None = None
        if self.spectral:
            self.trust.fill_(1.0)  # a step knows its length
        else:
            self.fused = Fused.make(self) or Host.make(self, scratch)

    def _slots(self, stack: Any) -> list[Any]:
        """The part of a stack that belongs to each parameter, with the axes of its view."""
        return [stack[piece].view(view.shape) for piece, view in zip(self._pieces, self.views, strict=True)]

    def _keep(self, name: str, fresh: Any, state: Any) -> Any:
        """A stacked tensor with what the state has of it, which from now on is a view of it."""
        for p, piece in zip(self.params, self._pieces, strict=True):
            known = state[p].get(name)
            if known is not None:
                if known.shape != fresh[piece].shape:
                    raise ValueError(
                        f"A parameter of shape {tuple(p.shape)} has an optimiser state for {tuple(known.shape)}, say "
                        "from another model, or because orthogonal_ was called again: make a new optimiser."
                    )
                fresh[piece].copy_(known)
            state[p][name] = fresh[piece]
        return fresh

    def piece(self, p: Any, stack: Any) -> Any:
        """The part of a stacked tensor that belongs to a parameter."""
        return next(stack[piece] for q, piece in zip(self.params, self._pieces, strict=True) if q is p)

    def moved(self) -> bool:
        """Whether a parameter lies somewhere else by now, so that the stack has to be made anew."""
        return self.places != places_of(self.params)

    def read(self) -> None:
        """Take the weights from the parameters."""
        if not self.alone:
            torch._foreach_copy_(self.slots, self.views)

    def write(self) -> None:
        """Put the weights into the parameters."""
        if not self.alone:
            torch._foreach_copy_(self.views, self.slots)

    def set_knobs(self, *values: float) -> None:
        """The numbers that may change from step to step: curvature, weight, penalty, corrections of both moments."""
        if values != self.numbers:
            kind, curvature = torch.finfo(self.knobs.dtype), values[0]
            if not kind.tiny <= curvature <= kind.max:
                raise ValueError(
                    f"lr and momentum give a curvature of {curvature:.3g}, which {self.knobs.dtype} cannot hold: "
                    "choose an lr that is neither so small nor so large."
                )
            self.numbers = values
            self.knobs.copy_(torch.tensor(values, dtype=self.knobs.dtype), non_blocking=True)

    def average(self, fresh: float, fresh_square: float | None) -> None:
        """Bring the gradients into the moments; the second is one number for each matrix, its square per short side."""
        grads = [p.grad if plain else mark.view(p.grad) for p, mark, plain in self._members]
        if self.ahead is None:
            torch._foreach_lerp_(self.momentum_slots, grads, fresh)
        elif self.alone and not self.tangent:
            self.momentum_slots[0].lerp_(grads[0], fresh)
            torch.lerp(self.momentum_slots[0], grads[0], fresh, out=self.ahead_slots[0])
        else:
            torch._foreach_copy_(self.ahead_slots, grads)
            if self.tangent:
                self._drop_normal_part(self.ahead)
            self.momentum.lerp_(self.ahead, fresh)
            if self.nesterov:
                torch.lerp(self.momentum, self.ahead, fresh, out=self.ahead)
        if fresh_square is not None:
            if self.tangent:
                G = self.ahead
            else:
                G = grads[0] if self.alone else torch.cat([g.reshape(-1, *self.shape[1:]) for g in grads])
            square = torch.linalg.vector_norm(G.reshape(self.shape), dim=(1, 2)).square_()
            self.square.lerp_(square / min(self.shape[1:]), fresh_square)

    def _drop_normal_part(self, G: Any) -> None:
        """Leave of G what is tangent at the weights: G - sym(G X')X, with the products of the short side."""
        self.read()
        with full_precision(self.X):
            if self.shape[1] <= self.shape[2]:
                S = torch.bmm(G, self.X.mT)
                G.baddbmm_(S + S.mT, self.X, alpha=-0.5)
            else:
                S = torch.bmm(self.X.mT, G)
                G.baddbmm_(self.X, S + S.mT, alpha=-0.5)

    def move(self, scaled: bool) -> None:
        """The step itself, from the averaged gradients; all decisions are made on the device."""
        if self.fused is not None:
            self.fused.move(scaled)
            return
        _, weight, growth, correction, _ = self.knobs.unbind()
        L = self.curvature(scaled)
        if self.penalty is None:
            step = self.trust.view(-1, 1, 1) / (self.rule.theta * L)
            if self.spectral:
                Y = self.X - steepest_step(self.X, self.direction, step * correction, self.aim)
            else:
                Y = torch.addcmul(self.X, self.direction, step * correction, value=-1.0)
            self.accept(Y)
            return
        beta = L * growth
        step = self.trust.view(-1, 1, 1) / (self.rule.theta * (L + beta))
        # S2: from X against the gradient of f + <z, X - y> + beta/2 |X - y|^2 - g, then the nearest orthonormal matrix
        if self.spectral:
            F = torch.addcmul(self.z, self.direction, correction).addcmul_(beta, self.X - self.y)
            if self.penalty.subtracts:
                F.addcmul_(self.penalty.pull(self.X), weight, value=-1.0)
            Y = self.X - steepest_step(self.X, F, step, self.aim)
        else:
            Y = torch.lerp(self.X, self.y, step * beta)
            Y.addcmul_(self.direction, step * correction, value=-1.0).addcmul_(self.z, step, value=-1.0)
            if self.penalty.subtracts:
                Y.addcmul_(self.penalty.pull(self.X), step * weight)
        self.accept(Y)
        self.split(self.penalty, beta, weight)

    def curvature(self, scaled: bool) -> Any:
        """L for each matrix, shape (b, 1, 1)."""
        L = self.knobs[0].expand(self.shape[0])
        if scaled:
            root = (self.square * self.knobs[4]).sqrt_().clamp_min_(torch.finfo(L.dtype).tiny ** 0.5)
            L = L * (root + (self.square - self.square))  # NaN where the square overflowed: that step is refused
        return L.view(-1, 1, 1)

    def accept(self, Y: Any) -> None:
        """Move the weights to the polar factors of Y where they are within reach, and adapt the steps."""
        found = polar_near(Y)
        excess = found.excess
        within = excess <= self.reach  # NaN is not
        torch.where(within.view(-1, 1, 1), found.X, self.X, out=self.X)
        self.excess.copy_(excess)
        self.adapt()
        torch.amax(excess, 0, out=self.worst)

    def adapt(self) -> None:
        """The share of the next step of each matrix: about linear in it, the excess is to be no more than the aim.

        Where the excess overflowed, steps are shortened as far as they may be at once. In the spectral norm none is too
        long.
        """
        if self.spectral:
            return
        factor = (self.aim / self.excess).nan_to_num_(nan=0.0).clamp_(_LEAST, _BACK)
        self.trust.mul_(factor).clamp_(torch.finfo(self.trust.dtype).tiny, 1.0)

    def split(self, penalty: Penalty, beta: Any, weight: Any) -> None:
        """S3 and S4: the prox on y, and the multiplier."""
        rule = self.rule
        b = torch.addcmul(self.X, self.z, 1.0 / beta)
        # The prox of a multiple of h at mu is that of h at the multiple of mu.
        y = penalty.prox(b, weight * (1.0 + rule.tau) / beta)
        if rule.tau > 0:
            y = y.add(b, alpha=rule.tau) / (1.0 + rule.tau)
        # At sigma = 1 this is z + beta (X - y) without its rounding, since b = X + z/beta. y may be b itself.
        z = (b - y) * beta if rule.sigma == 1.0 else torch.addcmul(self.z, self.X - y, beta, value=rule.sigma)
        finite = torch.isfinite(self.excess).view(-1, 1, 1)  # with betas a gradient that is not makes beta so too
        torch.where(finite, y, self.y, out=self.y)
        torch.where(finite, z, self.z, out=self.z)

    def sparse_split(self, growth: float) -> Any:
        """The split variable with exact zeros: y, or with smoothing the point that its envelope uses (Lemma 2.5)."""
        if self.penalty is None or self.rule.tau == 0:
            return getattr(self, "y", self.X)
        curvature, weight = self.knobs[0], self.knobs[1]
        return self.penalty.prox(self.y, (weight * self.rule.tau / (curvature * growth)).expand(self.shape[0], 1, 1))

    def repair(self, names: list[str]) -> list[str]:
        """What a step that was refused calls for: fresh moments, or weights that are orthonormal again.

        Returns sentences about what was found.
        """
        said = []
        lost = ~torch.isfinite(self.excess)
        if bool(lost.any()):
            known = torch.isfinite(self.momentum).all(2).all(1) & torch.isfinite(self.square)
            torch.where(lost.view(-1, 1, 1), torch.zeros_like(self.momentum), self.momentum, out=self.momentum)
            torch.where(lost, torch.zeros_like(self.square), self.square, out=self.square)
            torch.where(known, self.trust, torch.ones_like(self.trust), out=self.trust)  # no step was too long
            said.append(
                f"The gradient of {self._named(lost, names)} was NaN or infinite, or so large that the step overflows: "
                "the weight stays as it was."
            )
        self.read()
        off = ~are_orthonormal(self.X)
        if bool(off.any()):
            self.X.copy_(nearest(self.X, self._named(off, names)))
            self.write()
            said.append(
                f"{self._named(off, names)} was not orthonormal, say because something else changed it: moved to the "
                "nearest orthonormal matrix."
            )
        return said

    def _named(self, which: Any, names: list[str]) -> str:
        hit = [name for name, piece in zip(names, self._pieces, strict=True) if bool(which[piece].any())]
        return ", ".join(hit[:3]) + (f" and {len(hit) - 3} others" if len(hit) > 3 else "")
