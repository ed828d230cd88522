"""Riemannian gradient steps on an augmented Lagrangian, as in ManIAL: where h has no prox derivative to step with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from orthoprox._fields import replace
from orthoprox._types import Array
from orthoprox.problem import Problem
from orthoprox.solvers._units import unit
from orthoprox.solvers.manial import ManIAL, ManIALState
from orthoprox.solvers.oadmm.block import Block
from orthoprox.solvers.oadmm.iterate import Iterate, measure
from orthoprox.solvers.oadmm.tuning import Tuning


@dataclass(frozen=True, kw_only=True, eq=False)
class GradientState:
    """Where ManIAL is, with its measures."""

    t: int
    at: Iterate
    inner: ManIALState


@dataclass(frozen=True, kw_only=True)
class Gradient(Block[GradientState]):
    """A block is an outer iteration of ManIAL.

    There an inner descent never has to end at a gradient below a fixed one, which may exceed the Crit that is wanted.
    Here that least gradient falls with Crit.
    """

    name: ClassVar[str] = "oadmm: gradient"
    summary: ClassVar[str] = "augmented Lagrangian with Riemannian gradient steps"

    tuning: Tuning = Tuning()

    def init(self, problem: Problem, X0: Array) -> GradientState:
        return self._state(problem, 0, ManIAL().for_problem(problem).init(problem, X0))

    def step(self, problem: Problem, state: GradientState) -> GradientState:
        peer = ManIAL().for_problem(problem)
        least = self.tuning.exact * state.at.crit / unit(problem, state.inner.L)
        peer = replace(peer, least_gradient=min(peer.least_gradient, least))
        return self._state(problem, state.t + 1, peer.step(problem, state.inner))

    def _state(self, problem: Problem, t: int, inner: ManIALState) -> GradientState:
        return GradientState(t=t, at=measure(problem, inner.now, inner.Y, -1.0 * inner.Z), inner=inner)

    def restart(self, problem: Problem, state: GradientState, at: Iterate) -> GradientState:
        inner = replace(state.inner, now=at.point, Y=at.y, Z=-1.0 * at.z, t=state.inner.t + 1)
        return replace(state, at=at, inner=inner)

    def tighten(self, problem: Problem, state: GradientState) -> GradientState:
        return state  # ManIAL has a rule of its own for its penalty

    def work(self, state: GradientState) -> int:
        return state.inner.inner
